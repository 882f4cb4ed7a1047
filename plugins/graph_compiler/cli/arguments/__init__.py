"""What a person names on the command line, found: pipelines, runs, versions, values."""
