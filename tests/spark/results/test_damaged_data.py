"""Changed bytes of staged files: no reader accepts them, and a task that needs them recomputes the result."""

import json
import zlib
from collections.abc import Callable
from pathlib import Path

import pytest
from pyspark.sql import Row, SparkSession

from graph_compiler import Csv, Parquet, StreamExecutionEnvironment
from graph_compiler.deployment.documents.descriptor import ExecutionAttempt, ResultDescriptor, StagedInput
from graph_compiler.deployment.documents.manifest import DataFile, Manifest
from graph_compiler.deployment.documents.report import ThrowableType
from graph_compiler.deployment.documents.run_identity import RunIdentity
from graph_compiler.deployment.documents.staging_layout import StagingLayout
from graph_compiler.identifiers import IntermediateDataSetId, RegionId
from graph_compiler.spark_runtime.failures.causes import Cause
from graph_compiler.spark_runtime.results.staging_area import StagingArea, find_damaged_file
from graph_compiler.staging.results.manifest_log import ManifestLog, find_damage
from graph_compiler.staging.store.hadoop_checksums import checksum_file, why_damaged
from graph_compiler.staging.store.local_store import LocalStore
from tests.harness.reference import published
from tests.spark.region.test_region_failover import Tasks

pytestmark = [pytest.mark.spark, pytest.mark.ci]

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
# A dictionary, plain numbers, strings, a nested column, NULLs; statistics that a pushed filter looks at.
ROWS = """
    SELECT id, id * 1.5D AS d, concat('k', id % 5) AS k, repeat(sha(string(id)), 2) AS s,
        IF(id % 3 = 0, NULL, array(id)) AS a
    FROM range(0, 60, 1, 1)
"""
STEP = 97


def area_of(spark: SparkSession, root: Path) -> StagingArea:
    return StagingArea(
        spark=spark,
        log=ManifestLog(store=LocalStore(), layout=StagingLayout(root=str(root), identity=RunIdentity.own("p", "r"))),
        attempt=ExecutionAttempt(execution_id="one", attempt_number=0),
        plan_id="plan",
        contracts=tuple,
    ).beginning(RESULT.id)


def flip(file: Path, at: int) -> None:
    content = bytearray(file.read_bytes())
    content[at] ^= 1 << at % 8
    file.write_bytes(content)


def intact(_: Path) -> None:
    """Leave Hadoop's checksums where they are."""


def removed(file: Path) -> None:
    """Remove Hadoop's checksums, as a copy without hidden files does."""
    checksum_file(file).unlink(missing_ok=True)


def written_anew(file: Path) -> None:
    """Write Hadoop's checksums for the changed bytes, as a copy by another program does."""
    content, size = file.read_bytes(), 512
    pieces = (content[at : at + size] for at in range(0, len(content), size))
    sums = b"".join(zlib.crc32(piece).to_bytes(4, "big") for piece in pieces)
    checksum_file(file).write_bytes(b"crc\0" + size.to_bytes(4, "big") + sums)
    assert why_damaged(file) is None


def how_it_is_read(area: StagingArea, wanted: list[list[Row]]) -> str:
    """Return whether the rows are unchanged, different, or refused; once in full, once with a pushed filter."""
    try:
        rows = area.read(area.find(STAGED))
        found = [rows.collect(), rows.where("id >= 40 AND k = 'k1'").collect()]
    except Exception:
        return "refused"
    return "the same" if found == wanted else "others"


@pytest.mark.parametrize("checksums", [intact, removed, written_anew])
def test_no_changed_byte_of_a_staged_file_goes_unnoticed(
    checksums: Callable[[Path], None], spark: SparkSession, tmp_path: Path
) -> None:
    area = area_of(spark, tmp_path)
    rows = spark.sql(ROWS)
    wanted = [rows.collect(), rows.where("id >= 40 AND k = 'k1'").collect()]
    manifest = area.stage(RESULT, rows)
    assert how_it_is_read(area, wanted) == "the same"
    file = Path(manifest.location, manifest.files[0].name)
    content = file.read_bytes()
    places = range(0, len(content), STEP)
    found = {}
    for at in places:
        file.write_bytes(content)
        flip(file, at)
        checksums(file)
        found[at] = how_it_is_read(area, wanted)
    assert len(places) > 40
    assert [at for at, how in found.items() if how == "others"] == []
    # Bytes that no reader needs (a page's checksum, padding) may change while the rows are as they were.
    assert sum(how == "refused" for how in found.values()) >= len(places) * 0.9


class Staged:
    """`first` staged for `second`, which writes a sink."""

    def __init__(self, folder: Path, spark: SparkSession) -> None:
        (folder / "in.csv").write_text("k,v\n" + "".join(f"a{n},{n}\n" for n in range(2000)))
        env = StreamExecutionEnvironment("p")
        rows = env.from_source(Csv(str(folder / "in.csv")), "in").with_columns(v="v * 10")
        rows.name("first").stage("dear").filter("v >= 0").name("second").sink_to(Parquet(f"{folder}/out")).name("out")
        self.tasks = Tasks(env, folder, spark)
        self.first, self.second = self.tasks.regions
        assert self.tasks.run(self.first).failure is None
        (self.result,) = self.tasks.regions[self.first].results

    @property
    def manifest(self) -> Manifest:
        found = self.tasks.log.latest(self.result.id)
        assert found is not None
        return found

    @property
    def file(self) -> Path:
        return Path(self.manifest.location, self.manifest.files[0].name)

    def reasons(self) -> list[str]:
        """Return which epochs are recorded as damaged, and why."""
        records = (
            find_damage(self.tasks.log.store, self.tasks.layout, self.result.id, epoch)
            for epoch in range(self.manifest.epoch + 1)
        )
        return [record.reason for record in records if record is not None]


def test_data_that_spark_finds_damaged_is_lost_for_the_next_attempt(spark: SparkSession, tmp_path: Path) -> None:
    staged = Staged(tmp_path, spark)
    flip(staged.file, 600)
    failure = staged.tasks.run(staged.second).failure
    assert failure is not None
    assert failure.throwable_type is ThrowableType.PARTITION_DATA_MISSING_ERROR
    assert "the next attempt recomputes it" in failure.message
    assert staged.reasons() == ["its bytes do not match their checksums, from byte 512 on"]
    assert not (tmp_path / "out").exists()
    report = staged.tasks.run(staged.second)
    assert report.failure is None, report.failure
    (again,) = report.recomputed
    assert (again.epoch, again.rows) == (1, 2000)
    assert "was found damaged by execution" in again.reason
    assert sum(int(str(row[1])) for row in published(tmp_path / "out")[1]) == 19_990_000


def test_changed_checksums_are_seen_before_spark_reads_and_computed_again_at_once(
    spark: SparkSession, tmp_path: Path
) -> None:
    staged = Staged(tmp_path, spark)
    removed(staged.file)
    report = staged.tasks.run(staged.second)
    assert report.failure is None, report.failure
    assert [again.epoch for again in report.recomputed] == [1]


def test_failures_elsewhere_record_no_damage(spark: SparkSession, tmp_path: Path) -> None:
    staged = Staged(tmp_path, spark)
    words = f"java.io.IOException: Input/output error while reading {staged.file}"
    cause = Cause(
        kind="IOException", message=words, condition="FAILED_READ_FILE.NO_HINT", sql_state="KD001",
        parameters={}, contexts=(), chain=(words,), frames=(),
    )  # fmt: skip
    assert find_damaged_file(LocalStore(), cause, [staged.manifest], "e") is None
    flip(staged.file, 600)
    found = find_damaged_file(LocalStore(), cause, [staged.manifest], "e")
    assert found is not None
    assert found.reason == "its bytes from 512 on were changed"


def as_version_2(staged: Staged) -> None:
    """Write the manifest as the version before this one did."""
    path = Path(staged.tasks.layout.manifest(staged.result.id, 0))
    document = json.loads(path.read_text())
    document["version"] = 2
    for partition in document["partitions"]:
        for file in partition["files"]:
            del file["checksums"]
    path.write_text(json.dumps(document))


def test_results_of_the_previous_version_are_read_after_an_upgrade(spark: SparkSession, tmp_path: Path) -> None:
    staged = Staged(tmp_path, spark)
    as_version_2(staged)
    assert staged.manifest.files[0] == DataFile(name=staged.file.name, rows=2000, bytes=staged.file.stat().st_size)
    report = staged.tasks.run(staged.second)
    assert report.failure is None, report.failure
    assert report.recomputed == ()


@pytest.mark.parametrize(("checksums", "at"), [(intact, 600), (removed, -2)])
def test_unreadable_results_of_the_previous_version_are_recomputed(
    checksums: Callable[[Path], None], at: int, spark: SparkSession, tmp_path: Path
) -> None:
    staged = Staged(tmp_path, spark)
    as_version_2(staged)
    flip(staged.file, at % staged.file.stat().st_size)
    checksums(staged.file)
    assert staged.tasks.run(staged.second).failure is not None
    assert len(staged.reasons()) == 1
    report = staged.tasks.run(staged.second)
    assert report.failure is None, report.failure
    assert [again.epoch for again in report.recomputed] == [1]
