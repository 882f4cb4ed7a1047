"""Plans for the web view, out of Airflow's Dag versions."""
