"""OpenLineage's events of a task's regions, where Airflow's provider for it is installed."""
