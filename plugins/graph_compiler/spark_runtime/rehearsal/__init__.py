"""Run a pipeline with given rows for its sources, without publishing: for tests and previews."""
