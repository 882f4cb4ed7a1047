"""Stage a result, and read it back (decision 10).

    write data  →  compare footers with what was written  →  put manifest, if this epoch has none (`ManifestLog`)

Readers see only what a committed manifest names, so an execution that dies earlier leaves only files that are never
read.
"""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StructType

from graph_compiler.declaration.parameters.parameter import ParameterValue
from graph_compiler.deployment.documents.descriptor import ExecutionAttempt, ResultDescriptor, StagedInput
from graph_compiler.deployment.documents.manifest import (
    VERSION,
    ContractCount,
    DataFile,
    Manifest,
    PreviousRead,
    StagedRead,
    other_values,
    rows_of,
)
from graph_compiler.deployment.documents.staging_layout import StagingLayout
from graph_compiler.errors import (
    DamagedDocumentError,
    GraphCompilerError,
    PartitionNotFoundError,
    StagingError,
    StaleResultError,
)
from graph_compiler.identifiers import IntermediateDataSetId, counted, listing
from graph_compiler.spark_runtime.columns.column_types import check_columns, check_names
from graph_compiler.spark_runtime.exchange.pointwise_read import read_pointwise
from graph_compiler.spark_runtime.failures.causes import Cause, read_cause
from graph_compiler.spark_runtime.results.data_files import write_result, written_partitions
from graph_compiler.spark_runtime.results.pinned_settings import WRITE_SESSION, pinned
from graph_compiler.spark_runtime.results.reading import read_staged_files
from graph_compiler.spark_runtime.results.row_checksum import ObservedChecksum
from graph_compiler.spark_runtime.spark_internals.exact_schemas import without_files
from graph_compiler.staging.results.manifest_log import DamagedResult, ManifestLog, find_damage, record_damage
from graph_compiler.staging.results.release import find_release
from graph_compiler.staging.store.staging_store import StagingStore, StoredFile
from graph_compiler.staging.store.stores import store_beside
from graph_compiler.tested_versions import minor_of


def _any(_: Manifest) -> None:
    """Allow every commit."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StagingArea:
    """The staged results of one run, as one execution sees them.

    `epochs` holds the next epoch of each result when the execution began. `contracts` returns the counts of data
    contracts, or raises if they forbid a commit; `check` may raise for a manifest that is about to be committed;
    `inputs` returns what has been read, `previous` the versions of targets that it was computed from.
    """

    spark: SparkSession
    log: ManifestLog
    attempt: ExecutionAttempt
    plan_id: str
    contracts: Callable[[], tuple[ContractCount, ...]]
    parameters: Mapping[str, ParameterValue] = field(default_factory=dict)
    epochs: Mapping[IntermediateDataSetId, int] = field(default_factory=dict)
    check: Callable[[Manifest], None] = _any
    inputs: Callable[[], tuple[StagedRead, ...]] = tuple
    previous: Callable[[], tuple[PreviousRead, ...]] = tuple
    read_manifests: dict[str, Manifest] = field(default_factory=dict)
    """Manifests that were read, by location; every copy of this area adds to it."""

    def beginning(self, *result_ids: IntermediateDataSetId) -> StagingArea:
        """Determine the next epoch of each of these results: an execution that starts now may commit only these."""
        return replace(self, epochs={id: self.log.next_epoch(id) for id in result_ids})

    @property
    def layout(self) -> StagingLayout:
        """Return the run's paths in the staging root."""
        return self.log.layout

    def stage(self, result: ResultDescriptor, rows: DataFrame) -> Manifest:
        """Write and commit a result; return the manifest, this execution's or an equal one that was first."""
        manifest = self._write(result, rows)
        try:
            self.check(manifest)
        except StagingError:
            self.drop(manifest)
            raise
        winner = self.log.commit(manifest)
        if winner != manifest:
            self.drop(manifest)  # no manifest names it, so it is never read
        return winner

    def _write(self, result: ResultDescriptor, rows: DataFrame) -> Manifest:
        check_names(rows.schema)
        check_columns(rows.schema, "parquet", ())
        epoch = self.epochs[result.id]
        location = self.layout.data(result.id, epoch=epoch, execution_id=self.attempt.execution_id)
        self.log.store.make_folder(location.rpartition("/")[0])
        observed = ObservedChecksum.of(rows) if result.is_compared else ObservedChecksum.none(rows)
        with pinned(self.spark, WRITE_SESSION):
            written_result = write_result(observed.rows, self.log.store, location)
        written = written_result.rows
        partitions = written_partitions(
            self.spark, self.log.store, location, written_result.files, partitions=result.partitions
        )
        if (found := rows_of(partitions)) != written:
            raise StagingError(
                f"{counted(written, 'row')} went to the writer, and the files listed in {location} hold {found}; "
                "nothing is committed\n"
                "  hint: the staging root's file system does not show all files that were written"
            )
        return Manifest(
            version=VERSION,
            result_id=result.id,
            epoch=epoch,
            parent_epoch=epoch - 1 if epoch else None,
            attempt=self.attempt,
            plan_id=self.plan_id,
            fingerprint=result.fingerprint,
            location=location,
            schema=rows.schema.json(),
            partitions=partitions,
            checksum=observed.value(written),
            contracts=self.contracts(),
            deterministic=result.deterministic,
            inputs=self.inputs(),
            previous=self.previous(),
            spark=self.spark.version,
            values=result.values.digests(self.parameters.items()),
        )

    def find(self, staged: StagedInput) -> Manifest:
        """Return the latest committed epoch.

        Raises PartitionNotFoundError if there is none, StaleResultError if a different version of the pipeline
        computed it, or if it was computed with other values.
        """
        result_id = staged.id
        try:
            manifest = self.log.latest_or_why_not(result_id)
        except DamagedDocumentError as error:
            raise PartitionNotFoundError(f"{error}; clear the task that staged it") from None
        if manifest is None:
            raise PartitionNotFoundError(
                f"no result {result_id} is committed in {self.layout.manifests(result_id)}\n"
                "  hint: clear the task that stages it"
            )
        if manifest.fingerprint != staged.fingerprint:
            raise StaleResultError(
                f"the staged result {result_id} was computed by another version of this pipeline "
                f"(plan {manifest.plan_id}, here {self.plan_id})\n"
                "  hint: clear the task that stages it, with its downstream tasks"
            )
        if manifest.spark is not None and minor_of(manifest.spark) != minor_of(self.spark.version):
            raise StaleResultError(
                f"the staged result {result_id} was computed by Spark {manifest.spark}, and this driver has "
                f"{self.spark.version}\n  hint: clear the task that stages it, with its downstream tasks"
            )
        self.check_values(result_id, manifest.values, staged.values.digests(self.parameters.items()))
        return manifest

    def check_values(
        self, result_id: IntermediateDataSetId, before: Iterable[tuple[str, str]], now: Iterable[tuple[str, str]]
    ) -> None:
        """Raise StaleResultError if a result was computed with other values than this execution's."""
        if others := other_values(before, now):
            raise StaleResultError(
                f"the staged result {result_id} was computed with another value of {listing(others)}\n"
                "  hint: clear the task that stages it, with its downstream tasks; or restore the value"
            )

    def read(self, manifest: Manifest, *, partitions: int | None = None) -> DataFrame:
        """Read an epoch in the number of partitions of a POINTWISE consumer; None leaves it to Spark.

        Raises PartitionNotFoundError if the files are not as they were committed, or were released.
        """
        key = (self.log.store, self.layout, manifest.result_id, manifest.epoch)
        gone = find_release(*key) or find_damage(*key)
        if gone is not None:
            raise PartitionNotFoundError(f"{gone.words()}; clear the task that staged it")
        _verify(store_beside(self.log.store, self.layout.root, manifest.location), manifest)
        self.read_manifests[manifest.location] = manifest
        schema = _schema(manifest)
        if partitions is not None:
            return without_files(read_pointwise(self.spark, manifest, schema, partitions))
        if not manifest.files:
            return without_files(self.spark.createDataFrame([], schema))
        return without_files(read_staged_files(self.spark, manifest, schema, manifest.files))

    def as_lost(self, error: BaseException) -> BaseException:
        """Return a failure as the loss of its input if that is damaged, and record this for the next attempt."""
        if not self.read_manifests or isinstance(error, GraphCompilerError):
            return error
        read, execution_id = self.read_manifests.values(), self.attempt.execution_id
        damaged = find_damaged_file(self.log.store, read_cause(error), read, execution_id)
        if damaged is None:
            return error
        record_damage(self.log.store, self.layout, damaged)
        return PartitionNotFoundError(f"{damaged.words()}\n  it now counts as lost: the next attempt recomputes it")

    def drop(self, manifest: Manifest) -> None:
        """Remove the data of an epoch that is no longer read; its manifest stays."""
        self.log.store.delete(manifest.location)


def _schema(manifest: Manifest) -> StructType:
    """Return the schema of a result; raises PartitionNotFoundError if Spark cannot parse the manifest's."""
    try:
        return StructType.fromJson(json.loads(manifest.schema))
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError) as error:
        raise PartitionNotFoundError(
            f"the schema of epoch {manifest.epoch} of {manifest.result_id} cannot be read ({error!r}); "
            "clear the task that staged it"
        ) from None


def _verify(store: StagingStore, manifest: Manifest) -> None:
    stored = {file.key: file for file in store.files(manifest.location)}
    for file in manifest.files:
        key, found = f"{manifest.location}/{file.name}", None
        there = stored.get(key)
        if there is None or there.bytes != file.bytes:
            found = "is missing" if there is None else f"has {there.bytes} bytes, not {file.bytes}"
        elif file.checksums is not None and (why := _why_differs(store, there, file.checksums)):
            found = f"cannot be trusted: {why}"
        if found is not None:
            raise PartitionNotFoundError(
                f"{key} {found} (epoch {manifest.epoch} of {manifest.result_id}); clear the task that staged it"
            )


def _why_differs(store: StagingStore, there: StoredFile, digest: str) -> str | None:
    """Return how a listed file differs from a digest, None if it does not."""
    if there.digest is None:
        return store.why_differs(there.key, digest)
    return None if there.digest == digest else f"its digest is {there.digest}, not {digest}"


# Determine whether a damaged staged file caused a failure.
#
#     ChecksumException, or a file that Parquet's reader cannot decode    damaged
#     any other failure while a staged file was read                      damaged if the file differs from its checksums
#
# A file that Spark could not read for another reason (a disk that did not respond) stays for the next attempt.

_NAME = re.compile(r"part-\d+-[\w-]+[\w.-]*?\.parquet\b")
_CHECKSUM = "org.apache.hadoop.fs.ChecksumException"
_UNREADABLE = re.compile(r"org\.apache\.parquet\.|is not a Parquet file|CANNOT_READ_FILE_FOOTER")


def find_damaged_file(
    store: StagingStore, cause: Cause, read: Iterable[Manifest], execution_id: str
) -> DamagedResult | None:
    """Return the damaged file that caused a failure, among those of the manifests that were read; None if none did."""
    names = {name for link in cause.chain for name in _NAME.findall(link)}
    for manifest in read if names else ():
        for file in manifest.files:
            if file.name in names and (reason := _why(store, cause, manifest, file)):
                return DamagedResult(
                    result_id=manifest.result_id,
                    epoch=manifest.epoch,
                    file=file.name,
                    reason=reason,
                    execution_id=execution_id,
                    time=time.time(),
                )
    return None


def _why(store: StagingStore, cause: Cause, manifest: Manifest, file: DataFile) -> str | None:
    key = f"{manifest.location}/{file.name}"
    for link in cause.chain:
        kind, _, message = link.partition(": ")
        if kind == _CHECKSUM and file.name in message:
            return f"its bytes do not match their checksums{_place(message)}"
    if not store.is_there(key):
        return "it is missing"
    if store.digest(key) is not None:
        return store.why_damaged(key)
    unreadable = next((link for link in cause.chain if _UNREADABLE.search(link)), None)
    return None if unreadable is None else unreadable.splitlines()[0][:200]


def _place(message: str) -> str:
    found = re.search(r" at (\d+) exp: ", message)
    return f", from byte {found[1]} on" if found else ""
