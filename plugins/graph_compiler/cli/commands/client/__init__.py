"""Commands for runs of an Airflow, through its API."""
