"""Runs of one pipeline with one run id, in several Dags, groups and map indexes, that write one target."""

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from graph_compiler import Parquet
from graph_compiler.declaration.connectors import Connector, Table
from graph_compiler.errors import PublicationError
from tests.harness.identities import runs_elsewhere
from tests.harness.sinks import Sinks

pytestmark = [pytest.mark.spark, pytest.mark.ci]
PLACES = list(runs_elsewhere("p", "r").values())[:6]


def ids(spark: SparkSession, target: Parquet) -> list[int]:
    return sorted(row.id for row in spark.read.parquet(target.one_path).collect())


def test_appends_of_several_placements_are_kept_and_reruns_replace_their_own(
    spark: SparkSession, tmp_path: Path
) -> None:
    sinks, target = Sinks(spark, tmp_path / "staging"), Parquet(str(tmp_path / "out"))
    for number, run in enumerate(PLACES):
        sinks.write(target, f"SELECT {number}L AS id", run=run, mode="append")
    assert ids(spark, target) == list(range(len(PLACES)))
    for number, run in enumerate(PLACES):
        sinks.write(target, f"SELECT {number + 10}L AS id", run=run, mode="append")
        rerun = [each + 10 if each <= number else each for each in range(len(PLACES))]
        assert ids(spark, target) == sorted(rerun)


def test_each_placement_appends_to_a_table_once(spark: SparkSession, tmp_path: Path) -> None:
    sinks, target = Sinks(spark, tmp_path / "staging"), Table("places", run_column="run")
    spark.sql("CREATE TABLE places (id BIGINT, run STRING) USING parquet")
    try:
        for _ in range(2):
            for number, run in enumerate(PLACES):
                sinks.write(target, f"SELECT {number}L AS id", run=run, mode="append")
        found = {(row.id, row.run) for row in spark.table("places").collect()}
        assert found == {(number, f"{run.owner}/r") for number, run in enumerate(PLACES)}
        assert spark.table("places").count() == len(PLACES)
        assert (0, "p/r") in found, "of the pipeline's own Dag it is what it was"
    finally:
        spark.sql("DROP TABLE places")


def test_placements_replace_one_target_without_a_conflict(spark: SparkSession, tmp_path: Path) -> None:
    sinks, target = Sinks(spark, tmp_path / "staging"), Parquet(str(tmp_path / "out"))
    for number, run in enumerate(PLACES):
        operator_id = f"{number:032x}"
        sinks.write(target, f"SELECT {number}L AS id", run=run, operator_id=operator_id)
        assert ids(spark, target) == [number]


@pytest.mark.parametrize("kind", ["folder", "table"])
def test_a_second_instance_of_a_dag_run_overwrites_nothing_of_the_first(
    kind: str, spark: SparkSession, tmp_path: Path
) -> None:
    sinks, table = Sinks(spark, tmp_path / "staging"), Table("instances")
    target: Connector = table if kind == "table" else Parquet(str(tmp_path / "out"))
    runs = runs_elsewhere("p", "r")
    first, second = runs["mapped there"], runs["mapped there, the second"]
    try:
        sinks.write(target, "SELECT 1L AS id", run=first)
        with pytest.raises(PublicationError, match=r"'p@nightly:asia:0' has published to its targ"):
            sinks.write(target, "SELECT 2L AS id", run=second)
        sinks.write(target, "SELECT 3L AS id", run=first)
        if kind == "folder":
            sinks.write(target, "SELECT 4L AS id", run=second, mode="append")
            assert ids(spark, Parquet(str(tmp_path / "out"))) == [3, 4]
        else:
            assert [row.id for row in spark.table("instances").collect()] == [3]
    finally:
        spark.sql("DROP TABLE IF EXISTS instances")
