"""The web view's server side: an application below Airflow's, which reads and never changes anything."""
