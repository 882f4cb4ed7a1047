"""Rows on their way into a target of files: written, compared with what was counted, published once."""
