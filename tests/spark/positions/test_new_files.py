"""Sources of files that read only what is new: each file is in exactly one published increment."""

import os
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession
from rich.console import Console

from graph_compiler import Csv, Json, Parquet, StreamExecutionEnvironment
from graph_compiler.cli.commands.history import run_history, show_history
from graph_compiler.declaration.streams import DataStream
from graph_compiler.deployment.documents.report import ThrowableType
from graph_compiler.spark_runtime.region.coordination import OperatorCoordinators, SinkCommitter
from graph_compiler.spark_runtime.spark_internals.file_listings import load_files
from tests.harness.executed_tasks import tasks_of_jobs
from tests.harness.position_runs import Runs, write

pytestmark = [pytest.mark.spark, pytest.mark.ci]


class CrashError(Exception):
    """The driver ends here."""


def orders(env: StreamExecutionEnvironment, folder: Path, **settings: Any) -> DataStream:
    source = Json(f"{folder}/in", schema="id INT, day STRING", **settings)
    return env.from_source(source, "orders", only_new=True).uid("orders")


@pytest.fixture
def runs(tmp_path: Path, spark: SparkSession) -> Runs:
    env = StreamExecutionEnvironment("shop")
    orders(env, tmp_path).sink_to(Parquet(f"{tmp_path}/out"), mode="append").name("out").uid("out")
    return Runs(env, tmp_path, spark)


def ids(runs: Runs, name: str = "out") -> list[int]:
    return sorted(row.id for row in runs.spark.read.parquet(f"{runs.folder}/{name}").select("id").collect())


def arrives(runs: Runs, name: str, *found: int) -> Path:
    file = runs.folder / "in" / name
    write(file, *({"id": id, "day": "d"} for id in found))
    return file


def test_each_run_reads_what_has_arrived_since_the_last_one(runs: Runs) -> None:
    arrives(runs, "a.json", 1, 2)
    assert runs.run("r1") == []
    (read,) = runs.report().increments
    assert (read.operator, read.number, read.files) == ("orders", 0, 1)
    layout = runs.last[0].layout
    shown = StringIO()
    show_history(layout, run_history(layout), Console(file=shown))
    assert "'orders' has read 1 new file (increment 0)" in shown.getvalue()
    arrives(runs, "b.json", 3)
    assert runs.run("r2") == []
    assert ids(runs) == [1, 2, 3]
    assert runs.run("r3") == []  # nothing is new
    assert runs.report().increments[0].files == 0
    assert ids(runs) == [1, 2, 3]


def test_a_file_that_arrives_late_with_an_old_time_is_read(runs: Runs) -> None:
    arrives(runs, "b.json", 1)
    assert runs.run("r1") == []
    os.utime(arrives(runs, "a.json", 2), (0, 0))
    assert runs.run("r2") == []
    assert ids(runs) == [1, 2]


def test_before_the_first_file_arrives_nothing_is_new(tmp_path: Path, spark: SparkSession) -> None:
    env = StreamExecutionEnvironment("shop")
    rows = orders(env, tmp_path, if_missing="empty")
    rows.sink_to(Parquet(f"{tmp_path}/out"), mode="append").name("out").uid("out")
    runs = Runs(env, tmp_path, spark)
    assert runs.run("r1") == []
    assert runs.report().increments[0].files == 0
    arrives(runs, "a.json", 1)
    assert runs.run("r2") == []
    assert ids(runs) == [1]


def test_a_failed_run_that_is_tried_again_reads_the_same(runs: Runs, monkeypatch: pytest.MonkeyPatch) -> None:
    arrives(runs, "a.json", 1)
    with monkeypatch.context() as patch:
        patch.setattr(SinkCommitter, "prepare", _crash)
        assert "crash" in runs.run("r1")[0]
    arrives(runs, "b.json", 2)
    assert runs.run("r1") == []
    assert ids(runs) == [1]
    assert runs.run("r2") == []
    assert ids(runs) == [1, 2]


def in_two_tasks(folder: Path, second: str | None, *, is_wrong: bool = False) -> StreamExecutionEnvironment:
    """orders ║ out and a second sink; `out` has no uid, so that its id is that of its place."""
    env = StreamExecutionEnvironment("shop")
    rows = orders(env, folder).stage("two tasks")
    wrong = rows.with_columns(price="CAST(day AS INT)").name("price") if is_wrong else rows
    wrong.sink_to(Parquet(f"{folder}/out"), mode="append").name("out")
    if second:
        other = rows.filter(second).name("other").task_id("second")
        other.sink_to(Parquet(f"{folder}/second"), mode="append").name("second").uid("second")
    return env


def test_a_sink_of_another_task_that_is_added_to_a_run_has_to_publish_too(tmp_path: Path, spark: SparkSession) -> None:
    runs = Runs(in_two_tasks(tmp_path, None, is_wrong=True), tmp_path, spark)
    arrives(runs, "a.json", 1)
    assert "'d'" in runs.run("r1")[0]
    runs.env = in_two_tasks(tmp_path, "CAST(day AS INT) > 0")
    assert "'d'" in runs.run("r1", "second")[0]
    assert ids(runs) == [1]
    arrives(runs, "b.json", 2)
    runs.env = in_two_tasks(tmp_path, "id > 0")
    assert "published by out, not by second" in runs.run("r2")[0]
    assert runs.run("r1") == []
    assert runs.run("r2") == []
    assert ids(runs) == ids(runs, "second") == [1, 2]


def test_a_sink_whose_id_has_changed_has_published_what_it_has_published(tmp_path: Path, spark: SparkSession) -> None:
    runs = Runs(in_two_tasks(tmp_path, None, is_wrong=True), tmp_path, spark)
    arrives(runs, "a.json", 1)
    assert "'d'" in runs.run("r1")[0]
    runs.env = in_two_tasks(tmp_path, None)
    assert runs.run("r1") == []
    arrives(runs, "b.json", 2)
    assert runs.run("r2") == []
    assert ids(runs) == [1, 2]


def test_the_next_run_takes_over_what_a_failed_one_has_not_published(
    runs: Runs, monkeypatch: pytest.MonkeyPatch
) -> None:
    arrives(runs, "a.json", 1)
    with monkeypatch.context() as patch:
        patch.setattr(SinkCommitter, "prepare", _crash)
        runs.run("r1")
    arrives(runs, "b.json", 2)
    assert runs.run("r2") == []
    assert ids(runs) == [1, 2]
    (message,) = runs.run("r1")
    assert "was given to run 'r2'" in message
    assert runs.report().failure.throwable_type is ThrowableType.NON_RECOVERABLE_ERROR  # type: ignore[union-attr]
    assert ids(runs) == [1, 2]


def test_a_cleared_run_reads_what_it_read_and_publishes_over_its_own_rows(runs: Runs) -> None:
    arrives(runs, "a.json", 1)
    assert runs.run("r1") == []
    arrives(runs, "b.json", 2)
    assert runs.run("r2") == []
    arrives(runs, "c.json", 3)
    assert runs.run("r1") == []
    assert ids(runs) == [1, 2]
    assert runs.run("r3") == []
    assert ids(runs) == [1, 2, 3]


def test_a_driver_that_dies_between_publication_and_report_has_moved_the_position(
    runs: Runs, monkeypatch: pytest.MonkeyPatch
) -> None:
    arrives(runs, "a.json", 1)
    real = OperatorCoordinators.commit
    with monkeypatch.context() as patch:
        patch.setattr(OperatorCoordinators, "commit", lambda self: (real(self), _crash()))
        assert "crash" in runs.run("r1")[0]
    assert ids(runs) == [1]
    arrives(runs, "b.json", 2)
    assert runs.run("r2") == []
    assert ids(runs) == [1, 2]


def test_a_run_that_has_published_one_of_two_sinks_must_be_resumed(
    tmp_path: Path, spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    env = StreamExecutionEnvironment("shop")
    rows = orders(env, tmp_path)
    rows.sink_to(Parquet(f"{tmp_path}/out"), mode="append").name("out").uid("out")
    rows.stage("apart").sink_to(Parquet(f"{tmp_path}/other"), mode="append").name("other").uid("other")
    runs = Runs(env, tmp_path, spark)
    arrives(runs, "a.json", 1)
    real = SinkCommitter.prepare
    with monkeypatch.context() as patch:
        patch.setattr(
            SinkCommitter,
            "prepare",
            lambda self, rows: _crash() if self._operator.name == "other" else real(self, rows),
        )
        assert "crash" in runs.run("r1")[0]
    assert ids(runs) == [1]
    arrives(runs, "b.json", 2)
    (message,) = runs.run("r2")
    assert "published by out, not by other" in message
    assert "clear the failed tasks of run 'r1'" in message
    assert "positions reset shop orders --before r1" in message
    assert runs.report().failure.throwable_type is ThrowableType.NON_RECOVERABLE_ERROR  # type: ignore[union-attr]
    assert runs.run("r1", "other") == []
    assert ids(runs, "other") == [1]
    assert runs.run("r2") == []
    assert ids(runs) == ids(runs, "other") == [1, 2]


def test_while_a_run_may_go_on_the_next_one_waits(tmp_path: Path, spark: SparkSession) -> None:
    env = StreamExecutionEnvironment("shop")
    rows = orders(env, tmp_path).filter("id > 0").name("all").stage("apart")
    rows.sink_to(Parquet(f"{tmp_path}/out"), mode="append").name("out").uid("out")
    runs = Runs(env, tmp_path, spark)
    arrives(runs, "a.json", 1)
    assert runs.run("r1", "all") == []  # its second task has not begun
    (message,) = runs.run("r2")
    assert "run 'r1' has read 1 new file of 'orders'" in message
    assert runs.report().failure.throwable_type is ThrowableType.RECOVERABLE_ERROR  # type: ignore[union-attr]
    assert runs.run("r1", "out") == []
    assert runs.run("r2") == []
    assert ids(runs) == [1]


def test_a_file_that_changed_after_it_was_read_is_refused_until_it_is_reset(runs: Runs) -> None:
    file = arrives(runs, "a.json", 1)
    assert runs.run("r1") == []
    arrives(runs, "a.json", 1, 2)
    (message,) = runs.run("r2")
    assert f"{file} changed after increment 0 had read it" in message
    assert f"positions reset shop orders --file 'file:{file}'" in message
    runs.log("orders").reset(to=-1, files=[f"file:{file}"])
    assert runs.run("r3") == []
    assert ids(runs) == [1, 1, 2]  # as the message says


@pytest.mark.parametrize("change", ["gone", "changed"])
def test_a_file_that_is_not_what_the_first_attempt_has_listed_fails_the_run(
    change: str, runs: Runs, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = arrives(runs, "a.json", 1)
    with monkeypatch.context() as patch:
        patch.setattr(SinkCommitter, "prepare", _crash)
        runs.run("r1")
    file.unlink()
    if change == "changed":
        arrives(runs, "a.json", 1, 2)
    arrives(runs, "b.json", 3)
    (message,) = runs.run("r1")
    assert f"{file} {'is gone' if change == 'gone' else 'has changed'} since this run first listed it" in message
    assert runs.run("r2") == []
    assert ids(runs) == ([3] if change == "gone" else [1, 2, 3])


def test_another_path_is_refused_until_the_position_is_reset(runs: Runs) -> None:
    arrives(runs, "a.json", 1)
    assert runs.run("r1") == []
    env = StreamExecutionEnvironment("shop")
    source = Json(f"{runs.folder}/elsewhere", schema="id INT, day STRING")
    rows = env.from_source(source, "orders", only_new=True).uid("orders")
    rows.sink_to(Parquet(f"{runs.folder}/out"), mode="append").name("out").uid("out")
    write(runs.folder / "elsewhere" / "a.json", {"id": 7})
    runs.env = env
    (message,) = runs.run("r2")
    assert f"'orders' has read json {runs.folder}/in, and now reads json {runs.folder}/elsewhere" in message
    runs.log("orders").reset(to=-1)
    assert runs.run("r2") == []
    assert ids(runs) == [1, 7]


def test_two_sources_have_a_position_each(tmp_path: Path, spark: SparkSession) -> None:
    env = StreamExecutionEnvironment("shop")
    left = orders(env, tmp_path)
    right = env.from_source(Csv(f"{tmp_path}/csv", schema="id INT, day STRING"), "more", only_new=True).uid("more")
    left.union(right).sink_to(Parquet(f"{tmp_path}/out"), mode="append").name("out").uid("out")
    runs = Runs(env, tmp_path, spark)
    arrives(runs, "a.json", 1)
    (tmp_path / "csv").mkdir()
    (tmp_path / "csv" / "a.csv").write_text("id,day\n2,d\n")
    assert runs.run("r1") == []
    (tmp_path / "csv" / "b.csv").write_text("id,day\n3,d\n")
    assert runs.run("r2") == []
    assert ids(runs) == [1, 2, 3]
    assert [each.files for each in runs.report().increments] == [0, 1]


@pytest.mark.parametrize("name", ["[1].json", "a b%20c.json", "größe,{x}.json", "wie?*.json", "back\\slash.json"])
def test_names_of_files_are_taken_literally(name: str, runs: Runs) -> None:
    arrives(runs, name, 1)
    arrives(runs, "1.json", 2)
    assert runs.run("r1") == []
    arrives(runs, "2.json", 3)
    assert runs.run("r2") == []
    assert ids(runs) == [1, 2, 3]


def test_many_new_files_are_listed_by_few_tasks(runs: Runs, spark: SparkSession) -> None:
    setting = "spark.sql.sources.parallelPartitionDiscovery.parallelism"
    before, paths = spark.conf.get(setting, None), [f"{runs.folder}/in/{number}.json" for number in range(100)]
    for number in range(100):
        arrives(runs, f"{number}.json", number)
    with tasks_of_jobs(spark) as tasks:
        rows = load_files(spark.read.schema("id INT").format("json"), paths)
    assert tasks == [64]
    assert spark.conf.get(setting, None) == before
    assert rows.count() == 100
    assert runs.run("r1") == []
    assert ids(runs) == list(range(100))


def test_names_of_folders_stay_columns(tmp_path: Path, spark: SparkSession) -> None:
    env = StreamExecutionEnvironment("shop")
    source = Parquet(f"{tmp_path}/in", schema="id BIGINT, day DATE")
    rows = env.from_source(source, "orders", only_new=True).uid("orders")
    rows.sink_to(Parquet(f"{tmp_path}/out"), mode="append").name("out").uid("out")
    runs = Runs(env, tmp_path, spark)
    for run in (1, 2):
        spark.range(run, run + 1).write.parquet(f"{tmp_path}/in/day=2024-01-0{run}")
        assert runs.run(f"r{run}") == []
    assert runs.run("r3") == []
    found = spark.read.parquet(f"{tmp_path}/out").orderBy("id").collect()
    assert [(row.id, str(row.day)) for row in found] == [(1, "2024-01-01"), (2, "2024-01-02")]


def test_records_that_do_not_fit_are_set_aside_also_if_there_is_no_new_file(
    tmp_path: Path, spark: SparkSession
) -> None:
    env = StreamExecutionEnvironment("shop")
    rows = orders(env, tmp_path, rejects="bad")
    rows.sink_to(Parquet(f"{tmp_path}/out"), mode="append").name("out").uid("out")
    bad = rows.get_side_output("bad")
    bad.sink_to(Parquet(f"{tmp_path}/bad"), mode="append").name("bad").uid("bad")
    runs = Runs(env, tmp_path, spark)
    write(tmp_path / "in" / "a.json", {"id": 1}, {"id": "one"})
    assert runs.run("r1") == []
    assert runs.run("r2") == []
    assert ids(runs) == [1]
    assert spark.read.parquet(f"{tmp_path}/bad").count() == 1


def _crash(*_: object) -> Any:
    raise CrashError("crash")


@pytest.mark.parametrize("of_folders", [False, True])
def test_new_files_of_several_paths(tmp_path: Path, spark: SparkSession, of_folders: bool) -> None:
    env = StreamExecutionEnvironment("shop")
    below = "day=d/" if of_folders else ""
    source = Json([f"{tmp_path}/a", f"{tmp_path}/b"], schema="id INT, day STRING", if_missing="empty")
    rows = env.from_source(source, "orders", only_new=True).uid("orders")
    rows.sink_to(Parquet(f"{tmp_path}/out"), mode="append").name("out").uid("out")
    runs = Runs(env, tmp_path, spark)

    def arrives_at(name: str, *found: int) -> None:
        write(tmp_path / name, *({"id": id} | ({} if of_folders else {"day": "d"}) for id in found))

    arrives_at(f"a/{below}1.json", 1)
    assert runs.run("r1") == []
    arrives_at(f"a/{below}2.json", 2)
    arrives_at(f"b/{below}1.json", 3)
    assert runs.run("r2") == []
    assert runs.run("r3") == []
    assert ids(runs) == [1, 2, 3]
    read = spark.read.parquet(f"{tmp_path}/out").select("day").distinct().collect()
    assert [row.day for row in read] == ["d"]
    assert runs.run("r2") == []  # cleared: the same again
    assert ids(runs) == [1, 2, 3]


def test_a_folder_that_gets_its_name_when_it_is_complete_is_read_once(tmp_path: Path, spark: SparkSession) -> None:
    env = StreamExecutionEnvironment("shop")
    source = env.from_source(Json(f"{tmp_path}/in/*", schema="id INT, day STRING"), "orders", only_new=True).uid(
        "orders"
    )
    source.sink_to(Parquet(f"{tmp_path}/out"), mode="append").name("out").uid("out")
    runs = Runs(env, tmp_path, spark)
    arrives(runs, "one/a.json", 1)
    arrives(runs, ".two/b.json", 2)
    assert runs.run("r1") == []
    (tmp_path / "in/.two").rename(tmp_path / "in/two")
    assert runs.run("r2") == []
    assert ids(runs) == [1, 2]
