"""Find a pipeline by its name in a project's Python modules and YAML files, and load it."""
