"""Tables of Iceberg and Delta Lake as Airflow's side sees them, without Spark: by pyiceberg and deltalake."""
