"""What is removed from a bucket, and computed again: released and lost results, old runs, rows of dead executions."""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from graph_compiler import Csv, Parquet, StreamExecutionEnvironment
from graph_compiler.compiler.pipeline_compiler import compile_pipeline
from graph_compiler.declaration.operators import RuntimeSettings, Sink
from graph_compiler.declaration.retention import StagingRelease
from graph_compiler.deployment.describe.region_descriptors import describe_regions
from graph_compiler.deployment.documents.descriptor import (
    VERSION,
    ExecutionAttempt,
    OperatorDescriptor,
    TaskDeploymentDescriptor,
)
from graph_compiler.deployment.documents.report import ExecutionReport
from graph_compiler.deployment.documents.run_identity import RunIdentity
from graph_compiler.deployment.documents.staging_layout import StagingLayout
from graph_compiler.identifiers import OperatorId, RegionId
from graph_compiler.object_stores.s3_store import ObjectStore
from graph_compiler.staging.attempts.run_marker import RunMarker, mark_run
from graph_compiler.staging.gc.collection import Policy, collect
from graph_compiler.staging.gc.liveness import AirflowRunState
from graph_compiler.staging.gc.removal import remove
from graph_compiler.staging.gc.survey import survey
from graph_compiler.staging.store import stores
from graph_compiler.staging.store.deferred_files import DeferringStore
from tests.conftest import with_options
from tests.harness.object_stores import ObjectServer
from tests.object_stores.conftest import BUCKET

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from graph_compiler.spark_runtime.region.coordination import SinkCommitter

pytestmark = pytest.mark.objects
DAY = 86_400.0
IDENTITY = RunIdentity.own("p", "run")
Run = Callable[[str], ExecutionReport]


@pytest.fixture
def store(spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> DeferringStore:  # noqa: ARG001  # its JVM
    """Return the driver's store of the bucket."""
    from graph_compiler.spark_runtime.stores.s3a_store import S3aStore

    found = S3aStore(f"s3a://{BUCKET}/")
    monkeypatch.setattr(stores, "_OPENING", {None: lambda _: lambda _: found})
    return found


@pytest.fixture
def airflow(server: ObjectServer) -> ObjectStore:
    """Return the store as Airflow's side reaches it, where `staging gc` runs."""
    return ObjectStore(BUCKET, server.access)


@pytest.fixture
def run(store: DeferringStore, spark: SparkSession, root: str, tmp_path: Path) -> Run:
    """Return a function that runs a task of: first ║ out; the last reader of a result releases it."""
    from graph_compiler.spark_runtime.main import execute

    (tmp_path / "in.csv").write_text("k,v\na,1\na,2\nb,3\n")
    env = StreamExecutionEnvironment("p")
    rows = env.from_source(Csv(f"{tmp_path}/in.csv"), "in").with_columns(v="v * 10").name("first")
    rows.stage("dear").filter("v > 10").name("kept").sink_to(Parquet(f"{root}/out")).name("out")
    pipeline = with_options(env.pipeline(), shuffle_mode="AUTO", release=StagingRelease.LAST_CONSUMER)
    regions = {str(one.region_id): one for one in describe_regions(compile_pipeline(pipeline))}
    numbers = itertools.count()

    def run_task(name: str) -> ExecutionReport:
        number = next(numbers)
        task = TaskDeploymentDescriptor(
            version=VERSION,
            identity=IDENTITY,
            region=regions[name],
            attempt=ExecutionAttempt(execution_id=f"e{number}", attempt_number=number),
            staging_root=f"{root}/staging",
            parameters=(),
        )
        mark_run(store, RunMarker.of(task, host="host", time=time.time()))
        key = task.layout.descriptor(task.region.region_id, task.attempt.execution_id)
        store.put(key, task.to_json().encode())
        report = execute(task, spark)
        assert report.failure is None, report.failure
        return report

    return run_task


def published(spark: SparkSession, root: str) -> list[tuple[object, ...]]:
    return sorted(tuple(row) for row in spark.read.parquet(f"{root}/out").collect())


def names(airflow: ObjectStore, place: str) -> list[str]:
    return sorted(file.key.removeprefix(f"{place}/") for file in airflow.files(place))


def staged(airflow: ObjectStore, root: str) -> list[str]:
    layout = StagingLayout(root=f"{root}/staging", identity=IDENTITY)
    return names(airflow, layout.results)


def collect_garbage(airflow: ObjectStore, root: str, days: float) -> None:
    policy = Policy(now=time.time() + days * DAY, airflow={IDENTITY: AirflowRunState.SUCCESS})
    found = collect(survey(airflow, f"{root}/staging"), policy)
    assert list(remove(airflow, found, f"{root}/staging")) == list(found.removals)


def test_a_released_result_is_removed_and_recomputed_after_a_clear(
    run: Run, airflow: ObjectStore, spark: SparkSession, root: str
) -> None:
    run("first")
    assert staged(airflow, root)
    run("out")
    assert staged(airflow, root) == []
    again = run("out")
    assert [(one.producer, one.epoch) for one in again.recomputed] == [("first", 1)]
    assert staged(airflow, root) == []
    assert published(spark, root) == [("a", 20), ("b", 30)]


def test_a_result_with_a_lost_file_is_recomputed_by_its_reader(
    run: Run, airflow: ObjectStore, spark: SparkSession, root: str
) -> None:
    run("first")
    layout = StagingLayout(root=f"{root}/staging", identity=IDENTITY)
    assert airflow.delete(f"{layout.results}/{staged(airflow, root)[0]}")
    (again,) = run("out").recomputed
    assert (again.producer, again.epoch) == ("first", 1)
    assert "is missing" in again.reason
    assert published(spark, root) == [("a", 20), ("b", 30)]


def test_an_old_run_is_removed_and_what_it_published_stays(
    run: Run, airflow: ObjectStore, spark: SparkSession, root: str
) -> None:
    run("first")
    run("out")
    layout = StagingLayout(root=f"{root}/staging", identity=IDENTITY)
    collect_garbage(airflow, root, days=1)
    assert names(airflow, layout.run)
    collect_garbage(airflow, root, days=30)
    assert names(airflow, layout.run) == []
    assert published(spark, root) == [("a", 20), ("b", 30)]
    run("first")  # the run is cleared after all
    run("out")
    assert published(spark, root) == [("a", 20), ("b", 30)]


def prepared(spark: SparkSession, store: DeferringStore, root: str, execution: str) -> SinkCommitter:
    """Prepare rows, as an execution that is killed right after it."""
    from graph_compiler.spark_runtime.connectors import SinkContext, open_sink
    from graph_compiler.spark_runtime.region.coordination import SinkCommitter

    layout = StagingLayout(root=f"{root}/staging", identity=IDENTITY)
    marker = RunMarker(version=2, root=layout.root, identity=IDENTITY, host="host", time=0.0, plan_id="plan", ttl=DAY)
    mark_run(store, marker)
    operator = OperatorDescriptor(
        node_id=1,
        operator_id=OperatorId("ab" * 16),
        name="out",
        operator=Sink(connector=Parquet(f"{root}/out")),
        settings=RuntimeSettings(),
        inputs=(),
        declared_at=None,
    )
    context = SinkContext(
        spark=spark, store=store, layout=layout, plan_id="plan", region_id=RegionId("out"), execution_id=execution
    )
    committer = SinkCommitter(operator, context, open_sink)
    committer.start()
    committer.prepare(committer.check(spark.range(3)))
    return committer


def test_rows_that_a_dead_execution_has_prepared_are_removed(
    spark: SparkSession, store: DeferringStore, airflow: ObjectStore, root: str
) -> None:
    prepared(spark, store, root, "e1").commit()
    there = names(airflow, f"{root}/out")
    prepared(spark, store, root, "e2")
    # What S3A has left of an executor that was killed.
    airflow.put(f"{root}/out/__magic_job-e2/__base/part-9.pending", b"{}")
    assert ".graph_compiler/e2/files.json" in names(airflow, f"{root}/out")
    collect_garbage(airflow, root, days=0.5)
    assert names(airflow, f"{root}/out") == there


def test_rows_of_a_decided_publication_are_kept_and_published_by_the_next_execution(
    spark: SparkSession, store: DeferringStore, airflow: ObjectStore, server: ObjectServer, root: str
) -> None:
    from graph_compiler.errors import PublicationPendingError

    committer = prepared(spark, store, root, "e1")
    server.breaks("POST", "uploadId", "busy", times=99)
    with pytest.raises(PublicationPendingError):
        committer.commit()
    server.breaks("POST", "uploadId", "busy", times=0)
    for days in (0.5, 30):
        collect_garbage(airflow, root, days=days)
        assert ".graph_compiler/e1/files.json" in names(airflow, f"{root}/out")
    prepared(spark, store, root, "e2")
    assert sorted(row["id"] for row in spark.read.parquet(f"{root}/out").collect()) == [0, 1, 2]
