"""Columns and their types: declared, found, widened, and those that a format cannot store."""
