"""Staged results in a bucket, as a driver writes and reads them."""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING

import pytest

from graph_compiler.deployment.documents.descriptor import ExecutionAttempt, ResultDescriptor, StagedInput
from graph_compiler.deployment.documents.run_identity import RunIdentity
from graph_compiler.deployment.documents.staging_layout import StagingLayout
from graph_compiler.errors import PartitionNotFoundError
from graph_compiler.identifiers import IntermediateDataSetId, RegionId
from graph_compiler.object_stores.s3_store import ObjectStore
from graph_compiler.staging.results.manifest_log import ManifestLog
from graph_compiler.staging.store.staging_store import StagingStore
from tests.harness.object_stores import ObjectServer
from tests.object_stores.conftest import BUCKET

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from graph_compiler.spark_runtime.results.staging_area import StagingArea

pytestmark = pytest.mark.objects

RESULT = ResultDescriptor(
    id=IntermediateDataSetId("cbc357cc-0"),
    node_id=1,
    output_tag=None,
    fingerprint="f",
    partitions=3,
    consumers=(),
    is_compared=True,
    deterministic=False,
)
STAGED = StagedInput(id=RESULT.id, fingerprint=RESULT.fingerprint, producer=RegionId("producer"), consumers=())
ROWS = "SELECT id, concat('k', id % 5) AS k FROM range(0, 60, 1, 3)"


@pytest.fixture
def driver(spark: SparkSession) -> StagingStore:  # noqa: ARG001  # its JVM
    from graph_compiler.spark_runtime.stores.s3a_store import S3aStore

    return S3aStore(f"s3a://{BUCKET}/")


def area_of(spark: SparkSession, driver: StagingStore, root: str, execution: str = "e1") -> StagingArea:
    from graph_compiler.spark_runtime.results.staging_area import StagingArea

    layout = StagingLayout(root=root, identity=RunIdentity.own("p", "m__2013-01-01T00:00:00"))
    return StagingArea(
        spark=spark,
        log=ManifestLog(store=driver, layout=layout),
        attempt=ExecutionAttempt(execution_id=execution, attempt_number=0),
        plan_id="plan",
        contracts=tuple,
    ).beginning(RESULT.id)


def ids(area: StagingArea, partitions: int | None = None) -> list[int]:
    rows = area.read(area.find(STAGED), partitions=partitions)
    return sorted(row["id"] for row in rows.collect())


def test_each_file_is_written_once_under_its_final_name(
    spark: SparkSession, driver: StagingStore, server: ObjectServer, root: str
) -> None:
    area, before = area_of(spark, driver, root), len(server.requests())
    manifest = area.stage(RESULT, spark.sql(ROWS))
    lines = [line.split() for line in server.requests(since=before)]
    put = Counter(re.sub(r".*/", "", path) for method, path, *_ in lines if method == "PUT" and "/part-" in path)
    assert sorted(put) == sorted(file.name for file in manifest.files)
    assert set(put.values()) == {1}
    assert not [path for method, path, *_ in lines if method in ("POST", "DELETE")]
    assert sum(method == "PUT" for method, *_ in lines) == len(manifest.files) + 1  # the manifest
    assert len(lines) <= 2 + 7 * len(manifest.files)
    assert manifest.rows == 60
    assert [sum(file.rows for file in each.files) for each in manifest.partitions] == [20, 20, 20]
    assert manifest.checksum is not None
    assert ids(area) == list(range(60))
    assert ids(area, partitions=2) == list(range(60))


def test_a_file_that_no_committed_attempt_wrote_is_not_read(
    spark: SparkSession, driver: StagingStore, server: ObjectServer, root: str
) -> None:
    area = area_of(spark, driver, root)
    manifest = area.stage(RESULT, spark.sql(ROWS))
    first = manifest.files[0].name
    content = driver.get(f"{manifest.location}/{first}")
    assert content is not None
    stray = first.replace("part-00000", "part-00001").replace("-c000", "-c001")
    ObjectStore(BUCKET, server.access).put(f"{manifest.location}/{stray}", content)
    assert ids(area) == list(range(60))


@pytest.mark.parametrize("changed", ["other bytes", "cut", "gone"])
def test_a_file_that_is_not_as_it_was_committed_counts_as_lost(
    spark: SparkSession, driver: StagingStore, server: ObjectServer, root: str, changed: str
) -> None:
    area, store = area_of(spark, driver, root), ObjectStore(BUCKET, server.access)
    manifest = area.stage(RESULT, spark.sql(ROWS))
    key = f"{manifest.location}/{manifest.files[1].name}"
    content = store.get(key)
    assert content is not None
    if changed == "gone":
        assert store.delete(key)
    else:
        store.put(key, content[:-1] if changed == "cut" else content[:-1] + b"!")
    words = {"other bytes": "its digest is", "cut": "bytes, not", "gone": "is missing"}
    with pytest.raises(PartitionNotFoundError, match=words[changed]):
        ids(area)


def test_a_commit_whose_answer_is_lost_is_this_executions(
    spark: SparkSession, driver: StagingStore, server: ObjectServer, root: str
) -> None:
    area = area_of(spark, driver, root)
    server.breaks("PUT", "/manifests/", "lost")
    assert area.stage(RESULT, spark.sql(ROWS)).attempt.execution_id == "e1"
    assert ids(area) == list(range(60))


def test_of_two_executions_one_commits_and_the_others_files_are_removed(
    spark: SparkSession, driver: StagingStore, root: str
) -> None:
    first, second = (area_of(spark, driver, root, execution) for execution in ("e1", "e2"))
    committed = first.stage(RESULT, spark.sql(ROWS))
    assert second.stage(RESULT, spark.sql(ROWS)) == committed
    folder = committed.location.rpartition("/")[0]
    assert {file.key.split("/")[-2] for file in driver.files(folder)} == {"epoch-0-e1"}


def test_nothing_is_committed_if_a_written_file_is_not_listed(
    spark: SparkSession, driver: StagingStore, root: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    from graph_compiler.errors import StagingError

    area = area_of(spark, driver, root)
    listed = type(driver).files
    monkeypatch.setattr(type(driver), "files", lambda *given, **named: list(listed(*given, **named))[1:])
    with pytest.raises(StagingError, match="which Spark has written, is not listed"):
        area.stage(RESULT, spark.sql(ROWS))
    monkeypatch.undo()
    assert driver.keys(area.layout.manifests(RESULT.id)) == []


def test_a_failing_row_is_reported_as_on_a_disk(spark: SparkSession, driver: StagingStore, root: str) -> None:
    from pyspark.errors import PySparkException

    area = area_of(spark, driver, root)
    rows = spark.sql("SELECT IF(id = 7, raise_error('no seven'), id) AS id FROM range(0, 60, 1, 3)")
    with pytest.raises(PySparkException, match="no seven"):
        area.stage(RESULT, rows)
