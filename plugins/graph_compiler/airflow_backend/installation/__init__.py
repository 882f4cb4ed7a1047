"""Settings of an Airflow installation, and requests to it."""
