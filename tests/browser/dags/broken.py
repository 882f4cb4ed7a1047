"""An airflow dag whose second of three tasks fails permanently; its names contain HTML."""

from datetime import datetime

from graph_compiler import Parquet, Range, StreamExecutionEnvironment
from graph_compiler.airflow_backend import build_dag

env = StreamExecutionEnvironment("broken", params={"output": "/nowhere"}, config={"restart-strategy.type": "none"})
(
    env.from_source(Range(0, 1_000), "<script>alert('source')</script>")
    .filter("id >= 0")
    .name("<img src=x onerror=alert('operator')>")
    .stage('<b>so that</b> & "because"')
    .expect("<i>ids are small</i>", "id < 900", on_violation="warn")
    .expect("<script>alert('contract')</script>", "id % 2 = 0", on_violation="fail")
    .with_columns(half="id / 2")
    .name("halved")
    .stage("never reached")
    .key_by("half")
    .aggregate(n="count(*)")
    .name("counted")
    .sink_to(Parquet("{{ params.output }}/broken"))
    .name("halves")
)
dag = build_dag(env, schedule=None, start_date=datetime(2013, 1, 1))
