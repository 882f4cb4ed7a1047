"""Find a pipeline by its name among a project's Python modules and YAML files, and load it."""
