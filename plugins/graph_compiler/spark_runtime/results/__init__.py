"""Staged results on Spark: written with checksums, and read back exactly as they were written."""
