"""A pipeline with rows in the place of its sources and nothing published: for tests and previews."""
