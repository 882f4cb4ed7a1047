"""An airflow dag whose last task fails once, and loses the result that it reads."""

from datetime import datetime

from graph_compiler import Parquet, Range, StreamExecutionEnvironment
from graph_compiler.airflow_backend import build_dag
from tests.browser.functions import fails_once_and_loses_its_input

env = StreamExecutionEnvironment(
    "recovered",
    params={"output": "/nowhere"},
    config={"restart-strategy.type": "fixed-delay", "parallelism.default": 4},
)
(
    env.from_source(Range(0, 20_000), "readings")
    .with_columns(station="id % 7", celsius="20 + sin(id) * 9")
    .name("stations")
    .stage("readings come once")
    .key_by("station")
    .aggregate(mean="avg(celsius)", readings="count(*)")
    .name("by_station")
    .transform(fails_once_and_loses_its_input)
    .name("calibrated")
    .sink_to(Parquet("{{ params.output }}/recovered"))
    .name("climate")
)
dag = build_dag(env, schedule=None, start_date=datetime(2013, 1, 1))
