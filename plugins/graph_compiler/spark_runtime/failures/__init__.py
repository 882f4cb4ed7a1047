"""What went wrong: its cause, its operator, what it means for a retry, and how it is said."""
