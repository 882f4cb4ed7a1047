"""One region as an Airflow task: it submits the application, watches it, and reads its report."""
