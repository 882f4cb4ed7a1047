"""Rows and files of a staged result for the web view, for users who may see them."""
