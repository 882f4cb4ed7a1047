"""Publish rows to a target of files: written, compared with their counts, published once."""
