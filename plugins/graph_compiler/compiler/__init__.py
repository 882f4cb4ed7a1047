"""Pure functions from one frozen graph to the next; `compile_pipeline` is the whole way."""
