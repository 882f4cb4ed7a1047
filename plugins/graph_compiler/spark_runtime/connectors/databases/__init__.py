"""Databases on the driver: errors, names, marks, transactions, snapshots."""
