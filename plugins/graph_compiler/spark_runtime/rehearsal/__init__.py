"""Run a pipeline with given rows for its sources and without publishing: for tests and previews."""
