"""Reads the first rows of Parquet files in a process of its own, with limits and without Airflow and Spark."""
