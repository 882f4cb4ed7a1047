"""Maintain tables of Iceberg and Delta Lake: `table_maintenance.py <request.json>`, one answer beside it.

    branches     those of executions that have died are removed, and the records of them (Iceberg)
    compaction   small files are written together
    expiry       old snapshots are removed (Iceberg), old files of a table (VACUUM of Delta Lake)
    orphans      files that no snapshot has are removed (Iceberg)

What runs need is looked at again for each table, right before anything is removed (`staging/gc/table_needs.py`).
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

if __name__ == "__main__":
    # A script's own folder is first on sys.path; the package that holds it is two levels up.
    sys.path[0] = str(Path(__file__).resolve().parents[2])

from pyspark.sql import SparkSession

from graph_compiler import program_log
from graph_compiler.declaration.connectors import Delta, Iceberg
from graph_compiler.deployment.documents.dry_run import ANSWER
from graph_compiler.deployment.documents.table_maintenance import (
    MaintainedTable,
    MaintenanceAnswer,
    MaintenanceRequest,
    MaintenanceStep,
    StepResult,
)
from graph_compiler.deployment.documents.wire import from_json, to_json
from graph_compiler.driver_jvm.pinned_process import pin_process
from graph_compiler.errors import GraphCompilerError
from graph_compiler.identifiers import quoted
from graph_compiler.spark_runtime.connectors.lake.delta import by_path
from graph_compiler.spark_runtime.connectors.lake.iceberg_source import connect
from graph_compiler.spark_runtime.driver_process import bound_output, end_process
from graph_compiler.spark_runtime.main import session
from graph_compiler.spark_runtime.secret_values import hide_options, redact
from graph_compiler.spark_runtime.spark_internals.delta_tables import DeltaTable
from graph_compiler.spark_runtime.spark_internals.file_listings import few_listing_tasks
from graph_compiler.spark_runtime.spark_internals.iceberg_maintenance import (
    compact,
    expire,
    history_of,
    keeps_all_files,
    own_age_of_main,
    remove_orphans,
)
from graph_compiler.spark_runtime.spark_internals.iceberg_tables import JAVA_ERRORS, IcebergTable, iceberg_words
from graph_compiler.staging.gc.collection import LeftTable, Policy, collect
from graph_compiler.staging.gc.inventory import StagingInventory
from graph_compiler.staging.gc.liveness import AirflowRunState
from graph_compiler.staging.gc.removal import forget
from graph_compiler.staging.gc.survey import survey
from graph_compiler.staging.gc.table_needs import HistoryLimit, TableNeeds, files_cutoff, history_cutoff, survey_needs
from graph_compiler.staging.publications.publications import undone_intents
from graph_compiler.staging.store.root_probe import store_time
from graph_compiler.staging.store.staging_store import StagingStore
from graph_compiler.staging.store.stores import open_on_driver, store_of
from graph_compiler.tested_versions import DELTA, ICEBERG

ORPHANS_OLDER_THAN = 3 * 86400.0
"""Seconds: Iceberg's own default. A file that is being written belongs to no snapshot yet."""
_BRANCHES_STAY = 29 * 86400.0
"""Seconds: a day less than the age at which an expiry removes branches of sinks (`iceberg_sink.py`)."""
_NOTES_FIGURES = "spark.databricks.delta.vacuum.logging.enabled"


@dataclass(frozen=True, slots=True, kw_only=True)
class Maintenance:
    """The maintenance of tables that one request asks for; `now` is the time of the staging root's store."""

    request: MaintenanceRequest
    spark: SparkSession
    store: StagingStore
    now: Callable[[], float]

    def run(self) -> MaintenanceAnswer:
        """Maintain one table after the other; what fails is in the answer, and the others follow."""
        return MaintenanceAnswer(tables=tuple(self._table(each) for each in self.request.tables))

    def _table(self, connector: object) -> MaintainedTable:
        assert isinstance(connector, Iceberg | Delta), "only these have maintenance"
        name, format = (
            (connector.name, ICEBERG.name) if isinstance(connector, Iceberg) else (connector.path, DELTA.name)
        )
        try:
            steps = self._iceberg(connector) if isinstance(connector, Iceberg) else self._delta(connector)
        except (GraphCompilerError, *JAVA_ERRORS) as error:
            return MaintainedTable(table=name, format=format, failed=self._words(error))
        if steps is None:
            return MaintainedTable(table=name, format=format, left_out="the table does not exist")
        done = tuple(self._step(step, does) for step, does in steps.items())
        return MaintainedTable(table=name, format=format, steps=done)

    def _step(self, step: MaintenanceStep, does: Callable[[], StepResult]) -> StepResult:
        try:
            return does()
        except (GraphCompilerError, *JAVA_ERRORS) as error:
            return StepResult(step=step, failed=self._words(error))

    def _words(self, error: BaseException) -> str:
        words = str(error) if isinstance(error, GraphCompilerError) else iceberg_words(error)
        return redact(words, *self.request.tasks)

    def _survey(self) -> tuple[StagingInventory, Policy, TableNeeds]:
        now = self.now()  # before anything is read: what begins later reads what readers see now, or later
        inventory = survey(self.store, self.request.root)
        states = {run.identity: AirflowRunState(run.state) for run in self.request.known_runs}
        policy = Policy(now=now, airflow=states)
        return inventory, policy, survey_needs(self.store, inventory, policy)

    def _iceberg(self, connector: Iceberg) -> dict[MaintenanceStep, Callable[[], StepResult]] | None:
        connect(connector, self.spark)
        if not self.spark.catalog.tableExists(connector.sql_name):
            return None
        settings = self.request.settings
        found: dict[MaintenanceStep, Callable[[], StepResult]] = {
            MaintenanceStep.BRANCHES: lambda: self._remove_branches(connector)
        }
        if settings.compacts:
            found[MaintenanceStep.COMPACTION] = lambda: self._compact_iceberg(connector)
        if settings.expires:
            found[MaintenanceStep.EXPIRY] = lambda: self._expire(connector)
        if settings.removes_orphans:
            found[MaintenanceStep.ORPHANS] = lambda: self._remove_orphans(connector)
        return found

    def _remove_branches(self, connector: Iceberg) -> StepResult:
        inventory, policy, _ = self._survey()
        table = IcebergTable.load(self.spark, connector.sql_name)
        removed = 0
        for left in collect(inventory, policy).tables:
            if left.branch is None or left.target != _target(table) or self._is_decided(left):
                continue
            removed += table.snapshot_of(left.branch) is not None
            table.remove(left.branch)
            forget(self.store, [left])
        return StepResult(step=MaintenanceStep.BRANCHES, figures=(("removed", removed),))

    def _is_decided(self, left: LeftTable) -> bool:
        """Whether its execution has decided to publish it in the meantime."""
        return any(
            intent.execution_id == left.execution_id and intent.identity == left.run
            for intent in undone_intents(self.store, self.request.root)
        )

    def _compact_iceberg(self, connector: Iceberg) -> StepResult:
        table = IcebergTable.load(self.spark, connector.sql_name)
        _, _, needs = self._survey()
        if why := needs.unknown or needs.why_not_compacted(connector, _target(table)):
            return StepResult(step=MaintenanceStep.COMPACTION, left_out=why)
        done = compact(table)
        figures = (("files before", done.before), ("files after", done.after), ("bytes written again", done.bytes))
        return StepResult(step=MaintenanceStep.COMPACTION, figures=figures)

    def _expire(self, connector: Iceberg) -> StepResult:
        step, settings = MaintenanceStep.EXPIRY, self.request.settings
        _, _, needs = self._survey()  # first: what readers see by now is kept for those that begin later
        table = IcebergTable.load(self.spark, connector.sql_name)
        if why := needs.unknown or _why_kept(table):
            return StepResult(step=step, left_out=why)
        kind, target = f"snapshot of table {table.uuid}", _target(table)
        if old := next((each for each in needs.decided(target) if each.moment < needs.now - _BRANCHES_STAY), None):
            why = f"{old.why} for so long that Iceberg would remove its branch"
            return StepResult(step=step, left_out=why)
        limit = history_cutoff(needs.now - settings.older_than, history_of(table), needs, kind=kind, target=target)
        own_age = own_age_of_main(table)
        if own_age is not None and needs.now - own_age > limit.moment:
            why = f"max-snapshot-age-ms of its branch main is {own_age * 1000:.0f}, and would remove what is needed: "
            return StepResult(step=step, left_out=f"{why}{limit.why or 'snapshots that are younger than asked'}")
        done = expire(table, limit.moment, settings.retain_last)
        figures = (
            ("snapshots removed", done.removed),
            ("snapshots left", done.left),
            ("data files removed", done.data_files),
            ("other files removed", done.other_files),
            ("bytes removed", done.bytes),
        )
        return StepResult(step=step, figures=figures, kept=_kept("snapshots", limit))

    def _remove_orphans(self, connector: Iceberg) -> StepResult:
        _, _, needs = self._survey()
        table = IcebergTable.load(self.spark, connector.sql_name)
        if why := needs.unknown or _why_kept(table):
            return StepResult(step=MaintenanceStep.ORPHANS, left_out=why)
        limit = min(HistoryLimit(moment=needs.now - ORPHANS_OLDER_THAN), *needs.moments(), key=lambda each: each.moment)
        removed = remove_orphans(table, limit.moment)
        return StepResult(
            step=MaintenanceStep.ORPHANS, figures=(("files removed", removed),), kept=_kept("files", limit)
        )

    def _delta(self, connector: Delta) -> dict[MaintenanceStep, Callable[[], StepResult]] | None:
        connector = by_path(connector, self.spark)
        if not DeltaTable.load(self.spark, connector.path).exists:
            return None
        settings = self.request.settings
        found: dict[MaintenanceStep, Callable[[], StepResult]] = {}
        if settings.compacts:
            found[MaintenanceStep.COMPACTION] = lambda: self._optimize(connector)
        if settings.expires:
            found[MaintenanceStep.EXPIRY] = lambda: self._vacuum(connector)
        return found

    def _optimize(self, connector: Delta) -> StepResult:
        _, _, needs = self._survey()
        if why := needs.unknown or needs.why_not_compacted(connector, f"delta:{connector.folder}"):
            return StepResult(step=MaintenanceStep.COMPACTION, left_out=why)
        before = DeltaTable.load(self.spark, connector.path).files
        (row,) = self.spark.sql(f"OPTIMIZE delta.{quoted(connector.path)}").collect()
        after = DeltaTable.load(self.spark, connector.path).files
        size = int(row.metrics.filesRemoved.totalSize or 0)
        figures = (("files before", before), ("files after", after), ("bytes written again", size))
        return StepResult(step=MaintenanceStep.COMPACTION, figures=figures)

    def _vacuum(self, connector: Delta) -> StepResult:
        _, _, needs = self._survey()
        if needs.unknown is not None:
            return StepResult(step=MaintenanceStep.EXPIRY, left_out=needs.unknown)
        table = DeltaTable.load(self.spark, connector.path)
        asked = needs.now - self.request.settings.older_than
        limit = files_cutoff(asked, table.commit_times(), needs, f"version of table {table.id}")
        if limit.moment < needs.now - table.retention:
            # Longer hours for VACUUM would not help: Delta forgets when a file was removed, and looks at its age.
            days, since = (
                f"{table.retention / 86400:g} d",
                f"{datetime.fromtimestamp(limit.moment, UTC):%Y-%m-%d %H:%M}",
            )
            return StepResult(
                step=MaintenanceStep.EXPIRY,
                left_out=f"files that were removed since {since} UTC have to stay ({limit.why or '--older-than'}), and "
                f"delta.deletedFileRetentionDuration of the table is {days}",
            )
        own = self.spark.newSession()
        own.conf.set(_NOTES_FIGURES, "true")
        with few_listing_tasks(own):
            own.sql(f"VACUUM delta.{quoted(connector.path)}")
        return StepResult(step=MaintenanceStep.EXPIRY, figures=tuple(self._vacuumed(connector)))

    def _vacuumed(self, connector: Delta) -> Iterator[tuple[str, int]]:
        """Yield the figures of the last VACUUM, which the table's history has."""
        rows = self.spark.sql(f"DESCRIBE HISTORY delta.{quoted(connector.path)}").collect()
        for operation, metric, name in (
            ("VACUUM END", "numDeletedFiles", "files removed"),
            ("VACUUM START", "sizeOfDataToDelete", "bytes removed"),
        ):
            found = next((row.operationMetrics for row in rows if row.operation == operation), None) or {}
            yield name, int(found.get(metric, 0))


def _target(table: IcebergTable) -> str:
    return f"iceberg:{table.uuid}"


def _why_kept(table: IcebergTable) -> str | None:
    return "gc.enabled of the table is false" if keeps_all_files(table) else None


def _kept(what: str, limit: HistoryLimit) -> str | None:
    """Return what has kept more than was asked for, as text."""
    if limit.why is None:
        return None
    moment = datetime.fromtimestamp(limit.moment, UTC)
    return f"{what} from {moment:%Y-%m-%d %H:%M:%S} UTC on are kept: {limit.why}"


def main(request_path: str) -> int:
    """Carry out a request; return 0, or 1 if something has failed."""
    bound_output()
    program_log.show_logs()
    pin_process()
    open_on_driver()
    path = Path(request_path)
    request = from_json(MaintenanceRequest, path.read_text())
    store = store_of(request.root)
    spark = session(request.tasks[0])
    try:
        for task in request.tasks:
            hide_options(spark, task.region)
        now = (lambda: store_time(store, request.root)) if store.is_there(request.root) else time.time
        answer = Maintenance(request=request, spark=spark, store=store, now=now).run()
    finally:
        spark.stop()
    path.with_name(ANSWER).write_text(to_json(answer))
    return int(any(table.is_failed for table in answer.tables))


if __name__ == "__main__":
    end_process(main(sys.argv[1]))
