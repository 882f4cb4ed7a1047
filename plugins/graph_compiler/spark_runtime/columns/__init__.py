"""Columns and their types: what is declared, found, wider, and what a format cannot hold."""
