"""Submit a task as a Spark application: where, with which settings, code and secrets."""
