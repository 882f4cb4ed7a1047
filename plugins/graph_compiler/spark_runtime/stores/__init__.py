"""Stores of staging roots as the driver reaches them: through Hadoop's file systems, in Spark's JVM."""
