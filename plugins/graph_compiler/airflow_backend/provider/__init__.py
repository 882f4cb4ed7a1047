"""The door to Airflow's Spark provider: how a task is submitted is a value, and one module applies it."""
