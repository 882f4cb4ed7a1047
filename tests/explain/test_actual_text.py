"""The execution graph after a run, as text and as JSON, and its remarks."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from graph_compiler import Parquet, Range, StreamExecutionEnvironment
from graph_compiler.compiler.pipeline_compiler import compile_pipeline
from graph_compiler.deployment.describe.region_descriptors import describe_regions
from graph_compiler.deployment.documents.actual_execution import (
    ActualExecution,
    ActualVertex,
    ExchangeRun,
    Spread,
    StageRun,
)
from graph_compiler.deployment.documents.descriptor import RegionDescriptor
from graph_compiler.deployment.documents.report import VertexMetrics
from graph_compiler.deployment.documents.wire import to_json
from graph_compiler.explain.text.actual_text import RegionAfterRun, actual_json, actual_text, remarks
from graph_compiler.graphs.execution import ExecutionState
from tests.harness.actual_executions import an_exchange, stage
from tests.harness.reports import bare_report

MB = 1000 * 1000


@pytest.fixture
def region() -> RegionDescriptor:
    env = StreamExecutionEnvironment("sales")
    numbers = env.from_source(Range(0, 10), "numbers").set_parallelism(2)
    counted = numbers.key_by("id").aggregate(n="count(*)").name("counted")
    counted.sink_to(Parquet("/data/out")).name("out")
    (found,) = describe_regions(compile_pipeline(env.pipeline()))
    return found


def after(region: RegionDescriptor, *stages: StageRun, exchanges: tuple[ExchangeRun, ...] = ()) -> RegionAfterRun:
    """Return the region after a run in stages 3 and 5."""
    numbers, counted = (vertex.vertex_id for vertex in region.vertices)
    vertices = (
        ActualVertex(vertex_id=numbers, parallelism=2, splits=2, stage_ids=(3,)),
        ActualVertex(vertex_id=counted, parallelism=3, splits=None, stage_ids=(5,)),
    )
    actual = ActualExecution(vertices=vertices, stages=stages, exchanges=exchanges)
    measured = tuple(
        VertexMetrics(vertex_id=vertex.vertex_id, name=vertex.name, operators=(), seconds=None)
        for vertex in region.vertices
    )
    report = replace(bare_report(), actual=actual, vertices=measured)
    return RegionAfterRun(region=region, state=ExecutionState.FINISHED, attempt=1, report=report)


def region_json(one: RegionAfterRun) -> Any:
    """Return the JSON of a run of one region."""
    (found,) = json.loads(to_json(actual_json("r", [one])))["regions"]
    return found


def test_declared_and_actual_are_side_by_side(region: RegionDescriptor) -> None:
    numbers, counted = region.vertices
    exchange = an_exchange(
        source=numbers.vertex_id,
        target=counted.vertex_id,
        columns=("id",),
        written_by=3,
        read_by=5,
        rows=1_234,
        bytes=5 * MB,
        partitions=200,
        tasks=3,
        joined=198,
        split=0,
        bytes_by_task=Spread(minimum=10, median=MB, maximum=4 * MB, largest_task=2),
    )
    read = stage(3, tasks=2, input_rows=9, input_bytes=80, exchange_rows_written=1_234, exchange_bytes_written=5 * MB)
    written = stage(5, tasks=3, exchange_rows_read=1_234, exchange_bytes_read=5 * MB, disk_spilled=7 * MB)
    text = actual_text("sales · r", [after(region, read, written, exchanges=(exchange,))])
    assert text == (
        "sales · r\n"
        "\n"
        f"{region.region_id} · FINISHED · attempt 1\n"
        "  Source: numbers\n"
        "      parallelism: declared 2, ran in 2 tasks · stage 3\n"
        "      2 splits\n"
        f"  {counted.name}\n"
        "      parallelism: decided by Spark, ran in 3 tasks · stage 5\n"
        "      exchange: hash by id from 'Source: numbers' · stage 3 → 5 · 1,234 rows, 5.0 MB · 200 partitions "
        "in 3 tasks, 198 joined · by task 10 B / 1.0 MB / 4.0 MB (task 2)\n"
        "  stage 3: 2 tasks · read 9 rows, 80 B · to exchanges 1,234 rows, 5.0 MB\n"
        "  stage 5: 3 tasks · from exchanges 1,234 rows, 5.0 MB · spilled 7.0 MB\n"
        f"  ! stage 5 ('{counted.name}'): its tasks wrote 7.0 MB to disk, because their rows did not fit into memory\n"
        "    hint: give its slot sharing group more executor memory, or let it run in more tasks: set_parallelism, "
        "or a lower spark.sql.adaptive.advisoryPartitionSizeInBytes"
    )


def test_vertices_that_share_a_stage_say_so(region: RegionDescriptor) -> None:
    one = after(region, stage(3))
    assert one.actual is not None
    shared = tuple(replace(vertex, stage_ids=(3,)) for vertex in one.actual.vertices)
    report = replace(bare_report(), actual=replace(one.actual, vertices=shared))
    (_, counted) = region.vertices
    assert f"stage 3, shared with '{counted.name}'" in actual_text("", [replace(one, report=report)])
    found = region_json(replace(one, report=report))
    assert found["vertices"][0]["actual"]["shares_stages_with"] == [counted.vertex_id]


def test_a_run_without_what_ran_says_why(region: RegionDescriptor) -> None:
    for report in (None, bare_report()):
        one = RegionAfterRun(region=region, state=ExecutionState.FAILED, attempt=2, report=report)
        assert actual_text("t", [one]).splitlines()[-1] == (
            "  what ran is not known: it has no report, or an earlier version wrote it"
        )
        found = region_json(one)["vertices"][0]
        assert (found["declared"], found["actual"]) == ({"parallelism": 2}, None)


def test_skew_names_columns(region: RegionDescriptor) -> None:
    (_, counted) = region.vertices
    skewed = an_exchange(target=counted.vertex_id, columns=("day", "user"), bytes_by_task=Spread.of([MB, MB, 900 * MB]))
    one = after(region, stage(5), exchanges=(skewed,))
    assert one.report is not None
    (remark,) = remarks(one.report)
    assert remark.startswith(
        f"the exchange before '{counted.name}' by day and user is skewed: task 2 reads 900.0 MB, the median is 1.0 MB\n"
        "  hint: "
    )


def test_a_late_task_is_remarked(region: RegionDescriptor) -> None:
    one = after(region, stage(5, milliseconds=Spread.of([1_000, 1_000, 60_000])))
    assert one.report is not None
    (remark,) = remarks(one.report)
    assert "task 2 ran 60.0 s, the median is 1.0 s" in remark
    assert "\n  hint: " in remark


def test_long_lists_are_cut_and_say_where_the_rest_is(region: RegionDescriptor) -> None:
    text = actual_text("t", [after(region, *(stage(id) for id in range(100)))])
    assert "60 more stages: --json has them" in text
    assert len(region_json(after(region, *(stage(id) for id in range(100))))["stages"]) == 100
