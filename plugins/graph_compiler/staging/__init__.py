"""What lies below a staging root and beside targets, and who may change it. Neither pyspark nor airflow."""
