"""Boxes on a shelf of this host, for pipelines: an example of a store in a separate package."""
