"""YAML text as nodes that know their places, within limits."""
