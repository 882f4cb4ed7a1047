"""Rows must be the same in every action, task and attempt of a run; what is done if they might not be."""
