"""Runs for the web view: Airflow's tries joined with what the attempts have left."""
