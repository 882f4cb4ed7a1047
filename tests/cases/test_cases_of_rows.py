"""Rows that operators and sinks must keep: the order of a sort, digits of ids, fields of structs."""

import csv
from pathlib import Path

import pyarrow.parquet
import pytest

from graph_compiler import Csv, Parquet, Range, StreamExecutionEnvironment, Values
from tests.cases import frames
from tests.cases.case import in_order, published
from tests.spark.conftest import RunPipeline

pytestmark = [pytest.mark.spark, pytest.mark.ci]

ID = 2**53 + 1
COLUMNS = "k STRING, id BIGINT"
IDS = Values([("a", ID), ("a", None), ("b", ID)], COLUMNS)


@pytest.mark.parametrize("files", [1, 3])
def test_a_sort_is_kept_in_one_file_and_in_several(files: int, run_pipeline: RunPipeline, tmp_path: Path) -> None:
    env = StreamExecutionEnvironment("sorted_files")
    rows = env.from_source(Range(0, 2000), "rows").select(x="(id * 7919) % 2000")
    rows.sort("x").name("ordered").sink_to(Csv(f"{tmp_path}/out"), files=files).name("out")
    assert [report.failure for report in run_pipeline(env.pipeline())] == [None]
    parts = sorted((tmp_path / "out").glob("part-*.csv"))
    assert len(parts) == files
    texts = [csv.DictReader(part.read_text().splitlines()) for part in parts]
    assert [int(row["x"]) for text in texts for row in text] == list(range(2000))


def test_ids_beside_a_null_are_refused_before_pandas_and_kept_by_what_the_message_proposes(
    run_pipeline: RunPipeline, tmp_path: Path
) -> None:
    env = StreamExecutionEnvironment("pandas_null")
    rows = env.from_source(IDS, "rows")
    changed = rows.key_by("k").apply_in_pandas(frames.unchanged, COLUMNS).name("unchanged")
    changed.sink_to(Parquet(f"{tmp_path}/ids")).name("ids")
    failure = run_pipeline(env.pipeline())[-1].failure
    assert failure is not None, published(tmp_path / "ids")
    assert failure.operator == "unchanged"
    assert "pandas would round column 'id' (BIGINT)" in failure.message
    assert published(tmp_path / "ids") is None
    proposed = 'cast the column to STRING before, or use map_partitions(…, batches="arrow")'
    assert proposed in failure.message

    env = StreamExecutionEnvironment("what_it_proposes")
    rows = env.from_source(IDS, "rows")
    texts = rows.with_columns(id="CAST(id AS STRING)").key_by("k")
    known = rows.filter("id IS NOT NULL").key_by("k")
    for name, stream in {
        "texts": texts.apply_in_pandas(frames.unchanged, "k STRING, id STRING"),
        "known": known.apply_in_pandas(frames.unchanged, COLUMNS),
        "batches": rows.map_partitions(frames.unchanged_batch, COLUMNS, batches="arrow"),
    }.items():
        stream.name(name).sink_to(Parquet(f"{tmp_path}/{name}")).name(name)
    assert {report.failure for report in run_pipeline(env.pipeline())} == {None}
    ids = [("a", ID), ("a", None), ("b", ID)]
    expected = in_order([{"k": key, "id": id} for key, id in ids])
    assert published(tmp_path / "batches") == expected
    assert published(tmp_path / "known") == [row for row in expected if row["id"] is not None]
    assert published(tmp_path / "texts") == in_order(
        [{"k": key, "id": None if id is None else str(id)} for key, id in ids]
    )


def test_a_field_that_is_added_to_a_struct_evolves_the_target_or_is_left_out(
    run_pipeline: RunPipeline, tmp_path: Path
) -> None:
    def appended(number: int, fields: str, on_schema_change: str) -> str | None:
        env = StreamExecutionEnvironment(f"append_{number}_{on_schema_change}")
        rows = env.from_source(Range(number, number + 1), "rows").select(id="id", s=fields)
        target = Parquet(f"{tmp_path}/out", on_schema_change=on_schema_change)
        rows.sink_to(target, mode="append").name("out")
        failure = run_pipeline(env.pipeline())[-1].failure
        return None if failure is None else failure.message

    assert appended(0, "named_struct('a', 1)", "fail") is None
    message = appended(1, "named_struct('a', 2, 'b', 20)", "fail")
    assert message is not None
    assert "column 's.b' was added" in message
    assert "on_schema_change='evolve' accepts these changes" in message
    assert "on_schema_change='ignore' leaves out s.b" in message
    assert appended(1, "named_struct('a', 2, 'b', 20)", "ignore") is None
    assert published(tmp_path / "out") == in_order([{"id": 0, "s": {"a": 1}}, {"id": 1, "s": {"a": 2}}])
    assert appended(2, "named_struct('b', 30, 'a', 3)", "evolve") is None
    files = sorted((tmp_path / "out").glob("*.parquet"))
    found = [row for file in files for row in pyarrow.parquet.read_table(file).to_pylist()]
    assert {row["id"]: row["s"] for row in found} == {0: {"a": 1}, 1: {"a": 2}, 2: {"a": 3, "b": 30}}


def test_structs_whose_fields_are_in_another_order_are_not_joined_by_place(
    run_pipeline: RunPipeline, tmp_path: Path
) -> None:
    def joined(right: str) -> str | None:
        env = StreamExecutionEnvironment(f"structs_{len(right)}")
        one = env.from_source(Range(0, 1), "one").select(s="named_struct('x', 1, 'y', 2)", a="1").name("left")
        other = env.from_source(Range(0, 1), "other").select(s="named_struct('y', 1, 'x', 2)", b="2").name("right")
        other = other.with_columns(s=right).name("ordered")
        one.join(other, on="s").name("pairs").sink_to(Parquet(f"{tmp_path}/out")).name("out")
        failure = run_pipeline(env.pipeline())[-1].failure
        assert failure is None or failure.operator == "pairs"
        return None if failure is None else failure.message

    message = joined("s")
    assert message is not None, published(tmp_path / "out")
    assert "Spark compares their fields by place" in message
    assert "give both one order, before: with_columns(s=\"named_struct('x', …)\")" in message
    assert joined("named_struct('x', s.x, 'y', s.y)") is None
    assert published(tmp_path / "out") == []
    assert joined("named_struct('x', s.y, 'y', s.x)") is None
    assert published(tmp_path / "out") == [{"s": {"x": 1, "y": 2}, "a": 1, "b": 2}]
