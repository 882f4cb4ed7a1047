"""The executions of a run: its record, their order, claims, attempts and progress."""
