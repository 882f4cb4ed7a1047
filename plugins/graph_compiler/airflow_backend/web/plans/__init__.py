"""Plans for the web view, from Airflow's Dag versions."""
