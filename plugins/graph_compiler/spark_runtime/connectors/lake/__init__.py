"""Table formats: rows are read from one snapshot of a table, and published by one commit."""
