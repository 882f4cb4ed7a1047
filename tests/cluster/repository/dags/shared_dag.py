"""A Dag whose reports share rows."""

from datetime import datetime, timedelta

from graph_compiler.airflow_backend import build_dag
from stock.shared import env

retry = {"retries": 2, "retry_delay": timedelta(seconds=1)}
dag = build_dag(env, schedule=None, start_date=datetime(2013, 1, 1), default_args=retry)
