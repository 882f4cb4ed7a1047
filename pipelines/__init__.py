"""The example pipelines: importable modules, so that Spark's driver finds their functions by name."""
