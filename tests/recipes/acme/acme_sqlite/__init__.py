"""Tables of SQLite files, for pipelines: an example of a connector that is a package of its own."""
