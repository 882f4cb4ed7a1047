"""A lost staged result is recomputed by the task that reads it, and nothing else is."""

import shutil
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from threading import Barrier
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.functions import rand

from graph_compiler import Csv, Parquet, Secret, SlotSharingGroup, StreamExecutionEnvironment
from graph_compiler.compiler.pipeline_compiler import compile_pipeline
from graph_compiler.declaration.retention import StagingRelease
from graph_compiler.deployment.describe.region_descriptors import describe_regions
from graph_compiler.deployment.documents.descriptor import (
    VERSION,
    ExecutionAttempt,
    RegionDescriptor,
    ResultDescriptor,
    TaskDeploymentDescriptor,
)
from graph_compiler.deployment.documents.manifest import Manifest
from graph_compiler.deployment.documents.report import ExecutionReport, ThrowableType
from graph_compiler.deployment.documents.run_identity import RunIdentity
from graph_compiler.deployment.documents.staging_layout import StagingLayout
from graph_compiler.identifiers import RegionId
from graph_compiler.spark_runtime.main import execute
from graph_compiler.spark_runtime.region.region_failover import RegionFailover
from graph_compiler.spark_runtime.results.staging_area import StagingArea
from graph_compiler.staging.attempts.attempts import executions
from graph_compiler.staging.results.manifest_log import ManifestLog
from graph_compiler.staging.results.release import stale_readers
from graph_compiler.staging.store.local_store import LocalStore
from tests.conftest import with_options
from tests.harness.reference import published

pytestmark = pytest.mark.spark

Lose = Callable[[Path], None]


def with_a_coin(rows: DataFrame) -> DataFrame:
    return rows.withColumn("coin", rand())


class Tasks:
    """Runs the tasks of a pipeline as Airflow would: a descriptor on disk for each attempt."""

    def __init__(
        self,
        env: StreamExecutionEnvironment,
        folder: Path,
        spark: SparkSession,
        *,
        clears_others: bool = False,
        release: StagingRelease = StagingRelease.GC,
    ) -> None:
        pipeline = with_options(env.pipeline(), shuffle_mode="AUTO", release=release)
        self.regions = {str(one.region_id): one for one in describe_regions(compile_pipeline(pipeline))}
        self.root, self.spark, self.clears_others = folder / "staging", spark, clears_others
        self.layout = StagingLayout(root=str(self.root), identity=RunIdentity.own("p", "run"))
        self.log = ManifestLog(store=LocalStore(), layout=self.layout)
        self._attempts: Iterator[int] = iter(range(100))
        self._life = ""

    def restart(self) -> None:
        """Let the run be deleted, and created again."""
        self._attempts, self._life = iter(range(100)), "again"

    def run(self, name: str) -> ExecutionReport:
        return execute(self.begin(name), self.spark)

    def begin(self, name: str) -> TaskDeploymentDescriptor:
        region: RegionDescriptor = self.regions[name]
        number = next(self._attempts)
        task = TaskDeploymentDescriptor(
            version=VERSION,
            identity=RunIdentity.own(region.pipeline, "run"),
            region=region,
            attempt=ExecutionAttempt(execution_id=f"e{number:03}{self._life}", attempt_number=number),
            staging_root=str(self.root),
            parameters=(),
            logical_date="2013-01-01T00:00:00+00:00",
            clears_others=self.clears_others,
        )
        path = Path(self.layout.descriptor(region.region_id, task.attempt.execution_id))
        path.parent.mkdir(parents=True)
        path.write_text(task.to_json())
        return task

    def stale(self) -> tuple[str, ...]:
        results = [result for region in self.regions.values() for result in region.results]
        return stale_readers(self.log, {result.id: result.consumers for result in results})

    def named(self, prefix: str) -> str:
        """Return the one task whose name begins so."""
        (found,) = [name for name in self.regions if name.startswith(prefix)]
        return found

    def manifests(self, name: str) -> list[Path]:
        (result,) = self.regions[name].results
        return list(Path(self.layout.manifests(result.id)).glob("*.json"))

    def data(self, name: str) -> list[Path]:
        (result,) = self.regions[name].results
        return sorted(Path(self.layout.run, "data", result.id).glob("epoch-*"))


@pytest.fixture
def source(tmp_path: Path) -> Path:
    (tmp_path / "in.csv").write_text("k,v\na,1\na,2\nb,3\n")
    return tmp_path / "in.csv"


def chain(source: Path, folder: Path) -> StreamExecutionEnvironment:
    """in → first ║ second (beside it a sink, and a branch of first that only the sink needs) ║ out."""
    env = StreamExecutionEnvironment("p")
    first = env.from_source(Csv(str(source)), "in").with_columns(v="v * 10").name("first")
    first.filter("v > 10").name("large").sink_to(Parquet(f"{folder}/large")).name("large_out")
    second = first.stage("dear").filter("v < 30").name("second")
    second.sink_to(Parquet(f"{folder}/second")).name("second_out")
    second.stage("dear too").key_by("k").aggregate(n="count(*)", v="sum(v)").name("counts").sink_to(
        Parquet(f"{folder}/out")
    ).name("out")
    return env


def remove_data(epoch: Path) -> None:
    shutil.rmtree(epoch)


def cut_a_file_short(epoch: Path) -> None:
    file = next(epoch.glob("*.parquet"))
    file.write_bytes(file.read_bytes()[:-10])


@pytest.mark.parametrize("lose", [remove_data, cut_a_file_short])
def test_a_lost_result_is_recomputed_and_committed_as_the_next_epoch(
    lose: Lose, source: Path, tmp_path: Path, spark: SparkSession
) -> None:
    tasks = Tasks(chain(source, tmp_path), tmp_path, spark)
    first, second, out = tasks.regions
    tasks.run(first)
    tasks.run(second)
    before = sorted(path.name for path in (tmp_path / "second").glob("part-*"))
    lose(tasks.data(second)[0])
    report = tasks.run(out)
    assert report.failure is None, report.failure
    assert published(tmp_path / "out")[1] == [("a", 2, 30)]
    (again,) = report.recomputed
    assert (again.producer, again.epoch, again.rows) == (second, 1, 2)
    assert again.operators == ("second",)
    assert "is missing" in again.reason or "bytes, not" in again.reason
    assert [(read.epoch) for read in report.reads if read.result_id == again.result_id] == [1]
    assert before == sorted(path.name for path in (tmp_path / "second").glob("part-*"))


@pytest.mark.ci
def test_finished_readers_of_a_lost_copy_stay_if_the_new_one_is_equal(
    source: Path, tmp_path: Path, spark: SparkSession, capsys: pytest.CaptureFixture[str]
) -> None:
    tasks = Tasks(chain(source, tmp_path), tmp_path, spark)
    first, second, out = tasks.regions
    tasks.run(first)
    tasks.run(second)
    for name in (first, second):
        remove_data(tasks.data(name)[0])
    report = tasks.run(out)
    assert report.failure is None, report.failure
    assert [again.producer for again in report.recomputed] == [first, second]
    log = capsys.readouterr().out
    assert f"{second} need not run again: it has finished from the same rows" in log
    assert f"{first} need not run again: its reader computes again what is lost" in log
    assert published(tmp_path / "out")[1] == [("a", 2, 30)]
    assert not tasks.stale()


def other_rows(source: Path) -> None:
    source.write_text("k,v\na,1\na,2\nb,7\n")


@pytest.mark.ci
def test_a_new_copy_that_differs_from_what_others_finished_from_is_not_committed(
    source: Path, tmp_path: Path, spark: SparkSession
) -> None:
    tasks = Tasks(chain(source, tmp_path), tmp_path, spark)
    first, second, out = tasks.regions
    tasks.run(first)
    tasks.run(second)
    for name in (first, second):
        remove_data(tasks.data(name)[0])
    other_rows(source)
    report = tasks.run(out)
    assert report.failure is not None
    assert report.failure.throwable_type is ThrowableType.NON_RECOVERABLE_ERROR
    assert f"{second} already read an earlier copy" in report.failure.message
    assert "the recomputed one has different rows" in report.failure.message
    assert f"in Airflow's UI, clear {first} and {second} of run" in report.failure.message
    assert len(tasks.manifests(first)) == 1
    assert tasks.data(first) == [], "nothing is left of the new copy"


def test_rows_that_cannot_be_compared_count_as_different(source: Path, tmp_path: Path, spark: SparkSession) -> None:
    env = StreamExecutionEnvironment("p")
    rows = env.from_source(Csv(str(source)), "in")
    letters = rows.with_columns(k="k COLLATE UTF8_LCASE").name("letters").stage("dear")
    for name in ("one", "two"):
        letters.filter(f"'{name}' != k").name(name).sink_to(Parquet(f"{tmp_path}/{name}")).name(f"{name}_out")
    tasks = Tasks(env, tmp_path, spark)
    first, one, two = tasks.regions
    tasks.run(first)
    tasks.run(one)
    remove_data(tasks.data(first)[0])
    failure = tasks.run(two).failure
    assert failure is not None
    assert "the recomputed one may differ: it has no checksum" in failure.message


def test_readers_stay_where_the_operator_is_declared_deterministic(
    source: Path, tmp_path: Path, spark: SparkSession
) -> None:
    env = StreamExecutionEnvironment("p")
    rows = env.from_source(Csv(str(source)), "in")
    letters = rows.with_columns(k="k COLLATE UTF8_LCASE").name("letters").deterministic()
    for name in ("one", "two"):
        letters.stage("dear").filter(f"'{name}' != k").name(name).sink_to(Parquet(f"{tmp_path}/{name}")).name(
            f"{name}_out"
        )
    tasks = Tasks(env, tmp_path, spark)
    first, one, two = tasks.regions
    tasks.run(first)
    tasks.run(one)
    remove_data(tasks.data(first)[0])
    report = tasks.run(two)
    assert report.failure is None, report.failure
    assert not tasks.stale()


def diamond(source: Path, folder: Path) -> StreamExecutionEnvironment:
    """in → first ║ middle ║ both, and first ║ both; beside them first ║ other."""
    env = StreamExecutionEnvironment("p")
    first = env.from_source(Csv(str(source)), "in").with_columns(v="v * 10").name("first")
    first = first.stage("dear")
    middle = first.filter("v < 30").name("middle").stage("dear too")
    first.union_by_name(middle).sink_to(Parquet(f"{folder}/both")).name("both_out")
    first.filter("v > 10").name("other").sink_to(Parquet(f"{folder}/other")).name("other_out")
    return env


@pytest.mark.ci
def test_a_different_copy_is_committed_if_its_readers_can_be_cleared(
    source: Path, tmp_path: Path, spark: SparkSession
) -> None:
    tasks = Tasks(diamond(source, tmp_path), tmp_path, spark, clears_others=True)
    first, middle, both, other = (tasks.named(name) for name in ("first", "middle", "both", "other"))
    for name in (first, middle, both):
        assert tasks.run(name).failure is None
    remove_data(tasks.data(first)[0])
    other_rows(source)
    report = tasks.run(other)
    assert report.failure is None, report.failure
    assert sorted(published(tmp_path / "other")[1]) == [("a", 20), ("b", 70)]
    stale = tasks.stale()
    assert set(stale) == {middle, both}
    for name in stale:
        assert tasks.run(name).failure is None
    assert not tasks.stale()


@pytest.mark.ci
def test_a_task_waits_for_one_it_reads_from_that_must_run_again(
    source: Path, tmp_path: Path, spark: SparkSession
) -> None:
    tasks = Tasks(diamond(source, tmp_path), tmp_path, spark, clears_others=True)
    first, middle, both = (tasks.named(name) for name in ("first", "middle", "both"))
    tasks.run(first)
    tasks.run(middle)
    remove_data(tasks.data(first)[0])
    other_rows(source)
    failure = tasks.run(both).failure
    assert failure is not None
    assert failure.throwable_type is ThrowableType.PARTITION_DATA_MISSING_ERROR
    assert f"{middle} already read an earlier copy and must run again before" in failure.message
    (manifest, again) = sorted(tasks.manifests(first))
    assert (manifest.name, again.name) == ("0.json", "1.json")
    assert not (tmp_path / "both").exists()
    assert tasks.stale() == (middle,)
    tasks.run(middle)
    assert tasks.run(both).failure is None
    assert sorted(published(tmp_path / "both")[1]) == [("a", 10), ("a", 10), ("a", 20), ("a", 20), ("b", 70)]


@pytest.mark.ci
def test_two_tasks_that_compute_the_same_result_again_at_once_share_one_epoch(
    source: Path, tmp_path: Path, spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    env = StreamExecutionEnvironment("p")
    first = env.from_source(Csv(str(source)), "first").stage("dear")
    for name in ("one", "two"):
        first.with_columns(v=f"v + length('{name}')").name(name).sink_to(Parquet(f"{tmp_path}/{name}")).name(
            f"{name}_out"
        )
    tasks = Tasks(env, tmp_path, spark)
    tasks.run("first")
    remove_data(tasks.data("first")[0])
    both_have_begun = Barrier(2, timeout=120)
    check = RegionFailover._check_resources

    def wait_and_check(self: RegionFailover, *arguments: Any) -> None:
        both_have_begun.wait()
        check(self, *arguments)

    monkeypatch.setattr(RegionFailover, "_check_resources", wait_and_check)
    with ThreadPoolExecutor(2) as threads:
        reports = list(threads.map(tasks.run, ("one_out", "two_out")))
    assert [report.failure for report in reports] == [None, None]
    assert [report.recomputed[0].epoch for report in reports] == [1, 1]
    assert len(tasks.manifests("first")) == 2
    assert [path.name[:8] for path in tasks.data("first")] == ["epoch-1-"], "the loser's are gone"
    for name in ("one", "two"):
        assert sorted(published(tmp_path / name)[1]) == [("a", 4), ("a", 5), ("b", 6)]


@pytest.mark.ci
def test_a_recreated_run_recomputes_and_replaces_its_rows(source: Path, tmp_path: Path, spark: SparkSession) -> None:
    env = StreamExecutionEnvironment("p")
    rows = env.from_source(Csv(str(source)), "first").stage("dear").filter("v > 1").name("kept")
    rows.sink_to(Parquet(f"{tmp_path}/out"), mode="append").name("out")
    tasks = Tasks(env, tmp_path, spark)
    for name in ("first", "out"):
        assert tasks.run(name).failure is None
    other_rows(source)
    tasks.restart()  # the same run id; executions are new, and attempts begin at 0
    for name in ("first", "out"):
        report = tasks.run(name)
        assert report.failure is None
    assert [read.epoch for read in report.reads] == [1]
    assert sorted(published(tmp_path / "out")[1]) == [("a", 2), ("b", 7)], "replaced, not added to"
    history = executions(LocalStore(), tasks.layout, RegionId("out"))
    assert [one.attempt_number for one in history] == [1, 1]


def test_an_execution_that_hung_before_its_start_commits_nothing(
    source: Path, tmp_path: Path, spark: SparkSession
) -> None:
    tasks = Tasks(chain(source, tmp_path), tmp_path, spark)
    first, second, _ = tasks.regions
    tasks.run(first)
    hangs, supersedes = tasks.begin(second), tasks.begin(second)
    failure = execute(hangs, spark).failure
    assert failure is not None
    assert "a later attempt at 'second' has begun; execution e001 commits nothing" in failure.message
    assert failure.throwable_type is ThrowableType.RECOVERABLE_ERROR
    assert tasks.manifests(second) == []
    assert not (tmp_path / "second").exists()
    assert execute(supersedes, spark).failure is None


@pytest.mark.ci
def test_rows_of_an_input_recomputed_meanwhile_are_not_published(
    source: Path, tmp_path: Path, spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    tasks = Tasks(chain(source, tmp_path), tmp_path, spark)
    first, second, _ = tasks.regions
    tasks.run(first)
    check = RegionFailover.check_reads

    def meanwhile(self: RegionFailover) -> None:
        monkeypatch.undo()
        other_rows(source)
        tasks.run(first)
        check(self)

    monkeypatch.setattr(RegionFailover, "check_reads", meanwhile)
    failure = tasks.run(second).failure
    assert failure is not None
    assert "was recomputed while this execution ran (epoch 1; it had read 0)" in failure.message
    assert failure.throwable_type is ThrowableType.RECOVERABLE_ERROR
    assert not (tmp_path / "second").exists()
    assert tasks.run(second).failure is None


@pytest.mark.ci
def test_indirect_readers_of_a_recomputed_result_are_considered(
    source: Path, tmp_path: Path, spark: SparkSession
) -> None:
    """first ║ middle ║ last, and first ║ other: last computes middle again, from what first was; then first differs."""
    env = StreamExecutionEnvironment("p")
    first = env.from_source(Csv(str(source)), "first").stage("dear")
    middle = first.filter("v < 3").name("middle").stage("dear too")
    middle.filter("v > 0").name("last").sink_to(Parquet(f"{tmp_path}/last")).name("last_out")
    first.filter("v > 1").name("other").sink_to(Parquet(f"{tmp_path}/other")).name("other_out")
    tasks = Tasks(env, tmp_path, spark)
    for name in ("first", "middle"):
        tasks.run(name)
    remove_data(tasks.data("middle")[0])
    assert tasks.run("last_out").failure is None
    remove_data(tasks.data("first")[0])
    other_rows(source)
    failure = tasks.run("other_out").failure
    assert failure is not None
    assert "middle already read an earlier copy" in failure.message


def test_random_rows_are_not_adopted_from_another_execution(source: Path, tmp_path: Path, spark: SparkSession) -> None:
    env = StreamExecutionEnvironment("p")
    coins = env.from_source(Csv(str(source)), "in").transform(with_a_coin).name("coins")
    coins.sink_to(Parquet(f"{tmp_path}/coins")).name("coins_out")
    coins.stage("dear").filter("coin > 0.5").name("heads").sink_to(Parquet(f"{tmp_path}/heads")).name("heads_out")
    tasks = Tasks(env, tmp_path, spark)
    first, _ = tasks.regions
    stage = StagingArea.stage

    def after_another(self: StagingArea, result: ResultDescriptor, rows: DataFrame) -> Manifest:
        if result.consumers and not tasks.manifests(first):
            attempt = replace(self.attempt, execution_id="zombie")
            stage(replace(self, attempt=attempt), result, rows)
        return stage(self, result, rows)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(StagingArea, "stage", after_another)
        failure = tasks.run(first).failure
    assert failure is not None
    assert "committed by execution zombie, and what computes it is not deterministic" in failure.message
    assert not (tmp_path / "coins").exists()
    assert tasks.run(first).failure is None
    assert len(tasks.manifests(first)) == 2


def test_unread_random_rows_may_be_recomputed(source: Path, tmp_path: Path, spark: SparkSession) -> None:
    env = StreamExecutionEnvironment("p")
    coins = env.from_source(Csv(str(source)), "in").transform(with_a_coin).name("coins")
    coins.stage("dear").filter("coin >= 0").name("all").sink_to(Parquet(f"{tmp_path}/all")).name("all_out")
    tasks = Tasks(env, tmp_path, spark)
    first, second = tasks.regions
    tasks.run(first)
    remove_data(tasks.data(first)[0])
    report = tasks.run(second)
    assert report.failure is None, report.failure
    assert len(published(tmp_path / "all")[1]) == 3


@pytest.mark.ci
def test_a_producer_run_again_after_its_result_was_recomputed_commits_the_epoch_after(
    source: Path, tmp_path: Path, spark: SparkSession
) -> None:
    tasks = Tasks(chain(source, tmp_path), tmp_path, spark)
    first, second, out = tasks.regions
    tasks.run(first)
    remove_data(tasks.data(first)[0])
    tasks.run(second)
    assert tasks.run(first).failure is None
    assert tasks.run(second).failure is None
    report = tasks.run(out)
    assert report.recomputed == ()
    assert published(tmp_path / "out")[1] == [("a", 2, 30)]
    assert [path.name for path in sorted(tasks.manifests(first))] == ["0.json", "1.json", "2.json"]


def test_a_producer_with_other_secrets_is_named(source: Path, tmp_path: Path, spark: SparkSession) -> None:
    env = StreamExecutionEnvironment("p")
    options = {"comment": Secret("files", "password")}
    rows = env.from_source(Csv(str(source), options=options), "in").stage("dear")
    rows.filter("v > 1").name("kept").sink_to(Parquet(f"{tmp_path}/out")).name("out")
    tasks = Tasks(env, tmp_path, spark)
    first, second = tasks.regions
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(Secret("files", "password").variable, "#")
        assert tasks.run(first).failure is None
    remove_data(tasks.data(first)[0])
    failure = tasks.run(second).failure
    assert failure is not None
    assert "that task reads with" in failure.message
    assert "which this task does not get" in failure.message


@pytest.mark.ci
def test_a_chain_of_lost_results_is_recomputed(source: Path, tmp_path: Path, spark: SparkSession) -> None:
    env = StreamExecutionEnvironment("p")
    rows = env.from_source(Csv(str(source)), "in")
    for name in ("first", "second", "third"):
        rows = rows.with_columns(v="v * 10").name(name).stage("dear")
    rows.filter("v > 1000").name("kept").sink_to(Parquet(f"{tmp_path}/out")).name("out")
    tasks = Tasks(env, tmp_path, spark)
    *staged, out = tasks.regions
    for name in staged:
        tasks.run(name)
    for name in staged:
        remove_data(tasks.data(name)[0])
    report = tasks.run(out)
    assert report.failure is None, report.failure
    assert sorted(published(tmp_path / "out")[1]) == [("a", 2000), ("b", 3000)]
    assert [again.producer for again in report.recomputed] == staged, "the first of them first"


def test_recomputation_runs_part_of_a_region_without_sinks(source: Path, tmp_path: Path, spark: SparkSession) -> None:
    tasks = Tasks(chain(source, tmp_path), tmp_path, spark)
    first, second, _ = tasks.regions
    tasks.run(first)
    remove_data(tasks.data(first)[0])
    shutil.rmtree(tmp_path / "large")
    report = tasks.run(second)
    assert report.failure is None, report.failure
    (again,) = report.recomputed
    assert again.operators == ("in", "first")
    assert not (tmp_path / "large").exists()


def test_rows_that_could_differ_are_not_recomputed(source: Path, tmp_path: Path, spark: SparkSession) -> None:
    env = StreamExecutionEnvironment("p")
    coins = env.from_source(Csv(str(source)), "in").transform(with_a_coin).name("coins")
    coins.sink_to(Parquet(f"{tmp_path}/coins")).name("coins_out")
    coins.stage("dear").filter("coin > 0.5").name("heads").sink_to(Parquet(f"{tmp_path}/heads")).name("heads_out")
    tasks = Tasks(env, tmp_path, spark)
    first, second = tasks.regions
    tasks.run(first)
    for epoch in tasks.data(first):
        remove_data(epoch)
    failure = tasks.run(second).failure
    assert failure is not None
    assert failure.throwable_type is ThrowableType.PARTITION_DATA_MISSING_ERROR
    assert "its operators are not deterministic" in failure.message
    assert f"clear the task '{first}'" in failure.message


def test_a_producer_with_other_resources_is_named(source: Path, tmp_path: Path, spark: SparkSession) -> None:
    env = StreamExecutionEnvironment("p")
    big = SlotSharingGroup("big", driver_memory="4g")
    rows = env.from_source(Csv(str(source)), "in").slot_sharing_group(big)
    rows.filter("v > 1").name("kept").slot_sharing_group("default").sink_to(Parquet(f"{tmp_path}/out")).name("out")
    tasks = Tasks(env, tmp_path, spark)
    first, second = tasks.regions
    tasks.run(first)
    remove_data(tasks.data(first)[0])
    failure = tasks.run(second).failure
    assert failure is not None
    assert failure.throwable_type is ThrowableType.PARTITION_DATA_MISSING_ERROR
    assert "that task has different resources" in failure.message


def test_a_damaged_manifest_is_a_lost_result_and_never_read_again(
    source: Path, tmp_path: Path, spark: SparkSession
) -> None:
    tasks = Tasks(chain(source, tmp_path), tmp_path, spark)
    first, second = tasks.named("first"), tasks.named("second")
    assert tasks.run(first).failure is None
    (manifest,) = tasks.manifests(first)
    manifest.write_text(manifest.read_text()[:100])
    report = tasks.run(second)
    assert report.failure is None
    (again,) = report.recomputed
    assert again.epoch == 1
    assert "0.json is not valid JSON" in again.reason


@pytest.mark.ci
def test_readers_of_a_result_with_a_damaged_manifest_count_as_stale(
    source: Path, tmp_path: Path, spark: SparkSession
) -> None:
    tasks = Tasks(chain(source, tmp_path), tmp_path, spark, clears_others=True)
    first, second = tasks.named("first"), tasks.named("second")
    for name in (first, second):
        assert tasks.run(name).failure is None
    (manifest,) = tasks.manifests(first)
    manifest.unlink()
    manifest.mkdir()
    assert tasks.run(first).failure is None
    assert tasks.stale() == (second,)
