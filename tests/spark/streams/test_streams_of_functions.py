"""Streams that functions return, of formats of Spark and of one in Python: each batch is published once."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from graph_compiler import FunctionSource, Parquet, StreamExecutionEnvironment
from graph_compiler.spark_runtime.connectors.source import read_source
from graph_compiler.spark_runtime.region.coordination import SinkCommitter
from graph_compiler.spark_runtime.streams import stream_query
from graph_compiler.staging.publications.ledger import Ledger
from tests.harness.position_runs import Runs, tried
from tests.lake.dying import die
from tests.spark.streams import stream_formats

pytestmark = [pytest.mark.spark, pytest.mark.ci]
FUNCTIONS = (stream_formats.lines, stream_formats.numbers)


@pytest.fixture(autouse=True)
def _place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(stream_formats.PLACE, str(tmp_path))
    for name in ("lines", "others"):
        (tmp_path / name).mkdir()
    (tmp_path / "numbers").write_text("0")


def arrive(folder: Path, until: int, name: str = "lines") -> None:
    """Let numbers arrive, in a file of their own, and up to one for the format in Python."""
    before = int((folder / "numbers").read_text())
    hidden = folder / name / f".{until}"
    hidden.write_text("".join(f"{number}\n" for number in range(before, until)) + "\n")
    hidden.rename(folder / name / f"{until}.txt")
    (folder / "numbers").write_text(str(until))


def declared(folder: Path, *functions: Callable[..., Any], sinks: int = 1) -> StreamExecutionEnvironment:
    env = StreamExecutionEnvironment("of_functions", config={"execution.runtime-mode": "AUTOMATIC"})
    rows = None
    for number, function in enumerate(functions):
        source = env.from_source(FunctionSource(function), f"rows {number}", unbounded=True).uid(f"rows {number}")
        marked = source.select("id", source=str(number))
        rows = marked if rows is None else rows.union(marked)
    assert rows is not None
    for number in range(sinks):
        target = Parquet(f"{folder}/out{number}")
        rows.sink_to(target, mode="append").name(f"out {number}").uid(f"out {number}")
    return env


def ids(spark: SparkSession, folder: Path, number: int = 0) -> Sequence[int]:
    return sorted(row.id for row in spark.read.parquet(f"{folder}/out{number}").collect())


@pytest.mark.parametrize("function", FUNCTIONS)
def test_each_run_publishes_what_is_new(function: Callable[..., Any], tmp_path: Path, spark: SparkSession) -> None:
    runs = Runs(declared(tmp_path, function, sinks=2), tmp_path, spark)
    arrive(tmp_path, 3)
    assert tried(runs, "one") == []
    arrive(tmp_path, 5)
    assert tried(runs, "two") == []
    assert ids(spark, tmp_path) == ids(spark, tmp_path, 1) == [0, 1, 2, 3, 4]
    assert tried(runs, "three") == []
    assert ids(spark, tmp_path) == [0, 1, 2, 3, 4]


@pytest.mark.parametrize("function", FUNCTIONS)
@pytest.mark.parametrize(
    ("place", "after"),
    [((SinkCommitter, "prepare"), True), ((Ledger, "decide"), True), ((stream_query, "run_region"), True)],
    ids=str,
)
def test_a_batch_that_is_repeated_is_there_once(
    function: Callable[..., Any],
    tmp_path: Path,
    spark: SparkSession,
    monkeypatch: pytest.MonkeyPatch,
    place: tuple[Any, str],
    *,
    after: bool,
) -> None:
    runs = Runs(declared(tmp_path, function), tmp_path, spark)
    arrive(tmp_path, 3)
    assert tried(runs, "one") == []
    arrive(tmp_path, 5)
    with monkeypatch.context() as patch:
        die(patch, *place, after=after)
        assert len(tried(runs, "two")) == 1
    arrive(tmp_path, 7)
    assert tried(runs, "two") == []
    assert ids(spark, tmp_path)[:5] == list(range(5))
    assert tried(runs, "three") == []  # a format in Python has one batch in a run, and that was the repeated one
    assert ids(spark, tmp_path) == list(range(7))


def test_each_source_has_its_own_offsets(tmp_path: Path, spark: SparkSession) -> None:
    runs = Runs(declared(tmp_path, stream_formats.other_lines, stream_formats.lines), tmp_path, spark)
    arrive(tmp_path, 2)
    arrive(tmp_path, 4, "others")
    assert runs.run("one") == []
    arrive(tmp_path, 6)
    assert runs.run("two") == []
    found = sorted(map(tuple, spark.read.parquet(f"{tmp_path}/out0").collect()))
    assert found == [(0, 1), (1, 1), (2, 0), (3, 0), (4, 1), (5, 1)]


def test_another_place_is_refused(tmp_path: Path, spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> None:
    runs = Runs(declared(tmp_path, stream_formats.lines), tmp_path, spark)
    arrive(tmp_path, 3)
    assert runs.run("one") == []
    (tmp_path / "elsewhere/lines").mkdir(parents=True)
    monkeypatch.setenv(stream_formats.PLACE, f"{tmp_path}/elsewhere")
    (message,) = runs.run("two")
    assert "its option 'path' is" in message
    assert "when the stream began" in message


@pytest.mark.parametrize(
    ("function", "words"),
    [
        (stream_formats.batch, "returned the rows of a batch, and its source never ends"),
        (stream_formats.nothing, "returned a NoneType, and its source never ends"),
        (stream_formats.counted, "returned more than the rows of one stream: Aggregate"),
        (stream_formats.both, "returned more than the rows of one stream: Union"),
    ],
)
def test_what_is_not_the_rows_of_one_stream_is_refused(
    function: Callable[..., Any], words: str, tmp_path: Path, spark: SparkSession
) -> None:
    arrive(tmp_path, 3)
    (message,) = Runs(declared(tmp_path, function), tmp_path, spark).run("one")
    assert words in message


def test_a_source_that_ends_has_no_stream(spark: SparkSession) -> None:
    with pytest.raises(TypeError, match="returned a stream, and its source ends; allowed: unbounded=True"):
        read_source(FunctionSource(stream_formats.lines), spark)
    assert read_source(FunctionSource(stream_formats.lines), spark, scans=False).dtypes == [("id", "int")]
