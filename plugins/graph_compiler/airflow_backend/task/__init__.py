"""One region as an Airflow task: submitted, watched, judged by what its driver left."""
