"""A pipeline written as YAML: the calls that would declare it again."""
