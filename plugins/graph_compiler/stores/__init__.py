"""Stores as values: the scheme of a store's places, what it promises, and which module of each process reaches it."""
