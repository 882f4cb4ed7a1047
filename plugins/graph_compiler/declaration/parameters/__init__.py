"""The parameters of a run, and the pydantic models that may describe them."""
