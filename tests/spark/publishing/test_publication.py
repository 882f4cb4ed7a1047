"""Sinks are published all at once, and the next execution finishes an interrupted publication."""

import shutil
from dataclasses import replace
from pathlib import Path

import pytest
from pyspark.sql import DataFrame, SparkSession

from graph_compiler.deployment.documents.run_identity import RunIdentity
from graph_compiler.deployment.documents.staging_layout import StagingLayout
from graph_compiler.errors import PublicationConflictError, PublicationError
from graph_compiler.identifiers import OperatorId
from graph_compiler.spark_runtime.publishing.publication import Publisher
from graph_compiler.staging.publications.ledger import Ledger
from graph_compiler.staging.publications.publications import Intent
from graph_compiler.staging.store.local_store import LocalStore

pytestmark = pytest.mark.spark
SINK = OperatorId("ab" * 16)


@pytest.fixture
def publisher(tmp_path: Path) -> Publisher:
    layout = StagingLayout(root=str(tmp_path / "staging"), identity=RunIdentity.own("p", "r"))
    ledger = Ledger(store=LocalStore(), layout=layout, plan_id="plan")
    return Publisher(ledger=ledger, execution_id="one")


def ids(spark: SparkSession, target: Path) -> list[int]:
    return sorted(row.id for row in spark.read.parquet(str(target)).collect())


def prepared(publisher: Publisher, target: Path, rows: DataFrame) -> Intent:
    return publisher.prepare(publisher.settle(SINK, str(target)), rows)


def test_prepared_rows_are_not_visible_and_published_ones_replace_the_old(
    spark: SparkSession, publisher: Publisher, tmp_path: Path
) -> None:
    target = tmp_path / "target"
    publisher.publish(prepared(publisher, target, spark.range(3)))
    second = replace(publisher, execution_id="two")
    intent = prepared(second, target, spark.range(10, 12))
    assert ids(spark, target) == [0, 1, 2]
    second.publish(intent)
    assert ids(spark, target) == [10, 11]
    assert intent.rows == 2
    assert sorted(path.name for path in tmp_path.iterdir()) == ["staging", "target"]


@pytest.mark.parametrize("steps", range(6))
def test_an_interrupted_publication_is_finished_by_the_next_execution(
    steps: int, spark: SparkSession, publisher: Publisher, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    target = tmp_path / "target"
    publisher.publish(prepared(publisher, target, spark.range(0, 4, 1, 2)))
    dying = replace(publisher, execution_id="dying")
    intent = prepared(dying, target, spark.range(10, 14, 1, 2))
    _die_after(steps, monkeypatch)
    with pytest.raises(KeyboardInterrupt):
        dying.publish(intent)
    monkeypatch.undo()

    ticket = replace(publisher, execution_id="next").settle(SINK, str(target))
    assert ticket.number == 2
    assert ids(spark, target) == [10, 11, 12, 13]
    assert not any(path.name.startswith(".") for path in tmp_path.iterdir())


def test_a_superseded_execution_changes_nothing(spark: SparkSession, publisher: Publisher, tmp_path: Path) -> None:
    target = tmp_path / "target"
    zombie = prepared(publisher, target, spark.range(3))
    retry = replace(publisher, execution_id="retry")
    retry.publish(prepared(retry, target, spark.range(3)))
    with pytest.raises(PublicationConflictError, match="nothing of this one is visible"):
        publisher.publish(zombie)
    assert ids(spark, target) == [0, 1, 2]


def test_concurrent_overwrites_leave_the_rows_of_one_run(
    spark: SparkSession, publisher: Publisher, tmp_path: Path
) -> None:
    target = tmp_path / "target"
    layout = replace(publisher.ledger.layout, identity=RunIdentity.own("p", "other"))
    ledger = replace(publisher.ledger, layout=layout)
    other = replace(publisher, ledger=ledger, execution_id="two")
    mine, others = (prepared(publisher, target, spark.range(3)), prepared(other, target, spark.range(10, 12)))
    other.publish(others)
    with pytest.raises(PublicationConflictError):
        publisher.publish(mine)
    assert ids(spark, target) == [10, 11]


def test_a_target_another_sink_of_the_run_wrote_is_refused(
    spark: SparkSession, publisher: Publisher, tmp_path: Path
) -> None:
    target = tmp_path / "target"
    publisher.publish(prepared(publisher, target, spark.range(3)))
    with pytest.raises(PublicationError, match="was written by another sink of this run"):
        publisher.settle(OperatorId("cd" * 16), f"file://{target}/")


def test_lost_files_are_reported_before_anything_is_removed(
    spark: SparkSession, publisher: Publisher, tmp_path: Path
) -> None:
    target = tmp_path / "target"
    publisher.publish(prepared(publisher, target, spark.range(3)))
    second = replace(publisher, execution_id="two")
    intent = prepared(second, target, spark.range(9))
    shutil.rmtree(intent.prepared)
    with pytest.raises(PublicationConflictError, match="is gone"):
        second.publish(intent)
    assert ids(spark, target) == [0, 1, 2]


def test_partition_folders_of_an_earlier_writer_go_too(
    spark: SparkSession, publisher: Publisher, tmp_path: Path
) -> None:
    target = tmp_path / "target"
    spark.range(10).selectExpr("id", "id % 2 AS k").write.partitionBy("k").parquet(str(target))
    publisher.publish(prepared(publisher, target, spark.range(3)))
    assert ids(spark, target) == [0, 1, 2]
    assert not list(target.glob("k=*"))


def _die_after(steps: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let so many renames and removals succeed, then die at the next (or before the record that all is done)."""
    left = [steps]

    def dying(real: object) -> object:
        def step(*arguments: object, **options: object) -> object:
            if left[0] == 0:
                raise KeyboardInterrupt
            left[0] -= 1
            return real(*arguments, **options)  # type: ignore[operator]

        return step

    monkeypatch.setattr(Path, "rename", dying(Path.rename))
    monkeypatch.setattr(Path, "unlink", dying(Path.unlink))
