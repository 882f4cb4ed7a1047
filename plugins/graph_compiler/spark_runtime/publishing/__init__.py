"""Publish rows to a folder of files: write them, compare them with their counts, publish them once."""
