"""The metrics of attempts at a pipeline's regions, from the documents that they left."""
