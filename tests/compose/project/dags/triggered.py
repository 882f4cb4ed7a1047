"""Dags of pipelines that run when a test triggers them."""

from datetime import datetime, timedelta

from graph_compiler.airflow_backend import build_dag
from pipelines import environments, fails_once, slow_numbers

RETRIES = {"retries": 3, "retry_delay": timedelta(seconds=5)}
JANUARY = {"start_date": datetime(2026, 1, 1), "end_date": datetime(2026, 1, 31)}
"""Days that are over, so that only a backfill runs them."""
for pipeline in (environments.env, fails_once.env, slow_numbers.env):
    dag = build_dag(pipeline, schedule="@daily", default_args=RETRIES, **JANUARY)
    globals()[dag.dag_id] = dag
