"""Commands for runs of an Airflow: through its API, or on this host."""
