"""A compiled pipeline as documents for programs: Flink's own forms, and that of the web view."""
