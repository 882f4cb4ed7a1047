"""Run a region whose rows never end: one query of Spark, whose batches are regions of their own."""
