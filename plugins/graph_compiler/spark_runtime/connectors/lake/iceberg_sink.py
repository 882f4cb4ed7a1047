"""Publish rows to a table of Iceberg, by one commit that only one execution can make.

    check     columns are compared with the table's
    prepare   Spark writes a branch of the table, where no reader looks
    decide    the ledger records the branch's snapshot
    publish   one commit: readers see the rows, and the branch is gone

The branch shows whether a decision was carried out:

    branch   tag of it given up   what readers see has the snapshot
    yes      any                  any       not published yet: the commit is made
    no       yes                  any       another execution has given it up: PublicationConflictError
    no       no                   yes       published
    no       no                   no        the rows are lost (a person removed the branch): PublicationConflictError
    no       no                   unknown   the table has forgotten its snapshots: PublicationPendingError

`append` and `overwrite-partitions` apply what the snapshot has changed to what readers see by then; the latter is
refused if its partitions have changed. The other modes publish the snapshot itself, and are refused if the table has
changed at all. Both are conflicts: the next attempt computes the rows again.
"""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Self

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    BooleanType,
    DataType,
    DateType,
    DecimalType,
    DoubleType,
    FloatType,
    IntegerType,
    LongType,
    MapType,
    StringType,
    StructType,
    TimestampNTZType,
    TimestampType,
)

from graph_compiler import program_log
from graph_compiler.declaration.connectors import SinkMode
from graph_compiler.declaration.connectors.connector import FILES_EVOLVE
from graph_compiler.declaration.connectors.iceberg import Iceberg, no_target
from graph_compiler.declaration.operators import Sink
from graph_compiler.deployment.documents.report import PublishedCommit
from graph_compiler.errors import PublicationConflictError, PublicationError, PublicationPendingError
from graph_compiler.extensions import UNSAID
from graph_compiler.identifiers import OperatorId, listing
from graph_compiler.spark_runtime.columns.alignment import all_nullable
from graph_compiler.spark_runtime.columns.column_types import check_names
from graph_compiler.spark_runtime.columns.declared_schema import ddl, parse_schema, type_words
from graph_compiler.spark_runtime.connectors.lake.formats import (
    MERGED,
    AppendedRows,
    add_columns,
    is_carried_out,
    not_replaceable,
    refuse_other_partitions,
)
from graph_compiler.spark_runtime.connectors.lake.iceberg_source import connect
from graph_compiler.spark_runtime.connectors.sink import (
    AppendedBefore,
    OpenSink,
    PreparedSink,
    SinkContext,
    Target,
    claim_target,
    conform_to_merge,
    refuse_rows_of_others,
)
from graph_compiler.spark_runtime.publishing.merging import Merging
from graph_compiler.spark_runtime.publishing.partition_names import (
    ICEBERG_PARTITIONS,
    WatchedPartitions,
    watch_partitions,
)
from graph_compiler.spark_runtime.publishing.rows_in_root import RowsInRoot
from graph_compiler.spark_runtime.results.row_checksum import are_equal
from graph_compiler.spark_runtime.spark_internals.iceberg_tables import (
    JAVA_ERRORS,
    REPLACES_ALL,
    IcebergTable,
    iceberg_words,
    refused_by_iceberg,
)
from graph_compiler.spark_runtime.spark_internals.java import lit
from graph_compiler.staging.publications.ledger import Ledger
from graph_compiler.staging.publications.preparations import BRANCH, PlaceKind, PreparedPlace
from graph_compiler.staging.publications.publications import Confirmation, Publication

LOG = program_log.logger(__name__)
_OURS = "graph_compiler_"
_GIVEN_UP = "_given_up"
_LONGEST = 30 * 24 * 3600 * 1000
"""Milliseconds after which Iceberg's expiry may remove a branch that was left."""
_HELD = (
    *(BinaryType, BooleanType, DateType, DecimalType, DoubleType, FloatType, IntegerType, LongType, StringType),
    *(TimestampNTZType, TimestampType),
)
"""Types that a table stores as they are; a collation of a text is not stored."""
_PICKED = (SinkMode.APPEND, SinkMode.OVERWRITE_PARTITIONS)
_REPLACING = (SinkMode.OVERWRITE, SinkMode.ERROR_IF_EXISTS)
_NOTE = "snapshot-property."
"""Options of a writer, which Iceberg notes with the snapshot."""
_STAGES, _STAGED_AS = "write.wap.enabled", ("spark.wap.id", "spark.wap.branch")
"""A property of a table, and settings of a session that lead its reads and writes elsewhere then."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SnapshotPublication(Publication):
    """A snapshot that one execution has written to a branch; None if its rows change nothing.

    `picks`: what it has changed is applied to what readers see by then; otherwise they see the snapshot itself.
    """

    table: str
    branch: str
    snapshot: int | None
    picks: bool
    appended: int | None = field(default=None, metadata={UNSAID: True})
    """The snapshot below `snapshot` that has the rows, if that one only removes those of an earlier attempt."""
    replaces_all: bool = field(default=False, metadata={UNSAID: True})
    """Whether it replaces all rows that were there."""

    @property
    def has_files_of_its_own(self) -> bool:
        """Whether its files have rows of its run only: those of a merge have others, too."""
        return self.picks or self.replaces_all or self.appended is not None


@dataclass(frozen=True, slots=True, kw_only=True)
class AppendedSnapshot:
    """What an attempt of this run has appended, and the snapshot in which readers see that."""

    publication: SnapshotPublication
    snapshot: int

    @classmethod
    def of(cls, own: Sequence[Publication], table: IcebergTable, ledger: Ledger) -> Self | None:
        """Return what this run has appended last; None if there are no rows of it, or readers see none any more."""
        last = next((one for one in reversed(own) if isinstance(one, SnapshotPublication)), None)
        if last is None or last.snapshot is None:
            return None
        if not last.has_files_of_its_own:
            raise not_replaceable(table.name, last, ledger, MERGED)
        snapshot = last.appended or ledger.commit_of(last) or table.published_as(last.snapshot)
        if snapshot is not None and (table.published_as(snapshot) or not table.knows_its_beginning):
            return cls(publication=last, snapshot=snapshot)
        if table.knows_its_beginning:  # a person has rolled it back
            return None
        raise not_replaceable(table.name, last, ledger, "the table has forgotten which snapshot has them")


@dataclass(frozen=True, slots=True, kw_only=True)
class IcebergSink:
    """A table whose next publication is claimed; `prepared` is a folder of the staging root, for rows to merge."""

    connector: Iceberg
    sink: Sink
    spark: SparkSession
    ledger: Ledger
    publication: SnapshotPublication
    prepared: str
    seen: int | None
    """The snapshot that readers saw when the target was claimed."""
    appended: AppendedSnapshot | None = None
    """What an earlier attempt of the run has appended, which counts no more."""

    @property
    def target(self) -> str:
        """Return the target as the ledger names it."""
        return self.publication.target

    @property
    def _name(self) -> str:
        return self.connector.sql_name

    @property
    def _branch(self) -> str:
        return f"{self._name}{BRANCH}{self.publication.branch}"

    @property
    def _held(self) -> StructType:
        return self.spark.table(self._name).schema

    def check(self, rows: DataFrame) -> DataFrame:
        """Check the rows against the declared schema and the table."""
        check_names(rows.schema)
        held = all_nullable(self._held)  # Spark checks NOT NULL when it writes
        target = Target(name=str(self.connector.place), held=held, evolves=FILES_EVOLVE)
        return conform_to_merge(rows, self.sink, target)

    def prepares(self) -> PreparedPlace:
        """Return the branch."""
        return PreparedPlace(kind=PlaceKind.BRANCH, place=self._branch, target=self.publication.target)

    def prepare(self, rows: DataFrame) -> PreparedSink:
        """Write the rows to the branch."""
        merging = Merging.of(self.sink).resolved(rows.schema)
        stored = StructType([field for field in rows.schema if field.name != merging.merge.apply_as_deletes])
        add_columns(self._name, self._held, stored, self.spark)
        table = IcebergTable.load(self.spark, self._name)
        _refuse_another_table(self.publication, table)
        _refuse_older_partitions(self.connector, self.sink.mode, table)
        if self.sink.mode is SinkMode.ERROR_IF_EXISTS and table.snapshot != self.seen:
            raise PublicationConflictError(f"{self._name} was written by others since this execution began")
        table.make_branch(self.publication.branch, _LONGEST)
        before = table.snapshot
        watched = watch_partitions(rows, table.partitions(), ICEBERG_PARTITIONS, but=merging.removed())
        count = None
        if self.sink.mode is SinkMode.MERGE:
            count = self._merge(watched, merging)
        else:
            self._write(watched.rows)
            watched.check()
        table.refresh()
        snapshot = table.snapshot_of(self.publication.branch)
        if snapshot is None:
            raise PublicationConflictError(f"branch {self.publication.branch} of {self._name} was removed by others")
        if snapshot == before:
            snapshot = None
        summary = {} if snapshot is None else table.summary(snapshot)
        written = replace(
            self.publication,
            snapshot=snapshot,
            rows=int(summary.get("added-records", 0)) if count is None else count,
            bytes=int(summary.get("added-files-size", 0)),
        )
        if self.appended is not None:
            return self._replace(self.appended, written)
        return self._written(written)

    def _written(self, publication: SnapshotPublication) -> PreparedSink:
        return PreparedSink(
            location=str(self.connector.place),
            rows=publication.rows,
            bytes=publication.bytes,
            publish=partial(self._publish, publication),
        )

    def _replace(self, earlier: AppendedSnapshot, written: SnapshotPublication) -> PreparedSink:
        """Let the branch have the new rows in place of those of an earlier attempt; equal ones change nothing."""
        table = IcebergTable.load(self.spark, self._name)
        files, rows = table.files_of(earlier.snapshot), earlier.publication.rows
        left = sum(file.rows for file in files)
        where = AppendedRows.found(
            has_all_files=left == rows,
            has_marks=table.has_marks(earlier.snapshot, files),
            changes=table.changes_since(earlier.snapshot),
        )
        before = table.rows_of(earlier.snapshot) if where.are_complete else None
        now = None if written.snapshot is None else table.rows_of(written.snapshot)
        if before is not None and now is not None and are_equal(before, now):
            table.remove(written.branch)
            confirmation = Confirmation.of(earlier.publication, instead_of=written)
            sink = AppendedBefore.of(str(self.connector.place), confirmation, self.ledger, self._finish)
            return replace(sink, commit=self._published(earlier.snapshot)).prepare()
        if not where.can_be_replaced:
            why = f"others have changed them, or moved them: {left:,} of {rows:,} are in files of their own"
            raise not_replaceable(self.connector.place, earlier.publication, self.ledger, why)
        if not files:
            return self._written(written)
        table.remove_files(files, written.branch)
        table.refresh()
        tip = table.snapshot_of(written.branch)
        return self._written(replace(written, snapshot=tip, appended=written.snapshot, picks=False))

    def discard(self) -> None:
        """Remove the branch."""
        IcebergTable.load(self.spark, self._name).remove(self.publication.branch)
        self.ledger.store.delete(self.prepared)

    def _write(self, rows: DataFrame) -> None:
        identity = self.publication.identity
        notes = {
            "graph-compiler.run": f"{identity.owner}/{identity.run_id}",
            "graph-compiler.execution": self.publication.execution_id,
        }
        if self.publication.replaces_all:
            notes[REPLACES_ALL] = "true"
        writer = rows.writeTo(self._branch)
        for name, value in notes.items():
            writer = writer.option(f"{_NOTE}{name}", value)
        match self.sink.mode:
            case SinkMode.APPEND:
                writer.append()
            case SinkMode.OVERWRITE_PARTITIONS:
                writer.overwritePartitions()
            case _:
                writer.overwrite(lit(True))

    def _merge(self, watched: WatchedPartitions, merging: Merging) -> int:
        """Merge rows that are fixed first: Spark reads them more than once. Return their number."""
        fixed = RowsInRoot.write(watched.rows, self.ledger.store, self.prepared)
        watched.check()
        changes = fixed.read(self.spark)
        merging.refuse_unclear(changes)
        # A branch has the table's columns; a snapshot has those of its time, which may have been renamed since.
        held = self.spark.read.option("versionAsOf", self.publication.branch).table(self._name)
        source = merging.rows(changes, held)
        view = f"{self.publication.branch}_rows"
        source.createOrReplaceTempView(view)
        try:
            self.spark.sql(merging.statement(self._branch, view, source.schema))
        finally:
            self.spark.catalog.dropTempView(view)
        self.ledger.store.delete(self.prepared)
        return fixed.rows

    def _publish(self, publication: SnapshotPublication) -> PublishedCommit | None:
        if publication.picks:
            publication = self.ledger.decide_behind_others(publication, self._finish)
        else:
            self.ledger.decide(publication)
        snapshot = _carry_out(publication, self.connector, self.spark, self.ledger)
        if snapshot is None:
            return None
        if publication.picks and self.sink.mode is SinkMode.APPEND:
            return PublishedCommit(kind="snapshot", id=str(snapshot), removed_rows=0)
        return self._published(snapshot)

    def _finish(self, earlier: Publication) -> None:
        _finish(earlier, connector=self.connector, spark=self.spark, ledger=self.ledger)

    def _published(self, snapshot: int) -> PublishedCommit:
        removed = int(IcebergTable.load(self.spark, self._name).summary(snapshot).get("deleted-records", 0))
        # A merge writes rows again that it does not change, and Iceberg counts them, too.
        counted = None if self.sink.mode is SinkMode.MERGE else removed
        return PublishedCommit(kind="snapshot", id=str(snapshot), removed_rows=counted)


@claim_target.register
def _(connector: Iceberg, operator_id: OperatorId, sink: Sink, context: SinkContext) -> OpenSink:
    spark, ledger = context.spark, context.ledger
    connect(connector, spark)
    _create(connector, sink, spark)
    table = IcebergTable.load(spark, connector.sql_name)
    _refuse_staging(connector, table)
    refuse_other_partitions(connector.place, sink.mode, there=table.partitions(), declared=connector.partitions)
    target = f"iceberg:{table.uuid}"
    finish = partial(_finish, connector=connector, spark=spark, ledger=ledger)
    number = ledger.settle(target, operator_id, finish)
    if sink.mode is SinkMode.OVERWRITE:
        ledger.refuse_rows_of_this_dag_run(target, number)
    own = ledger.of_this_run(target, operator_id, number)
    publication = SnapshotPublication(
        number=number,
        identity=context.layout.identity,
        plan_id=context.plan_id,
        operator_id=operator_id,
        execution_id=context.writer_id,
        batch=context.batch,
        target=target,
        rows=0,
        bytes=0,
        table=table.uuid,
        branch=f"{_OURS}{secrets.token_hex(8)}",
        snapshot=None,
        picks=sink.mode in _PICKED,
        replaces_all=sink.mode in _REPLACING,
    )
    table.refresh()  # what was settled has changed it
    _refuse_older_partitions(connector, sink.mode, table)
    if sink.mode is SinkMode.ERROR_IF_EXISTS:
        _refuse_rows(connector, table, own, ledger, number)
    prepared = context.layout.prepared(operator_id, context.writer_id)
    return IcebergSink(
        connector=connector,
        sink=sink,
        spark=spark,
        ledger=ledger,
        publication=publication,
        prepared=prepared,
        seen=table.snapshot,
        appended=AppendedSnapshot.of(own, table, ledger) if sink.mode is SinkMode.APPEND else None,
    )


def _create(connector: Iceberg, sink: Sink, spark: SparkSession) -> None:
    """Create a missing table, without rows, if that is declared."""
    name = connector.sql_name
    if spark.catalog.tableExists(name):
        return
    if not connector.create_if_missing or connector.schema is None:
        raise PublicationError(str(no_target(connector)))
    schema = Merging.of(sink).stored_schema(parse_schema(connector.schema))
    if wrong := [field for field in schema if not _is_held(field.dataType)]:
        columns = "".join(f"\n  column '{field.name}' is {type_words(field.dataType)}" for field in wrong)
        raise PublicationError(f"Iceberg has no such type, and would store another one:{columns}")
    partitions = f" PARTITIONED BY ({', '.join(connector.partitioned_by)})" if connector.partitioned_by else ""
    spark.sql(f"CREATE TABLE IF NOT EXISTS {name} ({ddl(schema)}) USING iceberg{partitions}")


def _refuse_staging(connector: Iceberg, table: IcebergTable) -> None:
    """Raise PublicationError if the session would lead the rows where no branch has them, or to another branch."""
    found = [name for name in _STAGED_AS if table.spark.conf.get(name, None) is not None]
    if found and table.settings.get(_STAGES, "").lower() == "true":
        raise PublicationError(
            f"{connector.place} has {_STAGES}=true, and the session has {listing(found)}: Iceberg would stage the "
            f"rows, and readers would not see them\n  allowed: a session without {' and '.join(_STAGED_AS)}\n"
            f"  hint: leave {listing(found)} out. The sink writes its rows to a branch, where no reader looks, and "
            "publishes them when all sinks and contracts of the task are done"
        )


def _refuse_older_partitions(connector: Iceberg, mode: SinkMode, table: IcebergTable) -> None:
    """Raise PublicationError if files of an earlier partitioning would stay, with rows of replaced partitions."""
    if mode is SinkMode.OVERWRITE_PARTITIONS and table.has_other_partitions:
        catalog, _, name = table.name.partition(".")
        call = f"CALL {catalog}.system.rewrite_data_files(table => '{name}', options => map('rewrite-all', 'true'))"
        raise PublicationError(
            f"{connector.place} has files from before it was partitioned by {listing(table.partitions())}: '{mode}' "
            "would not replace them, and their rows would be there twice\n"
            f"  allowed: a table whose files are all partitioned as it is now\n  hint: {call}"
        )


def _is_held(kind: DataType) -> bool:
    """Whether a table gives back the same type."""
    match kind:
        case StructType():
            return all(_is_held(field.dataType) for field in kind.fields)
        case ArrayType():
            return _is_held(kind.elementType)
        case MapType():
            return _is_held(kind.keyType) and _is_held(kind.valueType)
    return kind == StringType() if isinstance(kind, StringType) else isinstance(kind, _HELD)


def _refuse_another_table(publication: SnapshotPublication, table: IcebergTable) -> None:
    if table.uuid != publication.table:
        raise PublicationConflictError(
            f"{table.name} was dropped and created again: its id is {table.uuid}, and was {publication.table}"
        )


def _finish(earlier: Publication, *, connector: Iceberg, spark: SparkSession, ledger: Ledger) -> None:
    """Carry out what another execution decided; raises PublicationConflictError if it is given up."""
    assert isinstance(earlier, SnapshotPublication), "a table's ledger has nothing else"
    _carry_out(earlier, connector, spark, ledger)


def _carry_out(to: SnapshotPublication, connector: Iceberg, spark: SparkSession, ledger: Ledger) -> int | None:
    """Publish what was decided, unless it is done, record that, and return the snapshot that readers see then.

    Raises PublicationConflictError if it is given up, now or by another execution; Iceberg's errors if the outcome is
    not known: the decision stands, and the next execution looks again.
    """
    if is_carried_out(to, ledger):
        return ledger.commit_of(to)
    try:
        snapshot = _commit(to, connector, spark)
    except PublicationConflictError:
        ledger.give_up(to)
        _forget(to, connector, spark)
        raise
    ledger.finish(to, snapshot)
    return snapshot


def _commit(to: SnapshotPublication, connector: Iceberg, spark: SparkSession) -> int | None:
    table = IcebergTable.load(spark, connector.sql_name)
    _refuse_another_table(to, table)
    if table.snapshot_of(to.branch) is None:
        return _look(to, table)
    if to.snapshot is None:
        table.remove(to.branch)
        return None
    try:
        table.publish(to.branch, to.snapshot, picks=to.picks)
    except JAVA_ERRORS as error:
        table = IcebergTable.load(spark, connector.sql_name)
        if table.snapshot_of(to.branch) is None:  # done by another execution, or its answer was lost
            return _look(to, table)
        if not refused_by_iceberg(error):
            raise
        words = iceberg_words(error)
        if _give_up(to, connector, spark):
            changed = "its partitions have changed" if to.picks else "it has changed"
            raise PublicationConflictError(
                f"{connector.place}: {changed} since this execution began ({words}); nothing of this one is visible"
            ) from error
        return _look(to, IcebergTable.load(spark, connector.sql_name))
    return table.published_as(to.snapshot)  # its own commit has made it current


def _give_up(to: SnapshotPublication, connector: Iceberg, spark: SparkSession) -> bool:
    """Remove the branch, so that no execution publishes it; False if another execution was first."""
    assert to.snapshot is not None, "there is something to give up"
    table = IcebergTable.load(spark, connector.sql_name)
    if table.snapshot_of(to.branch) is None:
        return False
    try:
        table.add_tag(f"{to.branch}{_GIVEN_UP}", to.snapshot, instead_of=to.branch)
    except JAVA_ERRORS:
        if IcebergTable.load(spark, connector.sql_name).snapshot_of(to.branch) is not None:
            raise
        return False
    return True


def _forget(to: SnapshotPublication, connector: Iceberg, spark: SparkSession) -> None:
    """Remove the tag of what was given up: the ledger has recorded it."""
    try:
        IcebergTable.load(spark, connector.sql_name).remove(f"{to.branch}{_GIVEN_UP}")
    except JAVA_ERRORS as error:
        LOG.warning("tag %s%s of %s is left: %s", to.branch, _GIVEN_UP, connector.name, iceberg_words(error))


def _look(to: SnapshotPublication, table: IcebergTable) -> int | None:
    """Return the snapshot in which readers see a publication whose branch is gone.

    None if it has no rows. Raises the error that says what became of it if it was not carried out.
    """
    if to.snapshot is None:
        return None
    if table.snapshot_of(f"{to.branch}{_GIVEN_UP}") is not None:
        raise PublicationConflictError(f"another execution has given up branch {to.branch} of {table.name}")
    snapshot = table.published_as(to.snapshot)
    if snapshot is None and not table.knows_its_beginning:
        raise PublicationPendingError(
            f"execution {to.execution_id} of run {to.identity.run_id} has decided to publish snapshot {to.snapshot} of "
            f"{table.name}, whose branch {to.branch} is gone, and the table has forgotten the snapshots that would "
            "tell whether it was published\n"
            f"  hint: look whether its {to.rows:,} rows are there, and record that as docs/failures.md says"
        )
    if snapshot is None:
        raise PublicationConflictError(
            f"the rows for {table.name} are lost: branch {to.branch} was removed by others; the task computes them "
            "again"
        )
    return snapshot


def _refuse_rows(
    connector: Iceberg, table: IcebergTable, own: tuple[Publication, ...], ledger: Ledger, number: int
) -> None:
    """Raise PublicationError for rows of others in a table that must have none."""
    rows = table.spark.table(table.name)
    if table.snapshot is None or rows.isEmpty():
        return
    target = f"iceberg:{table.uuid}"
    refuse_rows_of_others(str(connector.place), own, ledger, target=target, before=number, count=rows.count)
