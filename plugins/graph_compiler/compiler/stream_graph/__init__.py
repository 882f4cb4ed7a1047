"""Pipeline → StreamGraph: operators and edges, and which edges should be staged."""
