"""Queries of TPC-H whose sources and sinks are tables of Iceberg and Delta Lake give the rows that DuckDB gives."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from graph_compiler import Delta
from graph_compiler.declaration import Pipeline
from graph_compiler.declaration.connectors import Connector, SinkMode
from graph_compiler.declaration.operators import Sink, Source
from graph_compiler.declaration.transformations import PhysicalTransformation, Transformation
from graph_compiler.spark_runtime.columns.declared_schema import ddl
from tests.harness.reference import assert_same_rows
from tests.lake.conftest import Lake
from tests.tpch.conftest import RunTasks, run_tasks, tables
from tests.tpch.query import Query
from tests.tpch.tables import SCHEMAS, answer
from tests.tpch.test_tpch import QUERIES

pytestmark = pytest.mark.lake
__all__ = ["run_tasks", "tables"]


def in_tables(pipeline: Pipeline, sources: Mapping[str, Connector], sink: Callable[[str], Connector]) -> Pipeline:
    """Return the pipeline with other sources and sinks, by their names."""
    changed: list[Transformation] = []
    for each in pipeline.transformations:
        if isinstance(each, PhysicalTransformation) and isinstance(each.operator, Source):
            changed.append(replace(each, operator=replace(each.operator, connector=sources[each.name])))
        elif isinstance(each, PhysicalTransformation) and isinstance(each.operator, Sink):
            to_table = replace(each.operator, connector=sink(each.name), mode=SinkMode.APPEND, files=None)
            changed.append(replace(each, operator=to_table))
        else:
            changed.append(each)
    return replace(pipeline, transformations=tuple(changed))


@pytest.fixture(scope="module")
def copies(spark: SparkSession, tables: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Lake, Path]:
    """Copy the tables into both formats."""
    folder = tmp_path_factory.mktemp("copies")
    lake = Lake(spark, "lake_of_tpch", {"type": "hadoop", "warehouse": str(folder / "warehouse")})
    lake.use()
    for table in SCHEMAS:
        rows = spark.read.schema(SCHEMAS[table]).parquet(f"{tables}/{table}")
        rows.writeTo(f"{lake.name}.db.{table}").using("iceberg").create()
        rows.write.format("delta").save(f"{folder}/{table}")
    return lake, folder


@pytest.mark.parametrize("query", QUERIES.values(), ids=QUERIES)
def test_from_iceberg_to_delta_and_from_delta_to_iceberg(
    query: Query,
    run_tasks: RunTasks,
    tables: Path,
    copies: tuple[Lake, Path],
    tmp_path: Path,
    request: pytest.FixtureRequest,
) -> None:
    (lake, folder), spark = copies, copies[0].spark
    name = f"of_{request.node.callspec.id.replace(' ', '_')}"
    declared = query.declare(tables, tmp_path).pipeline()
    iceberg = {table: lake.table(table) for table in SCHEMAS}
    run_tasks(in_tables(declared, iceberg, lambda sink: Delta(f"{tmp_path}/{sink}")))
    delta = {table: Delta(f"{folder}/{table}") for table in SCHEMAS}
    for sink in query.answers:
        found = spark.read.format("delta").load(f"{tmp_path}/{sink}")
        lake.create(ddl(found.schema), f"{name}_{sink}")
    again = replace(declared, name="again")
    run_tasks(in_tables(again, delta, lambda sink: lake.table(f"{name}_{sink}")))
    for sink, sql in query.answers.items():
        wanted = answer(tables, sql)
        for found in (
            spark.read.format("delta").load(f"{tmp_path}/{sink}"),
            spark.table(f"{lake.name}.db.{name}_{sink}"),
        ):
            assert_same_rows((found.columns, [tuple(row) for row in found.collect()]), wanted)
