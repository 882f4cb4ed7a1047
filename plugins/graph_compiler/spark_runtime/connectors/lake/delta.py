"""Read a version of a Delta table, or its commits as they arrive, and publish rows to one, by one commit made once.

    check     columns are compared with the table's, rows with its constraints
    prepare   rows are written to the staging root, and counted
    decide    the ledger records them, and the id that their commit will have
    publish   Spark commits them under that id

Delta has no staged commit: a write is its own. But its log has the ids of commits (`txnAppId`), and a commit whose id
is there is not made again, whichever driver tries, also at the same time. So a decision is carried out until it is in
the log; a commit of others in between is no conflict, since the rows are applied to what is there by then.
"""

from __future__ import annotations

import re
import secrets
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TypeGuard

from pyspark.errors import AnalysisException, PySparkException
from pyspark.sql import DataFrame, SparkSession

from graph_compiler import program_log
from graph_compiler.declaration.connectors import OnSchemaChange, SinkMode
from graph_compiler.declaration.connectors.connector import FILES_EVOLVE
from graph_compiler.declaration.connectors.delta import CHANGE_FEED, Delta, no_change_feed
from graph_compiler.declaration.connectors.files import plain_place
from graph_compiler.declaration.operators import Merge, Sink
from graph_compiler.deployment.documents.report import PublishedCommit
from graph_compiler.errors import (
    GraphCompilerError,
    PublicationConflictError,
    PublicationError,
    PublicationPendingError,
)
from graph_compiler.extensions import UNSAID
from graph_compiler.identifiers import OperatorId, quoted
from graph_compiler.spark_runtime.columns.alignment import all_nullable
from graph_compiler.spark_runtime.columns.column_types import check_columns, check_names
from graph_compiler.spark_runtime.connectors.arriving.arriving_source import (
    SOURCE,
    ArrivingSource,
    SourceLog,
    arriving_source,
)
from graph_compiler.spark_runtime.connectors.arriving.format_source import check_facts
from graph_compiler.spark_runtime.connectors.lake.delta_checks import (
    held_to_constraints,
    name_mapping,
    refuse_what_it_forbids,
)
from graph_compiler.spark_runtime.connectors.lake.formats import (
    MERGED,
    READ_ALL,
    AppendedRows,
    ReadCommit,
    TableFormatError,
    add_columns,
    as_inserted,
    changes_of_a_stream,
    check_format,
    is_carried_out,
    not_replaceable,
    other_changes,
    read_commit,
    refuse_other_partitions,
)
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
from graph_compiler.spark_runtime.connectors.source import Found, Reading, read
from graph_compiler.spark_runtime.publishing.merging import Merging
from graph_compiler.spark_runtime.publishing.partition_names import DELTA_PARTITIONS, watch_partitions
from graph_compiler.spark_runtime.publishing.rows_in_root import RowsInRoot
from graph_compiler.spark_runtime.results.row_checksum import are_equal
from graph_compiler.spark_runtime.spark_internals.delta_tables import (
    DeltaTable,
    delta_jar,
    delta_version,
    is_concurrent,
    is_missing_file,
    is_violation,
)
from graph_compiler.spark_runtime.spark_internals.java import Py4JError, Py4JJavaError
from graph_compiler.staging.publications.ledger import Ledger
from graph_compiler.staging.publications.publications import Confirmation, Publication
from graph_compiler.tested_versions import DELTA

LOG = program_log.logger(__name__)
SETTINGS = {
    "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
    "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
}
"""What an application has to be started with."""
_ERRORS = (Py4JError, PySparkException)
_CHANGED = re.compile(r"DELTA_SOURCE_(?:TABLE_)?IGNORE_(?:CHANGES|DELETE).* at version (\d+)", re.DOTALL)
"""What Delta says when a commit has changed rows that a stream reads."""
_MOST_TRIES = 20
"""How often a commit is tried, if others commit to the table at the same time."""
_SESSION = "spark.databricks.delta.write."
"""The prefix of the settings that name a commit of SQL."""


@read.register
def _(connector: Delta, reading: Reading) -> Found:
    connector = by_path(connector, reading.spark)
    table = _existing(connector, reading.spark)
    try:
        rows = _rows(connector, table)
    except AnalysisException as error:
        if not str(error.getCondition()).startswith(("DELTA_VERSION", "DELTA_TIMESTAMP", "DELTA_MISSING_CHANGE_DATA")):
            raise
        raise TableFormatError(f"{connector.place}: {str(error).splitlines()[0]}") from error
    return Found(rows=rows, schema=rows.schema)


def _rows(connector: Delta, table: DeltaTable) -> DataFrame:
    if connector.timestamp is not None:
        reader = table.spark.read.format("delta")
        return reader.option("timestampAsOf", connector.timestamp).load(connector.path)
    version = table.version if connector.version is None else connector.version
    if connector.since is not None:
        return _since(connector, table, connector.since, version)
    rows = _at(version, connector, table.spark)
    return as_inserted(rows, version) if connector.changes else rows


def _at(version: int, connector: Delta, spark: SparkSession) -> DataFrame:
    return spark.read.format("delta").option("versionAsOf", version).load(connector.path)


def _since(connector: Delta, table: DeltaTable, since: int, until: int) -> DataFrame:
    """Return the rows that were added after a version, or all changes."""
    spark = table.spark
    if not 0 <= since <= until <= table.version:
        raise TableFormatError(f"{connector.place} has no versions after {since} up to {until}: it has {table.version}")
    nothing = _at(until, connector, spark).limit(0)
    if since == until:
        return as_inserted(nothing, until) if connector.changes else nothing
    if connector.changes:
        if table.settings.get(CHANGE_FEED, "").lower() != "true":
            raise TableFormatError(str(no_change_feed(connector)))
        reader = spark.read.format("delta").option("readChangeFeed", "true").option("startingVersion", since + 1)
        return reader.option("endingVersion", until).load(connector.path).drop("_commit_timestamp")
    try:
        rows, changed = table.added_rows(since, until)
    except Py4JJavaError as error:
        raise TableFormatError(
            f"{connector.place} does not have all commits from version {since} to {until} any more "
            f"({str(error.java_exception.getMessage()).splitlines()[0]})\n  hint: {READ_ALL}"
        ) from error
    if changed is not None:
        raise other_changes(connector.place, f"version {changed}")
    return nothing if rows is None else rows


@read_commit.register
def _(connector: Delta, spark: SparkSession) -> ReadCommit:
    table = _existing(by_path(connector, spark), spark)
    return ReadCommit(kind="version", table=table.id, commit=table.version)


def _existing(connector: Delta, spark: SparkSession) -> DeltaTable:
    table = DeltaTable.load(spark, connector.path)
    if not table.exists:
        raise TableFormatError(f"{connector.place} is no Delta table: it has no log, or does not exist")
    return table


def by_path(connector: Delta, spark: SparkSession) -> Delta:
    """Return a table by the path of its folder, which Spark's catalog knows if it has a name.

    Raises TableFormatError if the driver cannot use Delta tables, or the catalog has no such one.
    """
    _check_session(spark)
    if not connector.is_named:
        return connector
    name = ".".join(map(quoted, connector.path.split(".")))
    try:
        ((format, folder),) = spark.sql(f"DESCRIBE DETAIL {name}").select("format", "location").take(1)
    except PySparkException as error:
        raise TableFormatError(
            f"Spark's catalog has no table {connector.path}: {str(error).splitlines()[0]}\n"
            "  allowed: a table that is there, also for a sink: CREATE TABLE … USING delta; or the path of its folder"
        ) from error
    if format != "delta":
        raise TableFormatError(f"{connector.path} is a table of format {format}\n  allowed: tables of Delta")
    found = replace(connector, path=plain_place(folder))
    if wrong := next(found.problems(), None):
        raise TableFormatError(f"{connector.path} is at {folder}. {wrong}")
    return found


def _check_session(spark: SparkSession) -> None:
    check_format(DELTA, spark, delta_jar, delta_version)
    missing = {key: value for key, value in SETTINGS.items() if value not in str(spark.conf.get(key, "")).split(",")}
    if missing:
        wanted = "; ".join(f"{key}: {value}" for key, value in missing.items())
        raise TableFormatError(f"the session has no extensions of {DELTA.name}\n  hint: set the options {wanted}")


@dataclass(frozen=True, slots=True, kw_only=True)
class CommitPublication(Publication):
    """Rows that one execution will commit: the files of `prepared`, all of them if `files` is None.

    `table` is the id of the table, None if there was none; `commit` that of the commit.
    """

    table: str | None
    commit: str
    mode: SinkMode
    keys: tuple[str, ...]
    partitioned_by: tuple[str, ...]
    evolves: bool
    prepared: str
    seen: int
    """The version of the table when the target was claimed, -1 without one."""
    merge: Merge | None = field(default=None, metadata={UNSAID: True})
    files: tuple[str, ...] | None = None
    replaced: int | None = field(default=None, metadata={UNSAID: True})
    """The version with the rows of an earlier attempt of the run, which these replace."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DeltaSink:
    """A table whose next publication is claimed."""

    connector: Delta
    sink: Sink
    spark: SparkSession
    ledger: Ledger
    publication: CommitPublication
    appended: CommitPublication | None = None
    """What an earlier attempt of the run has appended, which counts no more."""

    @property
    def target(self) -> str:
        """Return the target as the ledger names it."""
        return self.publication.target

    def check(self, rows: DataFrame) -> DataFrame:
        """Check the rows against the declared schema and the table."""
        check_names(rows.schema)
        table = DeltaTable.load(self.spark, self.connector.path)
        held = all_nullable(table.schema) if table.exists else None  # NOT NULL is a constraint, below
        target = Target(name=str(self.connector.place), held=held, evolves=FILES_EVOLVE)
        rows = conform_to_merge(rows, self.sink, target)
        check_columns(rows.schema, "parquet", self.publication.partitioned_by)
        return held_to_constraints(rows, table, self.sink) if table.exists else rows

    def prepares(self) -> None:
        """Return nothing: the rows are in the run's folder."""

    def prepare(self, rows: DataFrame) -> PreparedSink:
        """Write the rows to the staging root, where they survive the driver."""
        merging = Merging.of(self.sink).resolved(rows.schema)
        table = DeltaTable.load(self.spark, self.connector.path)
        self._try_columns(merging.first_rows(rows) if self.sink.mode is SinkMode.MERGE else rows, table)
        partitions = table.partitions if table.exists else self.publication.partitioned_by
        watched = watch_partitions(rows, partitions, DELTA_PARTITIONS, but=merging.removed())
        found = RowsInRoot.write(watched.rows, self.ledger.store, self.publication.prepared)
        watched.check()
        if self.sink.mode is SinkMode.MERGE:
            merging.refuse_unclear(found.read(self.spark))
        merged = replace(self.publication, keys=merging.keys, merge=self.sink.merge and merging.merge)
        written = replace(merged, rows=found.rows, bytes=found.bytes, files=found.files)
        return self._written(written) if self.appended is None else self._replace(self.appended, written)

    def _try_columns(self, rows: DataFrame, table: DeltaTable) -> None:
        """Let Delta make an empty table of these columns in the run's folder, if the table gets new ones.

        Raises PublicationError for what it refuses: a name, or a type. Later, other sinks would have been published.
        """
        known = {name.lower() for name in table.schema.names} if table.exists else set()
        if known.issuperset(name.lower() for name in rows.columns):
            return
        trial = f"{self.publication.prepared}-columns"
        writer = rows.limit(0).write.format("delta").options(**name_mapping(table))
        try:
            writer.partitionBy(*self.publication.partitioned_by).save(trial)
        except PySparkException as error:
            raise PublicationError(f"{self.connector.place} does not take the rows: {error}") from error
        finally:
            self.ledger.store.delete(trial)

    def _written(self, publication: CommitPublication) -> PreparedSink:
        return PreparedSink(
            location=str(self.connector.place),
            rows=publication.rows,
            bytes=publication.bytes,
            publish=partial(self._publish, publication),
        )

    def _replace(self, earlier: CommitPublication, written: CommitPublication) -> PreparedSink:
        """Let the new rows take the place of those of an earlier attempt; equal ones change nothing."""
        if earlier.mode is SinkMode.MERGE:
            raise not_replaceable(self.connector.place, earlier, self.ledger, MERGED)
        table = DeltaTable.load(self.spark, self.connector.path)
        version = _version(earlier, table, self.ledger)
        where = AppendedRows.UNKNOWN if version is None else _where_are_rows_of(version, table)
        before = table.rows_of(version) if version is not None and where.are_complete else None
        rows = RowsInRoot(folder=written.prepared, files=written.files).read(self.spark)
        if self._is_equal(rows, before):
            self.discard()
            confirmation = Confirmation.of(earlier, instead_of=written)
            sink = AppendedBefore.of(str(self.connector.place), confirmation, self.ledger, self._finish)
            return replace(sink, commit=_commit_of(version, table)).prepare()
        if not where.can_be_replaced:
            why = "others have changed them, or moved them, or the log has forgotten their commit"
            raise not_replaceable(self.connector.place, earlier, self.ledger, why)
        return self._written(replace(written, replaced=version))

    def discard(self) -> None:
        """Remove the prepared files."""
        self.ledger.store.delete(self.publication.prepared)

    def _is_equal(self, rows: DataFrame, earlier: DataFrame | None) -> bool:
        """Whether rows are those of an earlier attempt; False if its files are gone."""
        if earlier is None:
            return False
        try:
            return are_equal(rows, earlier)
        except _ERRORS as error:
            if is_missing_file(error):
                return False
            raise

    def _finish(self, earlier: Publication) -> None:
        _finish(earlier, connector=self.connector, spark=self.spark, ledger=self.ledger)

    def _publish(self, publication: CommitPublication) -> PublishedCommit | None:
        if publication.mode in (SinkMode.APPEND, SinkMode.MERGE):
            publication = self.ledger.decide_behind_others(publication, self._finish)
        else:
            self.ledger.decide(publication)
        version = _carry_out(publication, self.connector, self.spark, self.ledger)
        return _commit_of(version, DeltaTable.load(self.spark, self.connector.path))


@claim_target.register
def _(connector: Delta, operator_id: OperatorId, sink: Sink, context: SinkContext) -> OpenSink:
    spark, ledger = context.spark, context.ledger
    connector = by_path(connector, spark)
    target = f"delta:{connector.folder}"
    finish = partial(_finish, connector=connector, spark=spark, ledger=ledger)
    number = ledger.settle(target, operator_id, finish)
    if sink.mode is SinkMode.OVERWRITE:
        ledger.refuse_rows_of_this_dag_run(target, number)
    table = DeltaTable.load(spark, connector.path)
    refuse_what_it_forbids(connector, table, sink.mode)
    there = table.partitions if table.exists else connector.partitioned_by
    refuse_other_partitions(connector.place, sink.mode, there=there, declared=connector.partitioned_by)
    appends = sink.mode is SinkMode.APPEND
    mine = ledger.of_this_run(target, operator_id, number)
    own = tuple(one for one in mine if _is_in(one, table, ledger, if_unknown=appends))
    publication = CommitPublication(
        number=number,
        identity=context.layout.identity,
        plan_id=context.plan_id,
        operator_id=operator_id,
        execution_id=context.writer_id,
        batch=context.batch,
        target=target,
        rows=0,
        bytes=0,
        table=table.id if table.exists else None,
        commit=f"graph_compiler:{context.writer_id}:{secrets.token_hex(16)}",
        mode=sink.mode,
        keys=sink.keys,
        partitioned_by=connector.partitioned_by,
        evolves=connector.on_schema_change == OnSchemaChange.EVOLVE,
        prepared=context.layout.prepared(operator_id, context.writer_id),
        seen=table.version,
    )
    if sink.mode is SinkMode.ERROR_IF_EXISTS and table.exists:
        rows = spark.read.format("delta").load(connector.path)
        if not rows.isEmpty():
            refuse_rows_of_others(connector.path, own, ledger, target=target, before=number, count=rows.count)
    opened = DeltaSink(connector=connector, sink=sink, spark=spark, ledger=ledger, publication=publication)
    return replace(opened, appended=own[-1]) if own and own[-1].rows and appends else opened


def _where_are_rows_of(version: int, table: DeltaTable) -> AppendedRows:
    return AppendedRows.found(
        has_all_files=table.has_all_of(version),
        has_marks=table.has_marks(version),
        changes=table.changes_since(version),
    )


def _commit_of(version: int | None, table: DeltaTable) -> PublishedCommit | None:
    if version is None:
        return None
    return PublishedCommit(kind="version", id=str(version), removed_rows=table.rows_removed_by(version))


def _version(to: CommitPublication, table: DeltaTable, ledger: Ledger) -> int | None:
    """Return the version that has the rows of a publication, None if it is not known any more."""
    known = ledger.commit_of(to)
    return table.version_of(to.commit, to.seen) if known is None else known


def _is_in(
    publication: Publication, table: DeltaTable, ledger: Ledger, *, if_unknown: bool
) -> TypeGuard[CommitPublication]:
    """Whether a publication was made to this table, and not to one that was at its path before.

    `if_unknown` is the answer if its id has expired, and the log has forgotten its commit. A confirmation does not
    count: it says nothing of the table, and the publication that it confirms does.
    """
    if not table.exists or not isinstance(publication, CommitPublication):
        return False
    if publication.table == table.id or table.has_committed(publication.commit):
        return True
    if publication.table is not None:
        return False
    found = table.has_made(publication.commit, ledger.commit_of(publication))  # it has created a table
    return if_unknown if found is None else found


def _finish(earlier: Publication, *, connector: Delta, spark: SparkSession, ledger: Ledger) -> None:
    """Carry out what another execution decided, or give it up if the table refuses its rows."""
    assert isinstance(earlier, CommitPublication), "a table's ledger has nothing else"
    try:
        _carry_out(earlier, connector, spark, ledger)
    except (PublicationConflictError, PublicationPendingError):
        raise
    except PublicationError as error:
        LOG.warning("gave up what execution %s decided: %s", earlier.execution_id, error)


def _carry_out(to: CommitPublication, connector: Delta, spark: SparkSession, ledger: Ledger) -> int | None:
    """Commit what was decided, unless it is in the table's log, record that, and return the version that has it.

    Raises PublicationConflictError if its rows or its table are gone, PublicationError if the table refuses the rows;
    both give it up. Raises PublicationConflictError if another execution has given it up. Other errors leave the
    decision, and the next execution looks again.
    """
    if is_carried_out(to, ledger):
        return ledger.commit_of(to)
    try:
        _commit(to, connector, spark, ledger)
    except PublicationPendingError:
        raise
    except PublicationError:
        ledger.give_up(to)
        raise
    version = DeltaTable.load(spark, connector.path).version_of(to.commit, to.seen)
    ledger.finish(to, version)
    ledger.store.delete(to.prepared)
    return version


def _commit(to: CommitPublication, connector: Delta, spark: SparkSession, ledger: Ledger) -> None:
    for _ in range(_MOST_TRIES):
        table = DeltaTable.load(spark, connector.path)
        if table.has_committed(to.commit):
            return
        _refuse_another_table(to, table)
        rows = _prepared(to, connector, spark, ledger)
        try:
            if _write(to, rows, connector, table):
                return
        except _ERRORS as error:
            now = DeltaTable.load(spark, connector.path)
            if now.has_committed(to.commit):  # its answer was lost, or another execution was first
                return
            if is_concurrent(error) or now.exists != table.exists:
                continue
            if isinstance(error, PySparkException) or is_violation(error):
                raise PublicationError(f"{connector.place} does not take the rows: {error}") from error
            raise
    raise PublicationPendingError(f"{connector.place} is changed by others all the time; a later execution commits")


def _prepared(to: CommitPublication, connector: Delta, spark: SparkSession, ledger: Ledger) -> DataFrame:
    if not ledger.store.keys(to.prepared):
        raise PublicationConflictError(f"the rows for {connector.place} are lost: {to.prepared} is gone")
    return RowsInRoot(folder=to.prepared, files=to.files).read(spark)


def _refuse_another_table(to: CommitPublication, table: DeltaTable) -> None:
    if to.table is not None and (not table.exists or table.id != to.table):
        raise PublicationConflictError(f"{table.path} was removed, or created again, since this execution began")
    if to.mode is SinkMode.ERROR_IF_EXISTS and table.version != to.seen:
        raise PublicationConflictError(f"{table.path} was written by others since this execution began")


def _write(to: CommitPublication, rows: DataFrame, connector: Delta, table: DeltaTable) -> bool:
    """Commit rows; False if others have committed since what it depends on was read: nothing was done."""
    if to.replaced is not None:
        _replace(to, to.replaced, rows, connector, table)
        return True
    merging = Merging(keys=to.keys, merge=to.merge or Merge())
    if to.mode is SinkMode.MERGE and table.exists:
        return _merge(to, merging, connector, table)
    _save(to, merging.first_rows(rows) if to.mode is SinkMode.MERGE else rows, connector, table)
    return True


def _replace(to: CommitPublication, version: int, rows: DataFrame, connector: Delta, table: DeltaTable) -> None:
    """Commit rows in place of those that a version has added.

    Raises PublicationConflictError if others have moved these to other files.
    """
    if to.evolves:
        add_columns(f"delta.{quoted(connector.path)}", table.schema, rows.schema, table.spark)
    if not table.replace(version, rows, to.commit, _note(to)):
        raise PublicationConflictError(f"others have moved rows of version {version} of {connector.place}")


def _save(to: CommitPublication, rows: DataFrame, connector: Delta, table: DeltaTable) -> None:
    writer = rows.write.format("delta").option("txnAppId", to.commit).option("txnVersion", "0")
    writer = writer.option("userMetadata", _note(to))
    if to.evolves:
        writer = writer.option("mergeSchema", "true")
    if not table.exists:
        if to.partitioned_by:
            writer = writer.partitionBy(*to.partitioned_by)
        writer.mode("errorifexists").save(connector.path)
        return
    replaced = "dynamic" if to.mode is SinkMode.OVERWRITE_PARTITIONS else "static"  # the session may have either
    writer = writer.option("partitionOverwriteMode", replaced)
    writer.mode("append" if to.mode is SinkMode.APPEND else "overwrite").save(connector.path)


def _note(to: CommitPublication) -> str:
    """Return what a commit says to people."""
    return f"{to.identity.owner}/{to.identity.run_id}"


def _merge(to: CommitPublication, merging: Merging, connector: Delta, table: DeltaTable) -> bool:
    view = f"graph_compiler_{to.number}"
    session = _with_named_commits(table.spark, to.commit)
    # The rows' files are read again in the session whose settings name the commit.
    changes = RowsInRoot(folder=to.prepared, files=to.files).read(session)
    source = merging.rows(changes, _at(table.version, connector, session))
    source.createOrReplaceTempView(view)
    statement = merging.statement(f"delta.{quoted(connector.path)}", view, source.schema, evolves=to.evolves)
    if merging.merge.keeps_history and DeltaTable.load(table.spark, connector.path).version != table.version:
        return False
    session.sql(statement)
    return True


def _with_named_commits(spark: SparkSession, commit: str) -> SparkSession:
    """Return a session of its own whose commits have an id: in a shared one, every later commit would be left out."""
    session = spark.newSession()
    for key, value in (("txnAppId", commit), ("txnVersion", "0")):
        session.conf.set(f"{_SESSION}{key}", value)
    return session


@dataclass(frozen=True, slots=True, kw_only=True)
class DeltaCommits(ArrivingSource):
    """The commits of a table, in one execution."""

    connector: Delta
    spark: SparkSession
    name: str

    def read(self) -> DataFrame:
        """Return the rows that are there, and those that commits add."""
        found = by_path(self.connector, self.spark)
        _existing(found, self.spark)
        return self.spark.readStream.format("delta").option(SOURCE, self.name).load(found.path)

    def check_start(self, log: SourceLog, last: str | None) -> None:
        """Raise SourceChangedError for another table in this place."""
        table = _existing(by_path(self.connector, self.spark), self.spark)
        check_facts({"format": "delta", "table": table.id}, log, last)

    def explained(self, words: str) -> GraphCompilerError | None:
        """Return what a failure of the query says of the table, None if it is about something else."""
        found = _CHANGED.search(words)
        return changes_of_a_stream(self.connector.place, f"version {found[1]}") if found else None


@arriving_source.register
def _(connector: Delta, spark: SparkSession, name: str) -> ArrivingSource:
    return DeltaCommits(connector=connector, spark=spark, name=name)
