"""Staged results on Spark: written, vouched for, and read again as they were written."""
