"""The documents between Airflow and Spark, and their paths. No effects."""
