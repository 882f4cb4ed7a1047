"""The Dag of the example pipeline."""

from datetime import datetime

from graph_compiler.airflow_backend import build_dag
from pipelines.flights import env

dag = build_dag(env, schedule=None, start_date=datetime(2013, 1, 1))
