"""The columns of sources and sinks in the reports of a run, and what its lineage makes of them."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from graph_compiler import Parquet, StreamExecutionEnvironment, Values
from graph_compiler.compiler.pipeline_compiler import compile_pipeline
from graph_compiler.deployment.describe.region_descriptors import describe_regions
from graph_compiler.deployment.documents.report import ExecutionReport
from graph_compiler.identifiers import OperatorId
from graph_compiler.staging.attempts.attempt_lineage import columns
from tests.spark.conftest import RunPipeline

pytestmark = pytest.mark.spark


def test_a_report_has_the_columns_that_sources_read_and_sinks_write(run_pipeline: RunPipeline, tmp_path: Path) -> None:
    env = StreamExecutionEnvironment("p")
    rows = env.from_source(Values([(1, "a")], "x INT, k STRING"), "in")
    changed = rows.select("k", s="named_struct('ids', array(x), 'n', x / 2D)").name("changed")
    changed.stage("another task").filter("k > ''").sink_to(Parquet(str(tmp_path / "out")), partition_by=["k"]).name(
        "out"
    )
    pipeline = env.pipeline()
    reports = run_pipeline(pipeline)
    assert [report.failure for report in reports] == [None, None]
    names = {
        operator.operator_id: operator.name
        for region in describe_regions(compile_pipeline(pipeline))
        for operator in region.operators
    }
    assert dict(shown(names, reports)) == {"in": "x: integer, k: string", "out": "k: string, s: struct"}


def shown(names: dict[OperatorId, str], reports: list[ExecutionReport]) -> Iterator[tuple[str, str]]:
    for report in reports:
        for each in report.schemas:
            found = ", ".join(f"{column.name}: {column.type}" for column in columns(each.schema))
            yield names[each.operator_id], found


def test_sparks_nested_columns_are_columns_with_fields(run_pipeline: RunPipeline, tmp_path: Path) -> None:
    env = StreamExecutionEnvironment("p")
    rows = env.from_source(Values([(1,)], "x INT"), "in")
    rows.select(l="array(named_struct('a', x))", m="map('k', x)", d="CAST(x AS DECIMAL(9, 2))").sink_to(
        Parquet(str(tmp_path / "out"))
    ).name("out")
    (report,) = run_pipeline(env.pipeline())
    lists, maps, number = columns(report.schemas[-1].schema)
    ((element,),) = (lists.fields,)
    assert (element.name, element.type, element.fields[0].name) == ("_element", "struct", "a")
    assert [(each.name, each.type) for each in maps.fields] == [("key", "string"), ("value", "integer")]
    assert number.type == "decimal(9,2)"
