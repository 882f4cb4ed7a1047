"""The rows that a batch is given: their columns, and what they are joined with."""

from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from graph_compiler import Csv, Json, Parquet, StreamExecutionEnvironment
from graph_compiler.spark_runtime.streams import stream_query
from tests.harness.position_runs import Runs, write

pytestmark = pytest.mark.spark


def environment() -> StreamExecutionEnvironment:
    return StreamExecutionEnvironment("stream", config={"execution.runtime-mode": "AUTOMATIC"})


def rows(spark: SparkSession, folder: Path) -> list[tuple[Any, ...]]:
    return sorted(map(tuple, spark.read.parquet(str(folder)).collect()), key=repr)


@pytest.mark.ci
def test_columns_of_several_sinks_stay_not_null(tmp_path: Path, spark: SparkSession) -> None:
    env, schema = environment(), "k STRING NOT NULL, n INT"
    source = env.from_source(Json(f"{tmp_path}/in", schema="k STRING, n INT"), "in", unbounded=True).uid("in")
    arrived = source.with_columns(k="coalesce(k, 'none')")
    for name, kept in (("all", arrived), ("twos", arrived.filter("n = 2"))):
        kept.sink_to(Parquet(f"{tmp_path}/{name}", schema=schema), mode="append").name(name).uid(name)
    write(tmp_path / "in" / "1.json", *({"k": k, "n": n} for k, n in (("a", 1), (None, 2), ("a", None))))
    assert Runs(env, tmp_path, spark).run("one") == []
    assert rows(spark, tmp_path / "all") == [("a", 1), ("a", None), ("none", 2)]
    assert rows(spark, tmp_path / "twos") == [("none", 2)]


def test_files_of_a_bounded_source_that_change_between_batches_are_noticed(
    tmp_path: Path, spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    env = environment()
    source = Json(f"{tmp_path}/in", schema="k STRING", options={"maxFilesPerTrigger": "1"})
    names = env.from_source(Csv(f"{tmp_path}/names", schema="k STRING, name STRING"), "names")
    joined = env.from_source(source, "in", unbounded=True).uid("in").join(names, on="k", how="left")
    joined.sink_to(Parquet(f"{tmp_path}/out"), mode="append").uid("out")
    (tmp_path / "names").mkdir()
    file = tmp_path / "names" / "names.csv"
    file.write_text("k,name\na,A\n")
    for number in range(2):
        write(tmp_path / "in" / f"{number}.json", {"k": "a"})
    publish = stream_query._Stream._publish_once

    def changes(stream: stream_query._Stream, given: Any, number: int) -> None:
        if number == 1:
            file.write_text("k,name\na,AAAAAAAAAA\nb,B\n")
        publish(stream, given, number)

    runs = Runs(env, tmp_path, spark)
    with monkeypatch.context() as patch:
        patch.setattr(stream_query._Stream, "_publish_once", changes)
        (failure,) = runs.run("one")
    assert "names.csv had 11 bytes" in failure
    assert rows(spark, tmp_path / "out") == [("a", "A")]
    assert runs.run("one") == []
    assert rows(spark, tmp_path / "out") == [("a", "A"), ("a", "AAAAAAAAAA")]
