"""The differences between two versions of a pipeline, and how they are shown."""
