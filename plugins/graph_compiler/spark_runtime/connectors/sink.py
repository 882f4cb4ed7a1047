"""The steps of every sink, for any target.

    open      claim the target; refuse what the driver can check before any row moves
    check     return the rows as they will be written; refuse what the target cannot take
    prepare   write them where no reader looks
    publish   make them visible, once

All sinks of a region are checked before the first is prepared, and prepared before the first is published.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial, singledispatch
from typing import Protocol, Self

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import ArrayType, DataType, MapType, StructType, TimestampType

from graph_compiler import program_log
from graph_compiler.declaration.connectors import Connector, FileConnector, OnSchemaChange, SinkMode
from graph_compiler.declaration.connectors.connector import FILES_EVOLVE, TABLES_EVOLVE, ChangeKind
from graph_compiler.declaration.operators import Sink
from graph_compiler.deployment.documents.jvm_settings import CONFIRMED_ZONE, READS_DIFFERENTLY, ZONE
from graph_compiler.deployment.documents.manifest import PreviousRead
from graph_compiler.deployment.documents.report import PublishedCommit
from graph_compiler.deployment.documents.staging_layout import StagingLayout
from graph_compiler.deployment.documents.stream import StreamOrigin
from graph_compiler.driver_jvm.pinned_process import host_zone
from graph_compiler.errors import PublicationError
from graph_compiler.extensions import load_spark_half
from graph_compiler.identifiers import OperatorId, RegionId, counted
from graph_compiler.spark_runtime.columns.column_types import check_columns, check_names
from graph_compiler.spark_runtime.columns.declared_schema import parse_schema
from graph_compiler.spark_runtime.columns.schema_change import Expectation, Part, conform
from graph_compiler.spark_runtime.publishing.merging import Merging
from graph_compiler.staging.publications.folded_batches import batch_of
from graph_compiler.staging.publications.ledger import Ledger
from graph_compiler.staging.publications.preparations import PreparedPlace
from graph_compiler.staging.publications.publications import Confirmation, Publication
from graph_compiler.staging.store.staging_store import StagingStore


@dataclass(frozen=True, slots=True, kw_only=True)
class SinkContext:
    """The execution a sink belongs to. `is_same_root`: whether the staging root is still the one it started with.

    `batch` is that of its stream, None if its rows end. `restored` is the savepoint behind which it is the
    first batch, None for all others. `check_turn` raises StagingError if its driver does not have the stream any more.

    `previous` returns the versions of targets that its rows were computed from; `reads_again` what to do so that one of
    them is read again, None if the next attempt does that.
    """

    spark: SparkSession
    store: StagingStore
    layout: StagingLayout
    plan_id: str
    region_id: RegionId
    execution_id: str
    run_date: str | None = None
    batch: str | None = None
    restored: StreamOrigin | None = None
    is_same_root: Callable[[], bool] = lambda: True
    check_turn: Callable[[], None] = lambda: None
    previous: Callable[[], tuple[PreviousRead, ...]] = tuple
    reads_again: Callable[[PreviousRead], str | None] = lambda _: None

    @property
    def writer_id(self) -> str:
        """Return what publications and prepared rows are called by: an execution has one for each batch."""
        batch = batch_of(self.batch)
        return self.execution_id if batch is None else f"{self.execution_id}.{batch[1]}"

    @property
    def ledger(self) -> Ledger:
        """Return the publications of all targets."""
        return Ledger(
            store=self.store,
            layout=self.layout,
            plan_id=self.plan_id,
            run_date=self.run_date,
            batch=self.batch,
            restored=self.restored,
            is_same_root=self.is_same_root,
            check_turn=self.check_turn,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class PreparedSink:
    """Rows that are written and not yet visible; `publish` makes them visible.

    It returns the commit by which a table has them, None if the target has no commits.
    """

    location: str
    rows: int
    bytes: int
    publish: Callable[[], PublishedCommit | None]


class OpenSink(Protocol):
    """A sink that has claimed its target."""

    @property
    def target(self) -> str | None:
        """Return the target as the ledger names it; None if no ledger can tell whether rows were published."""

    def check(self, rows: DataFrame) -> DataFrame:
        """Return the rows as they will be written, without writing; raises SchemaChangedError or PublicationError."""

    def prepares(self) -> PreparedPlace | None:
        """Return where rows will be prepared; None if nothing outside the run's folder is created."""

    def prepare(self, rows: DataFrame, /) -> PreparedSink:
        """Write checked rows; nothing is visible yet."""

    def discard(self) -> None:
        """Remove what was prepared and will not be published."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """What rows are compared with: the columns of the rows that stay in the target; None if no rows stay.

    `evolves` and `follows` define what EVOLVE may change (see `Expectation`).
    """

    name: str
    held: StructType | None
    evolves: frozenset[ChangeKind]
    follows: frozenset[ChangeKind] = frozenset()


def conform_to_target(rows: DataFrame, connector: Connector, target: Target) -> DataFrame:
    """Return the rows with the declared columns, then with those of the target."""
    policy = OnSchemaChange(connector.on_schema_change or OnSchemaChange.FAIL)
    expected: list[tuple[StructType, str | None]] = []
    if connector.schema is not None:
        expected.append((parse_schema(connector.schema), None))
    if target.held is not None:
        expected.append((target.held, target.name))
    for schema, name in expected:
        expectation = Expectation(
            schema=schema, policy=policy, evolves=target.evolves, follows=target.follows, target=name, is_sink=True
        )
        rows = conform([Part(rows=rows, schema=rows.schema)], expectation)
    return rows


def conform_to_merge(rows: DataFrame, sink: Sink, target: Target) -> DataFrame:
    """Return the rows, or changes, of a sink that may merge, with the declared columns, then with those of the target.

    Changes that may remove rows keep the column that says so, which is not stored.
    """
    if sink.mode is not SinkMode.MERGE:
        return conform_to_target(rows, sink.connector, target)
    merging = Merging.of(sink).resolved(rows.schema)
    connector, held = merging.compared_with(sink.connector, target.held)
    rows = conform_to_target(merging.with_ends(rows), connector, replace(target, held=held))
    merging.resolved(rows.schema)
    return rows


def open_sink(connector: Connector, operator_id: OperatorId, sink: Sink, context: SinkContext) -> OpenSink:
    """Claim the target of a sink; raises PublicationError if it cannot be written in its current state.

    Raises ExtensionError for another package's connector whose Spark half is not installed.
    """
    load_spark_half(type(connector))
    return claim_target(connector, operator_id, sink, context)


@singledispatch
def claim_target(connector: Connector, operator_id: OperatorId, sink: Sink, context: SinkContext) -> OpenSink:
    """Claim the target of a sink; each kind of connector registers its function."""
    raise AssertionError(f"no writer for {type(connector).__name__}")


SinkOpener = Callable[[Connector, OperatorId, Sink, SinkContext], OpenSink]
"""Type of a function that claims a sink's target: `open_sink`."""


def check_without_target(sink: Sink, rows: DataFrame) -> DataFrame:
    """Return the rows as a sink would write them to an empty target; no target is claimed or inspected.

    Raises what the sink would raise for these rows with any target.
    """
    check_names(rows.schema)
    is_files = isinstance(sink.connector, FileConnector)
    widened = frozenset({ChangeKind.WIDENED} if is_files else ())  # no old files stay
    target = Target(
        name="the target", held=None, evolves=FILES_EVOLVE | widened if is_files else TABLES_EVOLVE, follows=widened
    )
    rows = conform_to_merge(rows, sink, target)
    if isinstance(sink.connector, FileConnector):
        check_file_columns(sink.connector, rows.schema, sink.partition_by)
    return rows


def check_file_columns(connector: FileConnector, schema: StructType, partition_by: tuple[str, ...]) -> None:
    """Raise PublicationError, which names every column that files of this connector cannot store."""
    options = {**connector.write_options(), **connector.spark_options()}
    plain = {name: value for name, value in options.items() if isinstance(value, str)}
    check_columns(schema, connector.spark_format, partition_by, plain)


def refuse_another_zone(spark: SparkSession, ledger: Ledger, target: str, before: int, rows: StructType) -> None:
    """Raise PublicationError if rows with times stay in a target that may have been written in another zone.

    The check needs a host with another zone, and is for targets whose times go through the JVM's zone.
    """
    zone = host_zone()
    if zone is None or not _has_times(rows) or spark.conf.get(CONFIRMED_ZONE, "") == ZONE:
        return
    if why := ledger.why_another_zone(target, before):
        raise PublicationError(
            f"its target {target} {why}, and this host has {zone}: one target would hold times in two zones. "
            f"{READS_DIFFERENTLY}\n"
            "  allowed: a target whose times are all in UTC\n"
            "  hint: look at its times. If they are in UTC, as those of hosts in UTC are, set the option "
            f"{CONFIRMED_ZONE}: {ZONE} for the next run. If not, overwrite the target from its sources, which "
            f"removes all rows that are there, or first convert its times with to_utc_timestamp(at, '{zone}')"
        )


def _has_times(kind: DataType) -> bool:
    match kind:
        case StructType():
            return any(_has_times(field.dataType) for field in kind.fields)
        case ArrayType():
            return _has_times(kind.elementType)
        case MapType():
            return _has_times(kind.keyType) or _has_times(kind.valueType)
    return isinstance(kind, TimestampType)


LOG = program_log.logger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class AppendedBefore:
    """A sink to which an earlier attempt of this run has already appended its rows: they stay.

    Publishing records that with `confirm`, so that an earlier attempt that wakes up later changes nothing. `not_done`
    is what is left out, for the log.
    """

    location: str
    not_done: str = "changed"
    confirmation: Confirmation
    confirm: Callable[[Confirmation], None]
    commit: PublishedCommit | None = None

    @classmethod
    def of(
        cls, location: str, confirmation: Confirmation, ledger: Ledger, finish: Callable[[Publication], None]
    ) -> Self:
        """Return the sink in which a publication of this run stays; `finish` carries out those of others."""
        return cls(location=location, confirmation=confirmation, confirm=partial(ledger.confirm, carry_out=finish))

    @property
    def target(self) -> str:
        """Return the target as the ledger names it."""
        return self.confirmation.target

    def check(self, rows: DataFrame) -> DataFrame:
        """Return the rows unchanged: they are not written."""
        return rows

    def prepares(self) -> None:
        """Return nothing: no place is prepared."""

    def prepare(self, _: DataFrame | None = None) -> PreparedSink:
        """Report and log the rows that are already there."""
        LOG.warning(
            "%s is not %s: execution %s of this run has already appended %s rows, and a run appends once",
            self.location,
            self.not_done,
            self.confirmation.earlier,
            self.confirmation.rows,
        )
        return PreparedSink(
            location=self.location, rows=self.confirmation.rows, bytes=self.confirmation.bytes, publish=self._publish
        )

    def _publish(self) -> PublishedCommit | None:
        self.confirm(self.confirmation)
        return self.commit

    def discard(self) -> None:
        """Do nothing: nothing was prepared."""


def refuse_rows_of_others(
    name: str, own: tuple[Publication, ...], ledger: Ledger, *, target: str, before: int, count: Callable[[], int]
) -> None:
    """Raise PublicationError if a table that must not exist contains rows of others, as far as is known.

    `own` is what the run has published, `before` the target's next number. Others may write without a ledger; then
    only the number of rows shows it.
    """
    allowed = "allowed: none, since its mode is 'error-if-exists'"
    written = [one for one in own if not isinstance(one, Confirmation)]
    if not written:
        raise PublicationError(f"its target {name} exists\n  {allowed}")
    last = written[-1]
    if ledger.others_since(target, last, before):
        raise PublicationError(f"others have published to its target {name} since this run has\n  {allowed}")
    if (found := count()) != last.rows:
        raise PublicationError(
            f"its target {name} holds {counted(found, 'row')}, but this run left {last.rows:,}: others have written "
            f"there since\n  {allowed}"
        )
