"""YAML text as nodes with their places, within limits."""
