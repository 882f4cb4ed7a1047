"""Tables of SQLite files, for pipelines: an example of a connector in a separate package."""
