"""A run reads what its sink's target held before it, and reads the same again in every later attempt (decision 77)."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Literal, TypeAlias

import pytest
from pyspark.sql import DataFrame, SparkSession

from graph_compiler import Csv, Json, Parquet, StreamExecutionEnvironment, Values
from graph_compiler.declaration.connectors import FileConnector
from graph_compiler.declaration.pipeline import Pipeline
from graph_compiler.deployment.documents.report import Failure, ThrowableType
from graph_compiler.spark_runtime.publishing.publication import Publisher
from graph_compiler.testing.pipeline_result import PipelineResult
from tests.harness.runs_of_a_day import RunsOfADay

pytestmark = [pytest.mark.spark, pytest.mark.ci]

Backfill: TypeAlias = Literal["refuse", "latest"]
Mode: TypeAlias = Literal["append", "overwrite"]
_happens: dict[str, Callable[[], object]] = {}


def meanwhile(rows: DataFrame) -> DataFrame:
    """Return the rows, after what a test asks for, once."""
    _happens.pop("meanwhile", lambda: None)()
    return rows


class Account:
    """The running total of one account, to which each run adds an amount."""

    def __init__(self, spark: SparkSession, folder: Path) -> None:
        self.spark, self.target = spark, folder / "totals"
        self.runs = RunsOfADay(spark=spark, folder=folder)

    def pipeline(
        self, amount: int, *, backfill: Backfill = "refuse", staged: bool = False, mode: Mode = "overwrite"
    ) -> Pipeline:
        env = StreamExecutionEnvironment("bank", config={"staging.release": "LAST_CONSUMER"})
        totals = Parquet(str(self.target))
        before = env.from_target(totals, "before", schema="total BIGINT", backfill=backfill)
        if staged:
            before = before.stage("a task of its own")
        new = env.from_source(Values(((amount,),), schema="total BIGINT"), "new")
        both = before.union(new).transform(meanwhile).name("both")
        env.sql("SELECT SUM(total) AS total FROM {both}", both=both).sink_to(totals, mode=mode).name("out")
        return env.pipeline()

    def run(
        self, day: int, amount: int, *, run_id: str | None = None, hour: int = 0, **declared: object
    ) -> list[Failure]:
        date = f"2024-01-{day:02}T{hour:02}:00:00+00:00"
        return self.runs.run(self.pipeline(amount, **declared), run_id or f"run {day}", date)  # type: ignore[arg-type]  # by name

    def lose_copies(self, run_id: str) -> None:
        """Remove the data that a run has staged."""
        for path in self.runs.folder.glob("staging/bank/*/manifests/*/*.json"):
            manifest = json.loads(path.read_text())
            if manifest["attempt"]["execution_id"].startswith(run_id):
                shutil.rmtree(manifest["location"])

    @property
    def total(self) -> list[int]:
        """Return the rows of the target."""
        return [row.total for row in self.spark.read.parquet(str(self.target)).collect()]


@pytest.fixture
def account(spark: SparkSession, tmp_path: Path) -> Account:
    _happens.clear()
    return Account(spark, tmp_path)


def test_each_day_adds_to_the_day_before_and_a_clear_adds_nothing_twice(account: Account) -> None:
    for day, expected in ((1, 1), (2, 3), (3, 6)):
        assert not account.run(day, day)
        assert account.total == [expected]
    assert not account.run(3, 30)  # the task is cleared after its input was mended
    assert account.total == [33]
    (late,) = account.run(2, 20)  # a later run has read what this one published
    assert late.throwable_type is ThrowableType.NON_RECOVERABLE_ERROR
    assert "run 'run 3' of 2024-01-03T00:00:00+00:00 of 'bank' has published" in late.message
    assert "hint: leave this run as it is" in late.message
    assert account.total == [33]


def test_a_backfill_is_refused_unless_it_may_read_the_latest_version(account: Account) -> None:
    assert not account.run(3, 3)
    (refused,) = account.run(2, 2)
    assert refused.operator == "before"
    assert refused.throwable_type is ThrowableType.NON_RECOVERABLE_ERROR
    assert "run 'run 3' of 2024-01-03T00:00:00+00:00" in refused.message
    assert "this run has the date 2024-01-02T00:00:00+00:00" in refused.message
    (same_date,) = account.run(3, 3, run_id="manual")
    assert "already holds" in same_date.message
    assert account.total == [3]
    assert not account.run(2, 2, backfill="latest")
    assert account.total == [5]


def test_runs_without_a_date_read_the_latest_version(account: Account) -> None:
    assert not account.run(3, 3)
    for number in (1, 2):
        assert not account.runs.run(account.pipeline(10), f"event {number}", None)
    (refused,) = account.run(2, 2)  # the last publication that has a date counts
    assert "run 'run 3'" in refused.message
    assert account.total == [23]


def test_a_retry_after_the_decision_reads_what_the_first_attempt_read(
    account: Account, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert not account.run(1, 1)

    def dies(*_: object) -> None:
        raise OSError("the disk did not answer")

    with monkeypatch.context() as patch:
        patch.setattr(Publisher, "_carry_out", dies)
        assert account.run(2, 2)
    assert account.total == [1]
    assert not account.run(2, 2)  # its first steps carry the decision out; the copy has the rows before it
    assert account.total == [3]
    assert not account.run(3, 3)
    assert account.total == [6]


def test_a_reader_carries_out_what_another_run_has_decided(account: Account, monkeypatch: pytest.MonkeyPatch) -> None:
    assert not account.run(1, 1)
    with monkeypatch.context() as patch:
        patch.setattr(Publisher, "_carry_out", lambda _publisher, _intent: 1 / 0)
        assert account.run(2, 2)
    assert not account.run(3, 3)
    assert account.total == [6]


def test_of_two_runs_at_once_the_second_reads_again(account: Account) -> None:
    assert not account.run(1, 1)
    other = Account(account.spark, account.target.parent)
    _happens["meanwhile"] = lambda: other.run(2, 20)
    (lost,) = account.run(3, 300)
    assert lost.throwable_type is ThrowableType.RECOVERABLE_ERROR
    assert account.total == [21]
    assert not account.run(3, 300)
    assert account.total == [321]


def test_of_two_runs_at_once_an_earlier_date_is_refused_at_its_retry(account: Account) -> None:
    assert not account.run(1, 1)
    other = Account(account.spark, account.target.parent)
    _happens["meanwhile"] = lambda: other.run(3, 300)
    (lost,) = account.run(2, 20)
    assert lost.throwable_type is ThrowableType.RECOVERABLE_ERROR
    (refused,) = account.run(2, 20)
    assert "this run has the date 2024-01-02" in refused.message
    assert account.total == [301]


def test_an_append_does_not_take_a_later_place_than_the_version_it_read(account: Account) -> None:
    assert not account.run(1, 1, mode="append")
    other = Account(account.spark, account.target.parent)
    _happens["meanwhile"] = lambda: other.run(2, 20, mode="append")
    (lost,) = account.run(3, 300, mode="append")
    assert lost.throwable_type is ThrowableType.RECOVERABLE_ERROR
    assert sorted(account.total) == [1, 21]
    assert not account.run(3, 300, mode="append")
    assert sorted(account.total) == [1, 21, 322]


def test_a_task_that_cannot_read_again_says_which_one_to_clear(account: Account) -> None:
    assert not account.run(1, 1, staged=True)
    first, second = account.runs.tasks(account.pipeline(300, staged=True))
    date = "2024-01-03T00:00:00+00:00"
    assert not account.runs.attempt(first, "run 3", date)
    assert not account.run(2, 20, staged=True)
    for _ in range(2):
        (failure,) = account.runs.attempt(second, "run 3", date)
        assert failure.throwable_type is ThrowableType.NON_RECOVERABLE_ERROR
        assert "run 'run 2' of 2024-01-02T00:00:00+00:00 of 'bank' has published" in failure.message
        assert "in Airflow's UI, clear before of run 'run 3' of 'bank'" in failure.message
    assert not account.run(3, 300, staged=True)  # all tasks are cleared
    assert account.total == [321]


def test_without_its_copy_a_run_that_has_published_fails_and_changes_nothing(account: Account) -> None:
    assert not account.run(1, 1)
    assert not account.run(2, 2)
    account.lose_copies("run 2")
    (lost,) = account.run(2, 2)
    assert lost.throwable_type is ThrowableType.NON_RECOVERABLE_ERROR
    assert "the copy of the version before it is lost" in lost.message
    assert account.total == [3]


def test_the_copy_is_not_released(account: Account) -> None:
    assert not account.run(1, 1)
    manifests = [json.loads(path.read_text()) for path in account.runs.folder.glob("staging/bank/*/manifests/*/0.json")]
    (manifest,) = manifests
    assert [read["number"] for read in manifest["previous"]] == [0]
    assert Path(manifest["location"]).is_dir()


COLUMNS = {
    "lacking": ("id INT, new STRING", [(1, None)]),
    "fewer": ("id INT", [(1,)]),
    "wider": ("id BIGINT, x STRING", [(1, "a")]),
}
"""Declared columns, and the rows of files with `id INT, x STRING`: one that they lack, fewer, a wider type."""


@pytest.mark.parametrize("kind", [Parquet, Json, Csv])
def test_the_declared_columns_are_read(kind: type[FileConnector], spark: SparkSession, tmp_path: Path) -> None:
    runs = RunsOfADay(spark=spark, folder=tmp_path)
    target = kind(f"{tmp_path}/t[1]")  # a pattern, as a source's path
    for day in (1, 2):
        env = StreamExecutionEnvironment("p")
        new = env.from_source(Values(((1, "a"),), schema="id INT, x STRING"), "new")
        for name, (schema, _) in COLUMNS.items():
            before = env.from_target(target, name, schema=schema)
            before.sink_to(Parquet(f"{tmp_path}/{name}")).name(f"seen {name}")
            new = new.union(before.filter("false").select(id="int(id)", x="''"))
        new.sink_to(target).name("out")
        assert not runs.run(env.pipeline(), f"r{day}", f"2024-01-0{day}T00:00:00+00:00")
        for name, (schema, expected) in COLUMNS.items():
            seen = spark.read.parquet(f"{tmp_path}/{name}")
            assert seen.columns == schema.replace(",", "").split()[::2]
            assert [tuple(row) for row in seen.collect()] == ([] if day == 1 else expected)


def test_a_lost_copy_is_read_again_from_the_target_that_did_not_change(account: Account) -> None:
    assert not account.run(1, 1, staged=True)
    first, second = account.runs.tasks(account.pipeline(2, staged=True))
    date = "2024-01-02T00:00:00+00:00"
    assert not account.runs.attempt(first, "run 2", date)
    account.lose_copies("run 2")
    assert not account.runs.attempt(second, "run 2", date)  # it computes the copy again, by itself
    assert account.total == [3]
    assert not account.run(3, 3, staged=True)
    assert account.total == [6]


def test_a_test_gives_the_rows_of_the_previous_version(
    pipeline_run: Callable[..., PipelineResult], tmp_path: Path
) -> None:
    env = StreamExecutionEnvironment("p")
    totals = Parquet(f"{tmp_path}/totals")
    before = env.from_target(totals, "before", schema="k STRING, total BIGINT")
    before.filter("total > 1").sink_to(totals).name("out")
    result = pipeline_run(env, {"before": [{"k": "a", "total": 1}, {"k": "b", "total": 2}]})
    assert result.sink("out").rows == [{"k": "b", "total": 2}]
