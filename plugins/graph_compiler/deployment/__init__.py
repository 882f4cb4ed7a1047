"""What crosses between Airflow and Spark, and where it lies: documents and paths, no effects."""
