"""The Spark side: the only place that imports pyspark. A descriptor comes in, a report goes out."""
