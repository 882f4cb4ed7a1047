"""Rows that must be the same in every action, task and attempt of a run, and what is done if they might not be."""
