"""The metrics of attempts at a pipeline's regions, for Airflow's stats."""
