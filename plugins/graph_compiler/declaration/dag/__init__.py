"""What a pipeline says of its Dag: its schedule, and arguments of Airflow."""
