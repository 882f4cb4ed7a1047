"""Pure functions from one frozen graph to the next; `compile_pipeline` calls them all."""
