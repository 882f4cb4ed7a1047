"""A compiled pipeline as documents that programs read: Flink's own forms, and that of the web view."""
