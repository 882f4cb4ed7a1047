"""Alerts of failed tasks and runs: what each of Airflow's processes knows of them, and the notifier that sends it."""
