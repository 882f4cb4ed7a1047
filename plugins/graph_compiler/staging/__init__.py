"""The contents of staging roots and of folders beside targets, and who may change them. Neither pyspark nor airflow."""
