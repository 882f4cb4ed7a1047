"""Types of SQL expressions, as far as they are certain without Spark."""
