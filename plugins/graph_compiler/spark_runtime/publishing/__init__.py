"""Publish rows to a folder of files: write them, check them against their counts, publish them once."""
