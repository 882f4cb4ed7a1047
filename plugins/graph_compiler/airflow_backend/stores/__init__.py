"""How Airflow's side reaches the store of a staging root: by an Airflow connection."""
