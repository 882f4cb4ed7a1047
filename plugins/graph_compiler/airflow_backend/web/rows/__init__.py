"""Rows and files of a staged result for the web view, for those who may see them."""
