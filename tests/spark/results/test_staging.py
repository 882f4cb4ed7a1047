"""Commits: epochs, the winner of each, and what readers accept."""

from collections.abc import Iterator
from dataclasses import replace
from fnmatch import fnmatch
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from graph_compiler.deployment.documents.descriptor import ExecutionAttempt, ResultDescriptor, StagedInput
from graph_compiler.deployment.documents.run_identity import RunIdentity
from graph_compiler.deployment.documents.staging_layout import StagingLayout
from graph_compiler.errors import PartitionNotFoundError, StagingError, StaleResultError
from graph_compiler.identifiers import IntermediateDataSetId, RegionId
from graph_compiler.spark_runtime.results.staging_area import StagingArea
from graph_compiler.staging.results.manifest_log import ManifestLog
from graph_compiler.staging.store.local_store import LocalStore
from graph_compiler.staging.store.staging_store import StoredFile
from graph_compiler.tested_versions import minor_of

pytestmark = pytest.mark.spark

RESULT = ResultDescriptor(
    id=IntermediateDataSetId("cbc357cc-0"),
    node_id=1,
    output_tag=None,
    fingerprint="f",
    partitions=None,
    consumers=(),
    is_compared=False,
    deterministic=False,
)
STAGED = StagedInput(id=RESULT.id, fingerprint=RESULT.fingerprint, producer=RegionId("producer"), consumers=())


@pytest.fixture
def area(spark: SparkSession, tmp_path: Path) -> StagingArea:
    return StagingArea(
        spark=spark,
        log=ManifestLog(
            store=LocalStore(), layout=StagingLayout(root=str(tmp_path), identity=RunIdentity.own("p", "r"))
        ),
        attempt=ExecutionAttempt(execution_id="one", attempt_number=0),
        plan_id="plan",
        contracts=tuple,
    ).beginning(RESULT.id)


def other_execution(area: StagingArea, execution_id: str, plan_id: str = "plan") -> StagingArea:
    attempt = ExecutionAttempt(execution_id=execution_id, attempt_number=1)
    return replace(area, attempt=attempt, plan_id=plan_id).beginning(RESULT.id)


def test_a_staged_result_is_read_back_with_schema_and_rows(area: StagingArea) -> None:
    rows = area.spark.range(100).selectExpr("id", "id % 7 AS k", "cast(null AS decimal(9,2)) AS d")
    manifest = area.stage(RESULT, rows)
    assert (manifest.epoch, manifest.parent_epoch, manifest.rows) == (0, None, 100)
    back = area.read(area.find(STAGED))
    assert back.schema.simpleString() == rows.schema.simpleString()
    assert sorted(back.collect()) == sorted(rows.collect())


class HiddenFiles(LocalStore):
    """A store on a file system that does not list some data files yet."""

    def __init__(self, hidden: str) -> None:
        self.hidden = hidden

    def files(self, folder: str, *, most: int | None = None) -> Iterator[StoredFile]:
        listed = super().files(folder, most=most)
        return (file for file in listed if not fnmatch(file.key.rpartition("/")[2], self.hidden))


@pytest.mark.parametrize("hidden", ["*", "part-00001*"], ids=["all", "one"])
@pytest.mark.parametrize("is_compared", [True, False])
def test_nothing_is_committed_unless_all_written_files_are_listed(
    area: StagingArea, hidden: str, is_compared: bool
) -> None:
    log = ManifestLog(store=HiddenFiles(hidden), layout=area.layout)
    rows = area.spark.range(0, 10, 1, 2)
    with pytest.raises(StagingError, match=r"10 rows went to the writer, and the files .* hold [05];"):
        replace(area, log=log).stage(replace(RESULT, is_compared=is_compared), rows)
    assert area.log.latest(RESULT.id) is None


@pytest.mark.parametrize("root", ["{}/a b", "{}//deep", "{}/50%41", "{}/x[1]{{a}}"])
def test_a_staging_root_may_have_any_name(area: StagingArea, root: str) -> None:
    layout = replace(area.layout, root=root.format(area.layout.root))
    log = ManifestLog(store=LocalStore(), layout=layout)
    assert replace(area, log=log).stage(RESULT, area.spark.range(3)).rows == 3


def test_every_execution_commits_the_next_epoch_and_readers_take_the_latest(area: StagingArea) -> None:
    area.stage(RESULT, area.spark.range(1))
    second = other_execution(area, "two").stage(RESULT, area.spark.range(2))
    assert (second.epoch, second.parent_epoch) == (1, 0)
    assert area.read(area.find(STAGED)).count() == 2


def test_the_loser_of_an_epoch_adopts_an_equal_result(area: StagingArea) -> None:
    late = other_execution(area, "two")  # it began before the winner committed
    winner = area.stage(RESULT, area.spark.range(1))
    assert late.stage(RESULT, area.spark.range(1)) == winner
    assert not Path(area.layout.data(RESULT.id, epoch=0, execution_id="two")).exists()


def test_losing_an_epoch_to_another_plan_fails(area: StagingArea) -> None:
    late = other_execution(area, "two", "another")
    area.stage(RESULT, area.spark.range(1))
    with pytest.raises(StagingError, match="committed by execution one of another plan"):
        late.stage(RESULT, area.spark.range(1))


@pytest.mark.parametrize("damage", ["delete", "truncate"])
def test_damaged_data_is_never_read(area: StagingArea, damage: str) -> None:
    manifest = area.stage(RESULT, area.spark.range(10))
    file = Path(manifest.location, manifest.files[0].name)
    if damage == "delete":
        file.unlink()
    else:
        file.write_bytes(file.read_bytes()[:-1])
    with pytest.raises(PartitionNotFoundError, match="is missing" if damage == "delete" else "bytes, not"):
        area.read(area.find(STAGED))


def test_data_without_a_manifest_is_ignored(area: StagingArea) -> None:
    location = area.layout.data(RESULT.id, epoch=0, execution_id="died")
    area.spark.range(3).write.parquet(location)
    with pytest.raises(PartitionNotFoundError, match="no result cbc357cc-0 is committed"):
        area.read(area.find(STAGED))


def test_a_result_of_another_version_of_the_pipeline_is_refused(area: StagingArea) -> None:
    area.stage(RESULT, area.spark.range(3))
    with pytest.raises(StaleResultError, match="computed by another version of this pipeline"):
        area.read(area.find(replace(STAGED, fingerprint="another")))


def test_a_result_of_another_minor_of_spark_is_refused(area: StagingArea) -> None:
    manifest = area.stage(RESULT, area.spark.range(3))
    assert manifest.spark == area.spark.version
    minor = minor_of(area.spark.version)
    for number, (spark, is_read) in enumerate([(f"{minor}.99", True), (None, True), ("4.99.0", False)], start=1):
        area.log.commit(replace(manifest, epoch=number, spark=spark))
        if is_read:
            area.find(STAGED)
        else:
            with pytest.raises(StaleResultError, match=r"was computed by Spark 4\.99\.0, and this driver has"):
                area.find(STAGED)


def test_an_empty_result_keeps_its_schema(area: StagingArea) -> None:
    area.stage(RESULT, area.spark.range(0).selectExpr("id", "'x' AS s"))
    assert area.read(area.find(STAGED)).columns == ["id", "s"]
    assert area.read(area.find(STAGED)).count() == 0


def test_one_writer_wins_each_key(tmp_path: Path) -> None:
    store, key = LocalStore(), str(tmp_path / "deep" / "key")
    assert store.put_if_absent(key, b"first")
    assert not store.put_if_absent(key, b"second")
    assert store.get(key) == b"first"
    assert store.keys(str(tmp_path / "deep")) == [key]
    assert store.get(str(tmp_path / "other")) is None
