"""A compiled pipeline and its options in words."""
