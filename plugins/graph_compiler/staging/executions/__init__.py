"""The executions of a run: its marker, their order, claims, attempts and progress."""
