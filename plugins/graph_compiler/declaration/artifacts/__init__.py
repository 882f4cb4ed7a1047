"""Files, jars and Python environments that a pipeline names, and that travel to Spark's executors with it."""
