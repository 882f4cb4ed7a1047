"""The web view's server: an application inside Airflow's, which reads and never changes anything."""
