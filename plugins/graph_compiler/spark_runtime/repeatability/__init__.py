"""Rows that must be the same in every action, task and attempt of a run, and what is done where they might not be."""
