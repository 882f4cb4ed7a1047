"""An airflow dag of 201 job vertices: forty feeds of five steps, and a union of them all."""

from datetime import datetime

from graph_compiler import Parquet, Range, StreamExecutionEnvironment
from graph_compiler.airflow_backend import build_dag

env = StreamExecutionEnvironment("wide")
feeds = []
for number in range(40):
    feed = env.from_source(Range(0, 10), f"feed_{number}")
    for step in ("cleaned", "scored", "counted", "ranked"):
        feed = feed.rebalance().filter("id >= 0").name(f"{step}_{number}")
    feeds.append(feed.stage("each feed comes once") if number % 10 == 0 else feed)
feeds[0].union(*feeds[1:]).key_by("id").aggregate(n="count(*)").name("all").sink_to(Parquet("/nowhere/wide")).name(
    "report"
)
dag = build_dag(env, schedule=None, start_date=datetime(2013, 1, 1))
