"""Resolve what a user names on the command line: pipelines, runs, versions, values."""
