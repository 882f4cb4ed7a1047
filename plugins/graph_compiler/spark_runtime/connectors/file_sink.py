"""Write files of any format that Spark has, through the transactional publication of folders."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StructField, StructType

from graph_compiler import program_log
from graph_compiler.declaration.connectors import FileConnector, SinkMode
from graph_compiler.declaration.connectors.connector import FILES_EVOLVE, ChangeKind
from graph_compiler.declaration.operators import Sink
from graph_compiler.deployment.documents.manifest import PreviousRead
from graph_compiler.deployment.documents.wire import to_wire
from graph_compiler.errors import DamagedDocumentError, PublicationError
from graph_compiler.identifiers import OperatorId, counted, listing
from graph_compiler.spark_runtime.columns.column_types import check_names
from graph_compiler.spark_runtime.connectors.sink import (
    PreparedSink,
    SinkContext,
    Target,
    check_file_columns,
    claim_target,
    conform_to_target,
    refuse_another_zone,
)
from graph_compiler.spark_runtime.connectors.typed_files import FileTarget as HeldTarget
from graph_compiler.spark_runtime.connectors.typed_files import held_schema
from graph_compiler.spark_runtime.publishing.format_values import (
    key_columns,
    merge,
    refuse_keys,
    unusable_keys,
    watch_values,
)
from graph_compiler.spark_runtime.publishing.literal_paths import literal_path, reads_everything
from graph_compiler.spark_runtime.publishing.own_partition import OwnPartition
from graph_compiler.spark_runtime.publishing.partition_names import partition_columns
from graph_compiler.spark_runtime.publishing.publication import Publisher, Ticket
from graph_compiler.spark_runtime.publishing.written_files import FileFormat
from graph_compiler.spark_runtime.repeatability.table_folders import refuse_target_of_tables
from graph_compiler.spark_runtime.secret_values import reveal_all
from graph_compiler.staging.publications.preparations import PlaceKind, PreparedPlace
from graph_compiler.staging.publications.previous_versions import TargetVersions
from graph_compiler.staging.publications.publications import Intent

LOG = program_log.logger(__name__)
_KEEPS_FILES = (SinkMode.APPEND, SinkMode.OVERWRITE_PARTITIONS)
_IN_ONE_FILE = {"maxRecordsPerFile": "0"}
"""Overrides the setting of a session that divides the rows of a task."""
_KEEPS_ROWS = (*_KEEPS_FILES, SinkMode.MERGE)


@dataclass(frozen=True, slots=True, kw_only=True)
class FileSink:
    """A folder of files whose next publication is claimed."""

    connector: FileConnector
    sink: Sink
    spark: SparkSession
    publisher: Publisher
    ticket: Ticket
    context: SinkContext

    @property
    def target(self) -> str:
        """Return the target as the ledger names it."""
        return self.ticket.target

    def check(self, rows: DataFrame) -> DataFrame:
        """Check the rows against the declared schema, the rows that stay, and what files and folders can store.

        First, that no other run has published since a previous version of the target was read for these rows.
        """
        if (read := self._base()) is not None:
            versions = TargetVersions(
                ledger=self.publisher.ledger, target=self.ticket.target, number=self.ticket.number
            )
            versions.refuse_base(read, self.context.reads_again(read))
        check_names(rows.schema)
        is_compared = self._follows_own_batch(rows)
        old_files = () if is_compared else self.ticket.old_files
        keeps = self.sink.mode in _KEEPS_ROWS and (is_compared or bool(old_files))
        asked = self.connector.on_schema_change is not None and self.connector.schema is None
        held = None
        if keeps and not is_compared:
            self._check_folders(old_files)
        if old_files and (keeps or asked):
            held = self._held_schema(rows)
        files_stay = keeps and self.sink.mode in _KEEPS_FILES
        replaced = frozenset() if files_stay else frozenset({ChangeKind.WIDENED})
        target = Target(name=self.ticket.target, held=held, evolves=FILES_EVOLVE | replaced, follows=replaced)
        rows = conform_to_target(rows, self.connector, target)
        check_file_columns(self.connector, rows.schema, self.sink.partition_by)
        self._ticket_of(rows)
        key_columns(self.sink.keys, rows.schema)
        if keeps and self.connector.spark_format == "orc":
            refuse_another_zone(self.spark, self.publisher.ledger, self.ticket.target, self.ticket.number, rows.schema)
        return rows

    def prepares(self) -> PreparedPlace:
        """Return the folder beside the target, or in it."""
        folder = self.publisher.prepared_folder(self.ticket)
        return PreparedPlace(kind=PlaceKind.FOLDER, place=folder, target=self.ticket.target)

    def prepare(self, rows: DataFrame) -> PreparedSink:
        """Write the files where no reader sees them; rows to merge are first set aside and counted."""
        options = reveal_all({**self.connector.write_options(), **self.connector.spark_options()})
        if self.sink.single_file:
            options |= _IN_ONE_FILE
        format = FileFormat(
            name=self.connector.spark_format,
            options=options,
            partition_by=self.sink.partition_by,
            files=self.sink.file_count,
        )
        watched = watch_values(rows, format.name, format.options, format.partition_by)
        count, merged, rows = None, None, watched.rows
        if self.sink.mode is SinkMode.MERGE:
            new, count = self.publisher.set_aside(self.ticket, rows, format)
            watched.check()
            rows, merged = self._merge(new)
        ticket = self._ticket_of(rows)
        # Rows that were computed from the target depend on what others do: they take no later number.
        behind_others = ticket if self.sink.mode in _KEEPS_FILES and self._base() is None else None
        intent = self.publisher.prepare(ticket, rows, format, merged=merged)
        watched.check()
        self._log_what_is_replaced(intent, ticket)
        return PreparedSink(
            location=intent.target,
            rows=intent.rows if count is None else count,
            bytes=intent.bytes,
            publish=partial(self.publisher.publish, intent, behind_others=behind_others),
        )

    def discard(self) -> None:
        """Remove what was written and is not published."""
        self.publisher.discard(self.ticket)

    def _follows_own_batch(self, rows: DataFrame) -> bool:
        """Whether this execution has published the batch before, with the same columns: it has compared them then.

        Otherwise each batch of a stream would list all files before it, and read their columns.
        """
        if self.context.batch is None or not self.ticket.number:
            return False
        with suppress(DamagedDocumentError):
            last = self.publisher.ledger.records.document(self.ticket.target, self.ticket.number - 1)
            is_own = str(last["execution_id"]).rpartition(".")[0] == self.context.execution_id
            return is_own and last.get("columns") == to_wire(tuple(rows.dtypes))
        return False

    def _base(self) -> PreviousRead | None:
        """Return the version of the target that its rows were computed from, None if they do not depend on it."""
        return next((read for read in self.context.previous() if read.target == self.ticket.target), None)

    def _ticket_of(self, rows: DataFrame) -> Ticket:
        """Return the ticket with the partition that the run declares; raises PublicationError for an unfit value."""
        if not self.sink.partitions:
            return self.ticket
        return replace(self.ticket, partition=OwnPartition.of(self.sink.partitions, rows.schema, self.spark))

    def _log_what_is_replaced(self, intent: Intent, ticket: Ticket) -> None:
        if self.sink.mode is not SinkMode.OVERWRITE_PARTITIONS or intent.rows:
            return
        if ticket.partition is None:
            LOG.warning(
                "%s: there are no rows, so no partition is replaced. partitions={'%s': …} empties that of the run",
                intent.target,
                self.sink.partition_by[0],
            )
            return
        removed = counted(len(intent.remove), "file")
        LOG.warning("%s: %s has no rows, and is emptied: %s", intent.target, ticket.partition, removed)

    def _merge(self, new: DataFrame) -> tuple[DataFrame, frozenset[str]]:
        """Return all rows of the target after the merge, and the files that held the old ones."""
        keys = key_columns(self.sink.keys, new.schema)
        refuse_keys(unusable_keys(new, keys), keys)
        held = self.ticket.others_files  # before Spark lists them: later ones are noticed
        if not self.ticket.old_files:
            return new, held
        options = reads_everything(reveal_all(self.connector.spark_options()), self.spark)
        reader = self.spark.read.format(self.connector.spark_format).options(**options)
        old = reader.schema(self._held_schema(new)).load(literal_path(self.ticket.target))
        return merge(old, new, keys), held

    def _held_schema(self, rows: DataFrame) -> StructType:
        # Without what this run has added, so that a second attempt sees the same target as the first one did.
        # And without the files' NOT NULL, which describes the rows in them, and does not restrict new ones.
        alike = StructType([StructField(f.name, f.dataType) for f in rows.schema])
        files = self.ticket.old_files if self.ticket.own else None
        target = HeldTarget(folder=self.ticket.target, files=files, is_file=self.ticket.folder.is_file)
        return held_schema(self.connector, self.spark, alike, target)

    def _check_folders(self, old_files: tuple[str, ...]) -> None:
        """Raise PublicationError if files that stay are in folders of different columns."""
        wanted = tuple(name.lower() for name in self.sink.partition_by)
        columns = {file: partition_columns(str(Path(file).parent)) for file in old_files}
        odd_files = [file for file in old_files if columns[file] != wanted]
        markers = self.publisher.marker_files(self.ticket) if odd_files else frozenset()
        if odd := sorted({columns[file] for file in odd_files if file not in markers}):
            raise PublicationError(
                f"its target has files in folders by {listing(odd[0])}, and partition_by is "
                f"{listing(self.sink.partition_by)}\n"
                "  hint: write to another path; mode='overwrite' would remove all rows that the target has"
            )


@claim_target.register
def _(connector: FileConnector, operator_id: OperatorId, sink: Sink, context: SinkContext) -> FileSink:
    publisher = Publisher(ledger=context.ledger, execution_id=context.writer_id)
    ticket = publisher.settle(operator_id, connector.one_path, sink.mode, is_file=bool(sink.single_file))
    if context.batch is None or not ticket.number:  # a stream does not ask for each batch
        refuse_target_of_tables(context.spark, connector.one_path, is_file=bool(sink.single_file))
    return FileSink(
        connector=connector, sink=sink, spark=context.spark, publisher=publisher, ticket=ticket, context=context
    )
