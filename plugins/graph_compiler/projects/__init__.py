"""How a pipeline is found by its name, in a project's Python modules and YAML files, and loaded."""
