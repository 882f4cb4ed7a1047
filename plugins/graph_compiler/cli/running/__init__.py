"""One run followed to its end, under Airflow or in one process, and shown."""
