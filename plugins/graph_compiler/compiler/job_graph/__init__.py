"""StreamGraph → JobGraph: chains, the vertices they become, and the edges between them."""
