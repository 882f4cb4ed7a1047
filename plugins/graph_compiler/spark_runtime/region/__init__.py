"""One region from its descriptor to its result: what runs, in which order, what is computed again."""
