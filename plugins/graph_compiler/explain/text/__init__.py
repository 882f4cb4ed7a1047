"""A compiled pipeline and its options as text."""
