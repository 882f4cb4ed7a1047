"""A compiled pipeline as an Airflow Dag: tasks, dependencies, assets, retries, and the plan document."""
