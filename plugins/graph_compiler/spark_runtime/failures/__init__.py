"""Failures: their cause, their operator, their effect on retries, and their messages."""
