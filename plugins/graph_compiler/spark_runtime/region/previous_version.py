"""Read what a target held before this run, once: later attempts of the run get the same rows (decision 77).

this run has not published     the files that readers see now, if its date allows that
it has published               the copy that an earlier attempt has staged; without one, the attempt fails
a replay                       the copy that its execution has staged; never what is there now
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace

from pyspark.sql import DataFrame, SparkSession

from graph_compiler import program_log
from graph_compiler.declaration.connectors import Connector, FileConnector
from graph_compiler.declaration.operators import PreviousVersion
from graph_compiler.deployment.documents.descriptor import (
    OperatorDescriptor,
    RegionDescriptor,
    TaskDeploymentDescriptor,
)
from graph_compiler.deployment.documents.manifest import PreviousRead
from graph_compiler.deployment.plans.how_to_clear import how_to_clear
from graph_compiler.deployment.plans.subplans import REPLAY
from graph_compiler.errors import PartitionNotFoundError, PreviousVersionError
from graph_compiler.spark_runtime.columns.declared_schema import parse_schema
from graph_compiler.spark_runtime.connectors import SinkContext, read_source
from graph_compiler.spark_runtime.publishing.literal_paths import reading_target
from graph_compiler.spark_runtime.publishing.publication import Publisher
from graph_compiler.spark_runtime.publishing.target_folder import TargetFolder, open_target
from graph_compiler.spark_runtime.results.staging_area import StagingArea
from graph_compiler.staging.attempts.attempts import task_names
from graph_compiler.staging.publications.previous_versions import TargetVersions, copies, refuse_changed
from graph_compiler.staging.store.staging_store import StagingStore

LOG = program_log.logger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class PreviousVersions:
    """The previous versions that an execution reads; `found` gets them, also for its staged results."""

    task: TaskDeploymentDescriptor
    area: StagingArea
    context: SinkContext
    read_files: Callable[[Connector, int | None], DataFrame]
    found: list[PreviousRead] = field(default_factory=list)
    _fresh: list[PreviousRead] = field(default_factory=list)

    def read(self, operator: OperatorDescriptor, splits: int | None) -> DataFrame:
        """Return the rows of the version before this run.

        Raises PreviousVersionError if that is gone, or if the run's date is not later than that of the last run.
        """
        source = operator.operator
        assert isinstance(source, PreviousVersion), "only these have one"
        connector = source.connector
        assert isinstance(connector, FileConnector), "the compiler refuses others"
        if self.task.attempt.execution_id == REPLAY:
            return replayed_version(self.task, self.area, operator)
        publisher = Publisher(ledger=self.context.ledger, execution_id=self.context.writer_id)
        folder, number = publisher.version(connector.one_path)
        versions = TargetVersions(ledger=publisher.ledger, target=folder.target, number=number)
        if versions.is_own(folder.data_files()):
            return self._copy(operator, versions)
        versions.refuse_backfill(source.backfill)
        read = PreviousRead(target=folder.target, number=number, region_id=self.task.region.region_id)
        self.found.append(read)
        self._fresh.append(read)
        return _rows_of(folder, connector, self.area.spark, lambda files: self.read_files(files, splits))

    def check(self) -> None:
        """Raise SourceChangedError if others have published to a target while it was read."""
        for read in self._fresh:
            refuse_changed(self.context.ledger, read)

    def _copy(self, operator: OperatorDescriptor, versions: TargetVersions) -> DataFrame:
        """Return the rows that an earlier attempt has staged, from any epoch: all are of the same version."""
        for result in self.task.region.results:
            if result.node_id != operator.node_id:
                continue
            for manifest, read in copies(self.area.log, result, versions.target):
                versions.refuse_base(read, None)
                try:
                    rows = self.area.read(manifest)
                except PartitionNotFoundError as error:
                    LOG.warning("%s", error)
                    continue
                self.found.append(replace(read, region_id=self.task.region.region_id))
                return rows
        raise PreviousVersionError(
            f"this run has published to {versions.target}, and the copy of the version before it is lost, or has other "
            "columns than the pipeline reads now: its rows cannot be computed again, and what this run has published "
            "stays as it is\n"
            "  hint: leave this run, if its rows are right. If not, a new run reads the version of today; to compute "
            "this one again, first restore the target as it was before, from a backup"
        )


def replayed_version(task: TaskDeploymentDescriptor, area: StagingArea, operator: OperatorDescriptor) -> DataFrame:
    """Return the rows that the execution of a replay has read; raises PreviousVersionError if they are lost."""
    (result,) = (one for one in task.region.results if one.node_id == operator.node_id)
    for epoch in area.log.epochs(result.id):
        copy = area.log.find(result.id, epoch)
        if copy is not None and copy.is_previous_version:  # what the replay itself has staged is none
            try:
                return area.read(copy)
            except PartitionNotFoundError as error:
                raise PreviousVersionError(
                    f"the copy of what '{operator.name}' has read of its target is lost: {error}\n"
                    "  hint: nothing can replay this execution: its target has changed since"
                ) from error
    raise PreviousVersionError(f"no copy of what '{operator.name}' has read of its target came with this replay")


def how_to_read_again(task: TaskDeploymentDescriptor, store: StagingStore, read: PreviousRead) -> str | None:
    """Return what to do so that a version is read again, None if the next attempt of this task does that."""
    names = task_names(store, task.layout, [read.region_id])
    return None if names == (task.region.task_name,) else how_to_clear(task, names)


def reads_previous_version(region: RegionDescriptor) -> bool:
    """Whether a region stages a previous version: it does nothing else."""
    return any(isinstance(each.operator, PreviousVersion) for each in region.operators)


def read_target(connector: Connector, spark: SparkSession, splits: int | None) -> DataFrame:
    """Return the rows that readers of a target see now, for a preview."""
    assert isinstance(connector, FileConnector), "the compiler refuses others"
    return _rows_of(open_target(connector.one_path), connector, spark, lambda files: read_source(files, spark, splits))


def _rows_of(
    folder: TargetFolder, connector: FileConnector, spark: SparkSession, read: Callable[[Connector], DataFrame]
) -> DataFrame:
    """Return the rows of a target's files; none if it has no files."""
    if not folder.data_files():
        return spark.createDataFrame([], parse_schema(connector.schema or ""))
    return read(reading_target(connector, folder.target, spark))
