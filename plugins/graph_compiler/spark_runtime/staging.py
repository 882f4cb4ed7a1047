"""Stage a result, and read one back (DESIGN D10).

    write data  →  read footers  →  put manifest, if no other execution has put this epoch's

Readers see what a committed manifest names and nothing else, so an execution that dies on the way leaves no trace
but files no one reads.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StructType

from graph_compiler.deployment.commit_store import CommitStore
from graph_compiler.deployment.descriptor import ExecutionAttempt, ResultDescriptor, StagedInput
from graph_compiler.deployment.manifest import ContractCount, Manifest
from graph_compiler.deployment.private_folders import make_private_folder
from graph_compiler.deployment.staging_layout import StagingLayout
from graph_compiler.deployment.wire import from_json, to_json
from graph_compiler.errors import PartitionNotFoundError, StagingError, StaleResultError
from graph_compiler.identifiers import IntermediateDataSetId
from graph_compiler.spark_runtime.column_types import check_columns, check_names
from graph_compiler.spark_runtime.data_files import written_partitions
from graph_compiler.spark_runtime.pointwise_read import read_pointwise
from graph_compiler.spark_runtime.schemas import with_schema

MANIFEST_VERSION = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class StagingArea:
    """The staged results of one run, as one execution sees them.

    `contracts` gives what data contracts have counted, or raises where that forbids a commit.
    """

    spark: SparkSession
    store: CommitStore
    layout: StagingLayout
    attempt: ExecutionAttempt
    plan_id: str
    contracts: Callable[[], tuple[ContractCount, ...]]

    def stage(self, result: ResultDescriptor, rows: DataFrame) -> Manifest:
        """Write and commit a result; gives the manifest that holds, this execution's or an equal winner's."""
        check_names(rows.schema)
        check_columns(rows.schema, "parquet", ())
        latest = self.latest_manifest(result.id)
        epoch = 0 if latest is None else latest.epoch + 1
        location = self.layout.data(result.id, epoch=epoch, execution_id=self.attempt.execution_id)
        make_private_folder(Path(location).parent)
        rows.write.option("maxRecordsPerFile", 0).parquet(location)  # a partition is one file
        manifest = Manifest(
            version=MANIFEST_VERSION,
            result_id=result.id,
            epoch=epoch,
            parent_epoch=None if latest is None else latest.epoch,
            attempt=self.attempt,
            plan_id=self.plan_id,
            fingerprint=result.fingerprint,
            location=location,
            schema=rows.schema.json(),
            partitions=written_partitions(self.spark, location, partitions=result.partitions),
            contracts=self.contracts(),
        )
        return self._commit(manifest)

    def find(self, staged: StagedInput) -> Manifest:
        """Give the latest committed epoch.

        Raises PartitionNotFoundError where there is none, StaleResultError where it was computed by another version of
        the pipeline than the one that reads it.
        """
        result_id = staged.id
        manifest = self.latest_manifest(result_id)
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
        return manifest

    def read(self, manifest: Manifest, *, partitions: int | None = None) -> DataFrame:
        """Read an epoch, in as many partitions as a POINTWISE consumer has; None leaves it to Spark.

        Raises PartitionNotFoundError where files are not as committed.
        """
        _verify(manifest)
        schema = StructType.fromJson(json.loads(manifest.schema))
        if partitions is not None:
            return read_pointwise(self.spark, manifest, schema, partitions)
        paths = [f"{manifest.location}/{file.name}" for file in manifest.files]
        return (
            with_schema(self.spark.read.schema(schema).parquet(*paths), schema)
            if paths
            else self.spark.createDataFrame([], schema)
        )

    def drop(self, manifest: Manifest) -> None:
        """Remove the data of an epoch nobody reads any more; its manifest stays."""
        shutil.rmtree(manifest.location, ignore_errors=True)

    def latest_manifest(self, result_id: IntermediateDataSetId) -> Manifest | None:
        """Give the manifest of the highest committed epoch."""
        epochs = [int(Path(key).stem) for key in self.store.keys(self.layout.manifests(result_id))]
        return self._manifest(result_id, max(epochs)) if epochs else None

    def _commit(self, manifest: Manifest) -> Manifest:
        key = self.layout.manifest(manifest.result_id, manifest.epoch)
        if self.store.put_if_absent(key, to_json(manifest).encode()):
            return manifest
        winner = self._manifest(manifest.result_id, manifest.epoch)
        if (winner.fingerprint, winner.plan_id) != (manifest.fingerprint, manifest.plan_id):
            raise StagingError(
                f"epoch {manifest.epoch} of {manifest.result_id} was committed by execution "
                f"{winner.attempt.execution_id} of another plan ({winner.plan_id}, here {manifest.plan_id})"
            )
        self.drop(manifest)  # not named by any manifest: nobody reads it
        return winner

    def _manifest(self, result_id: IntermediateDataSetId, epoch: int) -> Manifest:
        content = self.store.get(self.layout.manifest(result_id, epoch))
        assert content is not None, "manifests are never deleted while their run lives"
        return from_json(Manifest, content)


def _verify(manifest: Manifest) -> None:
    for file in manifest.files:
        path = Path(manifest.location, file.name)
        size = path.stat().st_size if path.is_file() else None
        if size != file.bytes:
            found = "is missing" if size is None else f"has {size} bytes, not {file.bytes}"
            raise PartitionNotFoundError(
                f"{path} {found} (epoch {manifest.epoch} of {manifest.result_id}); clear the task that staged it"
            )
