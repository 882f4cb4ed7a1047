"""Write a pipeline as YAML: the calls that would declare it again."""
