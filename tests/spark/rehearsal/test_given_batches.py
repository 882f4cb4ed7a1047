"""Batches of the testing kit run through Spark's streaming query, with the rows that a stream publishes."""

from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from graph_compiler import (
    Csv,
    DataStream,
    Delta,
    Json,
    Kafka,
    Merge,
    Parquet,
    StreamExecutionEnvironment,
    Text,
    TumblingEventTimeWindows,
)
from graph_compiler.declaration.connectors import SinkMode
from graph_compiler.declaration.operators import Sink
from graph_compiler.errors import GraphCompilerError
from graph_compiler.spark_runtime.rehearsal.given_batches import rows_of_all
from graph_compiler.testing import REAL, PipelineFailedError, PipelineResult, Rows
from graph_compiler.testing.batches import MOST_BATCHES
from graph_compiler.testing.pipeline_result import NoBatchesError

pytestmark = [pytest.mark.spark, pytest.mark.ci]
Run = Callable[..., PipelineResult]
SCHEMA = "id INT NOT NULL, word STRING, at TIMESTAMP"


@pytest.fixture
def env() -> StreamExecutionEnvironment:
    return StreamExecutionEnvironment("sales", config={"execution.runtime-mode": "AUTOMATIC"})


@pytest.fixture
def rows(env: StreamExecutionEnvironment) -> DataStream:
    return env.from_source(Json("/nowhere", schema=SCHEMA), "rows", unbounded=True).uid("rows")


def at(minute: int, id: int = 0, word: str = "a") -> dict[str, Any]:
    return {"id": id, "word": word, "at": datetime(2024, 1, 1, minute // 60, minute % 60)}


def append(rows: DataStream, name: str) -> None:
    rows.sink_to(Parquet(f"/no/{name}"), mode="append").name(name)


def counts(rows: DataStream) -> None:
    rows.key_by("word").aggregate(n="count(*)").sink_to(Parquet("/no/counts"), mode="merge", keys="word").name("counts")


def test_totals_by_key_are_emitted_batch_by_batch_and_merged(rows: DataStream, pipeline_run: Run) -> None:
    counts(rows)
    append(rows.select("id").filter("id > 0"), "ids")
    a, b = {"id": 0, "word": "a"}, {"id": 7, "word": "b"}
    run = pipeline_run(rows.environment, {"rows": [[a, b], [], [a, a]]})
    assert [batch.sink("counts").rows for batch in run.batches] == [
        [{"word": "a", "n": 1}, {"word": "b", "n": 1}],
        [],
        [{"word": "a", "n": 3}],
    ]
    assert run.sink("counts").rows == run.rows("counts") == [{"word": "a", "n": 3}, {"word": "b", "n": 1}]
    assert run.sink("counts").columns == {"word": "STRING", "n": "BIGINT"}
    run.assert_rows("ids", [{"id": 7}])
    run.batches[0].assert_rows("ids", [{"id": 7}])
    with pytest.raises(AssertionError, match="'ids' in batch 2: rows differ: 0 found, 1 expected"):
        run.batches[2].assert_rows("ids", [{"id": 7}])
    assert [batch.state_rows for batch in run.batches] == [2, 2, 2]


def test_windows_and_late_rows_are_those_of_a_stream(rows: DataStream, pipeline_run: Run) -> None:
    marked = rows.assign_timestamps_and_watermarks("at", max_out_of_orderness="5 minutes")
    windows = marked.key_by("word").window(TumblingEventTimeWindows("at", "10 minutes")).side_output_late_data("late")
    found = windows.aggregate(n="count(*)").uid("windows")
    append(found.select(begin="window_start", n="n"), "windows")
    append(found.get_side_output("late").select("id"), "late")
    given = [[at(3), at(27)], [at(5)], [at(9, id=9), at(60)]]
    run = pipeline_run(rows.environment, {"rows": given})
    (first,) = ({"begin": datetime(2024, 1, 1, 0, 0), "n": 2},)
    assert [batch.sink("windows").rows for batch in run.batches] == [
        [],
        [first],
        [],
        [{"begin": datetime(2024, 1, 1, 0, 20), "n": 1}],
    ]
    assert [batch.sink("late").rows for batch in run.batches] == [[], [], [{"id": 9}], []]
    assert [batch.watermark for batch in run.batches] == [
        None,
        *[datetime(2024, 1, 1, 0, 22)] * 2,
        datetime(2024, 1, 1, 0, 55),
    ]


def test_late_rows_without_a_side_output_are_counted(rows: DataStream, pipeline_run: Run) -> None:
    marked = rows.assign_timestamps_and_watermarks("at", max_out_of_orderness="5 minutes")
    windows = marked.key_by("word").window(TumblingEventTimeWindows("at", "10 minutes")).aggregate(n="count(*)")
    append(windows, "windows")
    run = pipeline_run(rows.environment, {"rows": [[at(3), at(27)], [], [at(9)]]})
    assert [batch.late for batch in run.batches] == [0, 0, 1]


def test_two_streams_have_their_batches_at_the_same_time(env: StreamExecutionEnvironment, pipeline_run: Run) -> None:
    marked = [
        env.from_source(Json(f"/in/{name}", schema=f"{name} INT, {name}_at TIMESTAMP"), name, unbounded=True)
        .uid(name)
        .assign_timestamps_and_watermarks(f"{name}_at", max_out_of_orderness="5 minutes")
        for name in ("click", "buy")
    ]
    clicks, buys = (each.with_columns(user="1") for each in marked)
    times = ("click_at", "buy_at")
    pairs = clicks.interval_join(buys, on="user", times=times, lower="0 minutes", upper="10 minutes")
    append(pairs.select("click", "buy"), "pairs")
    click = [[{"click": 1, "click_at": "2024-01-01 00:00:00"}], [{"click": 2, "click_at": "2024-01-01 01:00:00"}]]
    buy = [[], [{"buy": 3, "buy_at": "2024-01-01 00:10:00"}, {"buy": 4, "buy_at": "2024-01-01 01:05:00"}]]
    run = pipeline_run(env, {"click": click, "buy": buy})
    assert [batch.sink("pairs").rows for batch in run.batches][:2] == [
        [],
        [{"click": 1, "buy": 3}, {"click": 2, "buy": 4}],
    ]


def test_a_source_that_ends_has_rows(rows: DataStream, pipeline_run: Run) -> None:
    names = rows.environment.from_source(Csv("/names", schema="word STRING, name STRING"), "names")
    append(rows.join(names, on="word").select("id", "name"), "joined")
    given = {"rows": [[{"id": 1, "word": "a"}], [{"id": 2, "word": "a"}]], "names": [{"word": "a", "name": "A"}]}
    run = pipeline_run(rows.environment, given)
    assert [batch.sink("joined").rows for batch in run.batches] == [[{"id": 1, "name": "A"}], [{"id": 2, "name": "A"}]]


def test_records_of_kafka_need_no_broker(
    env: StreamExecutionEnvironment, pipeline_run: Run, spark: SparkSession
) -> None:
    source = Kafka("orders", bootstrap_servers="nowhere:9092", options={"includeHeaders": "true"})
    records = env.from_source(source, "orders", unbounded=True).uid("orders")
    texts = records.select("topic", "partition", "offset", "headers", value="CAST(value AS STRING)")
    append(texts, "texts")
    typed = Rows("value STRING, offset INT", [("c", 9)])
    frame = spark.createDataFrame([("d", 3)], "value STRING, Partition INT")
    run = pipeline_run(
        env, {"orders": [[{"value": "a"}, {"value": b"b", "Partition": 1}], [{"value": "e"}], typed, frame]}
    )
    found = [batch.sink("texts").rows for batch in run.batches]
    assert [[(row["value"], row["partition"], row["offset"]) for row in rows] for rows in found] == [
        [("a", 0, 0), ("b", 1, 1)],
        [("e", 0, 2)],
        [("c", None, 9)],
        [("d", 3, None)],
    ]  # fmt: skip
    assert run.sink("texts").columns["headers"] == "array<struct<key:string,value:binary>>"
    assert {row["topic"] for row in run.batches[0].sink("texts").rows} == {"orders"}
    for wrong in ([{"valeu": "a"}], Rows("valeu STRING", [("a",)])):
        with pytest.raises(GraphCompilerError, match="did you mean 'value'?"):
            pipeline_run(env, {"orders": [wrong]})


def test_lines_of_text_have_one_column(env: StreamExecutionEnvironment, pipeline_run: Run) -> None:
    append(env.from_source(Text("/nowhere"), "lines", unbounded=True).uid("lines"), "out")
    run = pipeline_run(env, {"lines": [[{"value": "a"}], [], Rows("value STRING", [("b",)])]})
    assert [batch.sink("out").rows for batch in run.batches] == [[{"value": "a"}], [], [{"value": "b"}]]


def test_what_is_not_null_must_have_a_value(rows: DataStream, pipeline_run: Run) -> None:
    append(rows, "out")
    with pytest.raises(PipelineFailedError, match="operator 'rows'"):
        pipeline_run(rows.environment, {"rows": [Rows("id INT, word STRING, at TIMESTAMP", [(None, "a", None)])]})


def test_a_batch_that_fails_has_the_message_of_production(rows: DataStream, pipeline_run: Run) -> None:
    append(rows.select(v="1 / id").name("divided"), "out")
    with pytest.raises(PipelineFailedError) as failed:
        pipeline_run(rows.environment, {"rows": [[{"id": 1}], [{"id": 0}]]})
    assert str(failed.value).startswith("pipeline 'sales', operator 'divided': [DIVIDE_BY_ZERO]")
    assert f"declared at {__file__}:" in str(failed.value)


def test_a_key_twice_in_a_batch_is_refused_as_in_production(rows: DataStream, pipeline_run: Run) -> None:
    rows.sink_to(Parquet("/no/out"), mode="merge", keys="id").name("out")
    with pytest.raises(PipelineFailedError, match=r"its rows have keys more than once, or NULL: id=1 \(2 rows\)"):
        pipeline_run(rows.environment, {"rows": [[{"id": 1}], [{"id": 1}, {"id": 1}]]})
    run = pipeline_run(rows.environment, {"rows": [[{"id": 1, "word": "a"}], [{"id": 1, "word": "b"}]]})
    assert [row["word"] for row in run.sink("out").rows] == ["b"]


def test_changes_of_a_table_are_all_shown(spark: SparkSession) -> None:
    batches = [spark.createDataFrame([(1, number)], "id INT, at INT") for number in (2, 1)]
    for merge, found in ((Merge(sequence_by="at"), [2, 1]), (None, [1])):
        sink = Sink(Delta("/no/out"), mode=SinkMode.MERGE, keys=("id",), merge=merge)
        assert [row["at"] for row in rows_of_all(sink, batches).collect()] == found


def test_targets_are_written_on_request_batch_by_batch(
    env: StreamExecutionEnvironment, pipeline_run: Run, spark: SparkSession, tmp_path: Path
) -> None:
    rows = env.from_source(Json("/nowhere", schema=SCHEMA), "rows", unbounded=True).uid("rows")
    totals = rows.key_by("word").aggregate(n="count(*)")
    totals.sink_to(Parquet(f"{tmp_path}/out"), mode="merge", keys="word").name("out")
    given = [[{"id": 1, "word": "a"}, {"id": 2, "word": "b"}], [{"id": 1, "word": "a"}]]
    run = pipeline_run(env, {"rows": given}, write_sinks=True)
    written = [row.asDict() for row in spark.read.parquet(f"{tmp_path}/out").orderBy("word").collect()]
    assert run.sink("out").rows == written == [{"word": "a", "n": 2}, {"word": "b", "n": 1}]


def test_rows_of_a_stream_are_one_batch_job(rows: DataStream, pipeline_run: Run) -> None:
    append(rows.filter("id > 1").name("large"), "out")
    run = pipeline_run(rows.environment, {"rows": [{"id": 1}, {"id": 2}]})
    assert [row["id"] for row in run.rows("large")] == [2]
    with pytest.raises(NoBatchesError, match="'sales' has run without batches"):
        _ = run.batches
    run = pipeline_run(rows.environment, {"rows": [[{"id": 1}], [{"id": 2}]]}, until="out")
    with pytest.raises(NoBatchesError, match="'large' was run batch by batch, and only the rows of sinks are kept"):
        run.rows("large")


ROW: dict[str, object] = {"id": 1}
REFUSED: dict[str, tuple[dict[str, object], str]] = {
    "batches for a source that ends": (
        {"rows": [[ROW]], "others": [[]], "names": [[{"word": "a"}], [{"word": "b"}]]},
        "'names' was given batches, and it ends\n  allowed: rows in a list\n  hint: batches are for a source that "
        "never ends: from_source(…, unbounded=True)",
    ),
    "rows and batches": (
        {"rows": [[ROW], ROW], "others": []},
        "'rows' was given rows and batches\n  allowed: batches, each a list of rows",
    ),
    "rows beside batches": (
        {"rows": [[ROW]], "others": [ROW]},
        "'others' was given rows, and 'rows' was given batches\n  allowed: batches for all sources that never end",
    ),
    "production beside batches": ({"rows": [[ROW]], "others": REAL}, "'others' is read as in production, and 'rows'"),
    "other numbers of batches": (
        {"rows": [[ROW], [ROW]], "others": [[ROW]]},
        "'rows' was given 2 batches, and 'others' 1\n  allowed: as many for each; [] is one without rows",
    ),
    "too many": ({name: [[]] * (MOST_BATCHES + 1) for name in ("rows", "others")}, "allowed: at most 100"),
    "an unknown column": (
        {"rows": [[ROW], [ROW, {"id": 1, "wrd": 1}]], "others": [[], []]},
        "batch 1: row 1 given for 'rows' has the column 'wrd'\n  allowed: id, word and at\n  hint: did you mean 'word'",
    ),
    "a DataFrame of other columns": (
        {"rows": [[ROW], Rows("id INT, word STRING", [(1, "a")])], "others": [[], []]},
        "operator 'rows': its columns are not those that are declared",
    ),
    "no batches for one": ({"rows": [[ROW]]}, "'others' was given no rows"),
}


@pytest.mark.parametrize(("sources", "words"), REFUSED.values(), ids=REFUSED.keys())
def test_what_are_no_batches_of_a_source_is_refused(
    sources: dict[str, object], words: str, rows: DataStream, pipeline_run: Run
) -> None:
    env = rows.environment
    others = env.from_source(Json("/others", schema=SCHEMA), "others", unbounded=True).uid("others")
    names = env.from_source(Csv("/names", schema="word STRING, name STRING"), "names")
    append(rows.union(others).join(names, on="word").name("joined"), "out")
    with pytest.raises(GraphCompilerError) as refused:
        pipeline_run(env, {"names": [], **sources})
    assert words in str(refused.value)


def test_an_operator_of_a_stream_is_no_end(rows: DataStream, pipeline_run: Run) -> None:
    append(rows.select("id").name("ids"), "out")
    with pytest.raises(GraphCompilerError, match="until is 'ids', and batches keep rows of sinks only"):
        pipeline_run(rows.environment, {"rows": [[ROW]]}, until="ids")


def test_lists_may_be_rows_of_a_source_that_ends(env: StreamExecutionEnvironment, pipeline_run: Run) -> None:
    source = env.from_source(Json("/in", schema="a ARRAY<INT>, b ARRAY<INT>"), "in")
    source.sink_to(Parquet("/no/out")).name("out")
    assert pipeline_run(env, {"in": [[[1], [2]], [[3], [4]]]}).rows("out") == [
        {"a": [1], "b": [2]},
        {"a": [3], "b": [4]},
    ]


def test_a_stream_that_ends_has_its_last_windows(pipeline_run: Run) -> None:
    config = {"execution.runtime-mode": "AUTOMATIC", "execution.flush": "END"}
    env = StreamExecutionEnvironment("sales", config=config)
    arriving = env.from_source(Json("/nowhere", schema=SCHEMA), "rows", unbounded=True).uid("rows")
    marked = arriving.assign_timestamps_and_watermarks("at", max_out_of_orderness="5 minutes")
    windows = marked.key_by("word").window(TumblingEventTimeWindows("at", "10 minutes")).aggregate(n="count(*)")
    append(windows.select(begin="window_start", n="n"), "windows")
    run = pipeline_run(env, {"rows": [[at(1), at(2)], [at(12)]]})
    *before, last = (batch.sink("windows").rows for batch in run.batches)
    assert not any(before)
    assert sorted(str(row["n"]) for row in last) == ["1", "2"]
