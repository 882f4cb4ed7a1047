"""The schedule of the flights pipeline, as an Airflow Dag."""

from datetime import datetime

from graph_compiler.airflow_backend import build_dag
from pipelines.flights import env

dag = build_dag(env, schedule="@daily", start_date=datetime(2013, 1, 1))
