"""The datasets that attempts at a region have read and written, from the documents that they left."""
