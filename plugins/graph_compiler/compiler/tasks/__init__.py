"""Which regions share a task, which starts Spark once for all of them."""
