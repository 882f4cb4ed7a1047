"""Sinks are published all at once, and an interrupted publication is finished by whoever comes next."""

import os
from dataclasses import replace
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from graph_compiler.deployment.staging_layout import StagingLayout
from graph_compiler.identifiers import OperatorId
from graph_compiler.spark_runtime.commit_store import LocalCommitStore
from graph_compiler.spark_runtime.publication import Publisher

pytestmark = pytest.mark.spark
SINK = OperatorId("ab" * 16)


@pytest.fixture
def publisher(spark: SparkSession, tmp_path: Path) -> Publisher:
    layout = StagingLayout(root=str(tmp_path / "staging"), pipeline="p", run_id="r")
    return Publisher(spark=spark, store=LocalCommitStore(), layout=layout, execution_id="one")


def ids(spark: SparkSession, target: Path) -> list[int]:
    return sorted(row.id for row in spark.read.parquet(str(target)).collect())


def test_prepared_rows_are_not_visible_and_published_ones_replace_the_old(
    spark: SparkSession, publisher: Publisher, tmp_path: Path
) -> None:
    target = tmp_path / "target"
    publisher.publish(publisher.prepare(SINK, str(target), spark.range(3)))
    second = replace(publisher, execution_id="two")
    intent = second.prepare(SINK, str(target), spark.range(10, 12))
    assert ids(spark, target) == [0, 1, 2]
    second.publish(intent)
    assert ids(spark, target) == [10, 11]
    assert intent.rows == 2
    assert sorted(path.name for path in tmp_path.iterdir()) == ["staging", "target"]


@pytest.mark.parametrize("steps", range(6))
def test_an_interrupted_publication_is_finished_by_the_next_execution(
    steps: int,
    spark: SparkSession,
    publisher: Publisher,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    target = tmp_path / "target"
    publisher.publish(publisher.prepare(SINK, str(target), spark.range(0, 4, 1, 2)))
    dying = replace(publisher, execution_id="dying")
    intent = dying.prepare(SINK, str(target), spark.range(10, 14, 1, 2))
    _die_after(steps, monkeypatch)
    with pytest.raises(KeyboardInterrupt):
        dying.publish(intent)
    monkeypatch.undo()

    replace(publisher, execution_id="next").finish_earlier(SINK)
    assert ids(spark, target) == [10, 11, 12, 13]
    assert not any(path.name.startswith(".") for path in tmp_path.iterdir())


def test_an_interrupted_publication_is_taken_back_when_another_run_has_published_since(
    spark: SparkSession, publisher: Publisher, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    target = tmp_path / "target"
    dying = replace(publisher, execution_id="dying")
    intent = dying.prepare(SINK, str(target), spark.range(10, 14, 1, 2))
    _die_after(2, monkeypatch)  # the intent's own file, and one of two data files
    with pytest.raises(KeyboardInterrupt):
        dying.publish(intent)
    monkeypatch.undo()
    other_run = replace(publisher, layout=replace(publisher.layout, run_id="other"))
    other_run.publish(other_run.prepare(SINK, str(target), spark.range(3)))

    replace(publisher, execution_id="next").finish_earlier(SINK)
    assert ids(spark, target) == [0, 1, 2]


def test_finishing_what_is_finished_changes_nothing(
    spark: SparkSession, publisher: Publisher, tmp_path: Path
) -> None:
    target = tmp_path / "target"
    publisher.publish(publisher.prepare(SINK, str(target), spark.range(3)))
    before = sorted(os.listdir(target))
    publisher.finish_earlier(SINK)
    assert sorted(os.listdir(target)) == before


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
