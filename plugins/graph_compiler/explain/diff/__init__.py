"""What differs between two versions of a pipeline: found, paired, and said."""
