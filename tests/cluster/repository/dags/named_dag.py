"""The Dag of a pipeline that names files."""

from datetime import datetime

from graph_compiler.airflow_backend import build_dag
from named.pipeline import env

dag = build_dag(env, schedule=None, start_date=datetime(2013, 1, 1), default_args={"retries": 0})
