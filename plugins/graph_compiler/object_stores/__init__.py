"""Stores of staging roots as Airflow's side reaches them: worker, API server and command line, by obstore."""
