"""Pipeline → StreamGraph: operators and edges, with what each edge is wished to be."""
