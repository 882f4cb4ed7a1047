"""HDFS as Airflow's side reaches it: worker, API server and command line, by WebHDFS and the standard library."""
