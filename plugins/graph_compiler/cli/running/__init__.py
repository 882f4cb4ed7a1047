"""Run a pipeline once, under Airflow or in one process, and show its progress and its result."""
