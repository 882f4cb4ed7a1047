"""Read the first rows of Parquet files in a separate process, with limits, and without Airflow and Spark."""
