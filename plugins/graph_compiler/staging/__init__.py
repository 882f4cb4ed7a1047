"""The contents of staging roots and of folders beside targets, and who may change them; without pyspark and airflow."""
