"""Pipelines that this cluster cannot run."""

from datetime import datetime

from graph_compiler import Csv, Parquet, StreamExecutionEnvironment
from graph_compiler.airflow_backend import build_dag
from stock import functions, unprepared

env = StreamExecutionEnvironment("unprepared", params={"input": "/data", "output": "/data"})
sales = env.from_source(Csv("{{ params.input }}", schema="key INT, quantity DOUBLE"), "sales")
asked = sales.map_partitions(unprepared.asked, "key INT, quantity DOUBLE").name("asked")
asked.sink_to(Parquet("{{ params.output }}/asked")).name("asked_rows")
dag = build_dag(env, schedule=None, start_date=datetime(2013, 1, 1), default_args={"retries": 0})
