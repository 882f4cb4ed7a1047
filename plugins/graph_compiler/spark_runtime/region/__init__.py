"""Run one region, from its descriptor to its result: what runs, in which order, and what is recomputed."""
