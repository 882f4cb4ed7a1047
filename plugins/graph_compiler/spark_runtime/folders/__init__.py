"""Folders of files, as Spark's readers, writers and the file system see them."""
