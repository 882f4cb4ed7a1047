"""Staged results in HDFS, as a driver writes and reads them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from graph_compiler.deployment.documents.descriptor import ExecutionAttempt, ResultDescriptor, StagedInput
from graph_compiler.deployment.documents.run_identity import RunIdentity
from graph_compiler.deployment.documents.staging_layout import StagingLayout
from graph_compiler.errors import PartitionNotFoundError
from graph_compiler.identifiers import IntermediateDataSetId, RegionId
from graph_compiler.staging.results.manifest_log import ManifestLog
from graph_compiler.staging.store.hdfs_store import HdfsStore
from graph_compiler.staging.store.staging_store import StagingStore
from graph_compiler.webhdfs.webhdfs_access import HdfsAccess
from graph_compiler.webhdfs.webhdfs_client import WebHdfsClient
from tests.harness.broken_wire import Wire

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from graph_compiler.spark_runtime.results.staging_area import StagingArea

pytestmark = pytest.mark.hdfs

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
def driver(spark: SparkSession, place: str) -> StagingStore:  # noqa: ARG001  # its JVM
    from graph_compiler.spark_runtime.stores.hdfs_client import JvmClient

    return HdfsStore(JvmClient(f"{place}/"))


@pytest.fixture
def airflow(place: str, access: HdfsAccess) -> StagingStore:
    return HdfsStore(WebHdfsClient(place.removeprefix("hdfs://"), access))


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


def test_files_have_hdfs_checksums_and_no_files_beside_them(
    spark: SparkSession, driver: StagingStore, airflow: StagingStore, root: str
) -> None:
    area = area_of(spark, driver, root)
    manifest = area.stage(RESULT, spark.sql(ROWS))
    assert manifest.rows == 60
    assert [sum(file.rows for file in each.files) for each in manifest.partitions] == [20, 20, 20]
    for file in manifest.files:
        assert file.checksums is not None
        assert airflow.why_differs(f"{manifest.location}/{file.name}", file.checksums) is None
    names = {file.key.rpartition("/")[2] for file in driver.files(manifest.location)}
    assert names - {"_SUCCESS"} == {file.name for file in manifest.files}
    assert ids(area) == list(range(60))
    assert ids(area, partitions=2) == list(range(60))


@pytest.mark.parametrize("changed", ["other bytes", "cut", "gone"])
def test_a_file_that_is_not_as_it_was_committed_counts_as_lost(
    spark: SparkSession, driver: StagingStore, airflow: StagingStore, root: str, changed: str
) -> None:
    area = area_of(spark, driver, root)
    manifest = area.stage(RESULT, spark.sql(ROWS))
    key = f"{manifest.location}/{manifest.files[1].name}"
    content = airflow.get(key)
    assert content is not None
    if changed == "gone":
        assert airflow.delete(key)
    else:
        airflow.put(key, content[:-1] if changed == "cut" else content[:-1] + b"!")
    words = {"other bytes": "its digest is|its checksum is", "cut": "bytes, not", "gone": "is missing"}
    with pytest.raises(PartitionNotFoundError, match=words[changed]):
        ids(area)


def test_a_commit_whose_answer_is_lost_is_this_executions(
    spark: SparkSession, driver: StagingStore, rpc: Wire, root: str
) -> None:
    area, cuts = area_of(spark, driver, root), rpc.cuts
    rpc.breaks(behind=b"rename2")  # Spark's committer calls another one
    assert area.stage(RESULT, spark.sql(ROWS)).attempt.execution_id == "e1"
    rpc.breaks(times=0)
    assert rpc.cuts == cuts + 1
    assert ids(area) == list(range(60))


def test_of_two_executions_one_commits_and_the_others_files_are_removed(
    spark: SparkSession, driver: StagingStore, root: str
) -> None:
    first, second = (area_of(spark, driver, root, execution) for execution in ("e1", "e2"))
    committed = first.stage(RESULT, spark.sql(ROWS))
    assert second.stage(RESULT, spark.sql(ROWS)) == committed
    folder = committed.location.rpartition("/")[0]
    assert {file.key.split("/")[-2] for file in driver.files(folder)} == {"epoch-0-e1"}


def test_a_failing_row_is_reported_as_on_a_disk(spark: SparkSession, driver: StagingStore, root: str) -> None:
    from pyspark.errors import PySparkException

    area = area_of(spark, driver, root)
    rows = spark.sql("SELECT IF(id = 7, raise_error('no seven'), id) AS id FROM range(0, 60, 1, 3)")
    with pytest.raises(PySparkException, match="no seven"):
        area.stage(RESULT, rows)
