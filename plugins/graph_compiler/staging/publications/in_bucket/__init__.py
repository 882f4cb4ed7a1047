"""Publications to folders of an object store: what is there, and how files that are written appear."""
