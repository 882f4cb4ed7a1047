"""What `explain` says of a stream."""

from typing import Any

import pytest

from graph_compiler import (
    Delta,
    FunctionSource,
    Iceberg,
    Json,
    Kafka,
    Parquet,
    Rate,
    StreamExecutionEnvironment,
    Text,
    TumblingEventTimeWindows,
)
from graph_compiler.compiler.pipeline_compiler import compile_pipeline
from graph_compiler.declaration.connectors import Connector
from graph_compiler.declaration.operators import Source
from graph_compiler.deployment.describe.region_descriptors import describe_pipeline
from graph_compiler.explain.plan.plan_writer import plan_of
from graph_compiler.explain.text.plan_text import explain_text


def source_of_a_test(spark: Any) -> Any:
    """Return nothing: it is never called."""


def test_a_stream_says_what_a_run_publishes_and_what_continues() -> None:
    env = StreamExecutionEnvironment("words", config={"execution.runtime-mode": "AUTOMATIC"})
    lines = env.from_source(Text("/in"), "lines", unbounded=True).uid("lines")
    lines.key_by("value").aggregate(n="count(*)").sink_to(Parquet("/out"), mode="merge", keys=["value"])
    compiled = compile_pipeline(env.pipeline())
    said = explain_text(plan_of(compiled, describe_pipeline(compiled)))
    assert "    lines: reads files as they arrive" in said
    assert "    Aggregate: continues its state from batch to batch" in said
    assert "    Sink: merges each batch by value" in said
    assert "  a stream: each run publishes what has arrived, batch by batch; a failure repeats one batch" in said
    assert "a failure at its end" not in said


def test_a_stream_says_its_watermark_and_where_late_rows_are() -> None:
    config = {"execution.runtime-mode": "AUTOMATIC", "execution.flush": "DATA_INTERVAL_END"}
    env = StreamExecutionEnvironment("hours", config=config)
    rows = env.from_source(Json("/in", schema="at TIMESTAMP, k INT"), "rows", unbounded=True).uid("rows")
    marked = rows.assign_timestamps_and_watermarks("at", max_out_of_orderness="5 minutes").name("marked")
    windows = marked.key_by("k").window(TumblingEventTimeWindows("at", "1 hour")).side_output_late_data("late")
    hours = windows.aggregate(n="count(*)").name("hours")
    hours.sink_to(Parquet("/out/hours"), mode="append").name("kept")
    hours.get_side_output("late").sink_to(Parquet("/out/late"), mode="append").name("late")
    said = explain_text(plan_of(compile_pipeline(env.pipeline())))
    of_the_run = "a run ends with that of the end of its data interval"
    assert f"    marked: its watermark is 5 minutes behind the latest 'at'; {of_the_run}" in said
    assert "    hours: continues its state from batch to batch; rows that come too late are in 'late'" in said
    assert "    kept: adds each batch" in said


@pytest.mark.parametrize(
    "connector",
    [
        Json("/in", schema="id INT"),
        Kafka("orders", bootstrap_servers="broker:9092"),
        Iceberg("lake.shop.orders"),
        Delta("/lake/orders"),
        FunctionSource(source_of_a_test),
        Rate(1),
    ],
    ids=lambda connector: type(connector).__name__,
)
def test_each_source_that_can_be_a_stream_says_what_arrives(connector: Connector) -> None:
    assert list(connector.unbounded_problems()) == []
    said = Source(connector, is_bounded=False).position_words()
    assert said is not None
    assert "None" not in said


def test_a_batch_says_nothing_of_batches() -> None:
    env = StreamExecutionEnvironment("hours")
    rows = env.from_source(Json("/in", schema="at TIMESTAMP, k INT"), "rows")
    rows.assign_timestamps_and_watermarks("at", max_out_of_orderness="5 minutes").sink_to(
        Parquet("/out"), mode="merge", keys="k"
    )
    said = explain_text(plan_of(compile_pipeline(env.pipeline())))
    assert "watermark is" not in said
    assert "batch" not in said
