"""Read the documents below the staging root: one place for what kind, size and form they may have."""
