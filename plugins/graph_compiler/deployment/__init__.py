"""The documents between Airflow and Spark, and their paths, without side effects."""
