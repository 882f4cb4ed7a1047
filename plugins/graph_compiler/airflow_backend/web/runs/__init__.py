"""Runs for the web view: Airflow's tries joined with the documents of attempts."""
