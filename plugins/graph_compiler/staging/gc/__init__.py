"""Garbage collection of a staging root: survey, decision, removal."""
