"""Publish the files that a sink wrote: all of them, and only once (decision 15).

    settle     finish what others began with this target; take its next ledger number
    prepare    rows are written beside the target, where no reader looks
    decide     record which files will be added and removed; from now on the outcome is certain
    publish    carry it out

File names contain the execution's id, so that repeating a step, or doing it while another process does, changes
nothing. The mode decides what is removed; every mode also removes what earlier attempts of the same run have added.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path, PurePosixPath

from pyspark.sql import DataFrame

from graph_compiler.declaration.connectors.connector import SinkMode
from graph_compiler.errors import DecisionLostError, PublicationConflictError, PublicationError
from graph_compiler.identifiers import OperatorId, counted, path_segment
from graph_compiler.spark_runtime.publishing.own_partition import OwnPartition
from graph_compiler.spark_runtime.publishing.partition_names import partition_of
from graph_compiler.spark_runtime.publishing.target_folder import TargetFolder, open_target, why_unfit
from graph_compiler.spark_runtime.publishing.written_files import PARQUET, FileFormat, WrittenFile
from graph_compiler.staging.publications.ledger import Ledger
from graph_compiler.staging.publications.listing import has_rows
from graph_compiler.staging.publications.publications import WHOLE, Intent, Publication, marker_files, markers_in

_REPLACES_ALL = (SinkMode.OVERWRITE, SinkMode.MERGE)
Others = tuple[Publication, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Ticket:
    """A sink's claim to the next publication of its target; `own` files are from earlier attempts of its run."""

    operator_id: OperatorId
    folder: TargetFolder
    number: int
    mode: SinkMode = SinkMode.OVERWRITE
    own: frozenset[str] = frozenset()
    partition: OwnPartition | None = None
    """The one that the run is responsible for, if it declares one: its rows are known when they are checked."""

    @property
    def target(self) -> str:
        """Return the target, as its ledger names it."""
        return self.folder.target

    @property
    def others_files(self) -> frozenset[str]:
        """Return the files that readers of the target list now, except those that this run has added."""
        return self.folder.data_files() - self.own

    @property
    def old_files(self) -> tuple[str, ...]:
        """Return those of them that have rows: Parquet's summaries have none."""
        return tuple(sorted(name for name in self.others_files if has_rows(PurePosixPath(name).name)))


@dataclass(frozen=True, slots=True, kw_only=True)
class Publisher:
    """Publishes the sinks of one execution."""

    ledger: Ledger
    execution_id: str

    @property
    def _execution(self) -> str:
        return path_segment(self.execution_id)

    def settle(
        self, operator_id: OperatorId, path: str, mode: SinkMode = SinkMode.OVERWRITE, *, is_file: bool = False
    ) -> Ticket:
        """Finish what others began with the target, and take its next ledger number.

        Raises PublicationError if the target cannot be a folder of files, or with `is_file` one file, if another sink
        of this run wrote it, or if it contains files that the mode does not allow.
        """
        folder = open_target(path, is_file=is_file)
        target = folder.target
        _refuse_unfit(folder)
        number = self.ledger.settle(target, operator_id, self._carry_out)
        _refuse_unfit(folder)  # a folder may have been published there now, and a file be declared
        if mode is SinkMode.OVERWRITE:
            self.ledger.refuse_rows_of_this_dag_run(target, number)
        own = self._own_files(folder, operator_id, number)
        ticket = Ticket(
            operator_id=operator_id,
            folder=folder,
            number=number,
            mode=mode,
            # Rows are merged with all others, including those of an earlier attempt.
            own=frozenset() if mode is SinkMode.MERGE else own,
        )
        _refuse_foreign(ticket)
        return ticket

    def version(self, path: str) -> tuple[TargetFolder, int]:
        """Finish what others began with the target, and return it and its next number, without claiming that."""
        folder = open_target(path)
        _refuse_unfit(folder)
        return folder, self.ledger.finish_open(folder.target, self._carry_out, self.execution_id)

    def prepared_folder(self, ticket: Ticket) -> str:
        """Return the folder in which rows are prepared."""
        return ticket.folder.prepared(self._execution)

    def marker_files(self, ticket: Ticket) -> frozenset[str]:
        """Return the target's files that contain only columns, no rows, according to the ledger."""
        if all("/" in name for name in ticket.folder.data_files()):
            return frozenset()  # a partition folder has none
        return frozenset(
            name for document in self.ledger.documents(ticket.target, ticket.number) for name in markers_in(document)
        )

    def set_aside(self, ticket: Ticket, rows: DataFrame, format: FileFormat) -> tuple[DataFrame, int]:
        """Write rows to a place from which `prepare` can read them repeatedly; return them and their number."""
        return ticket.folder.set_aside(self._execution, rows, format)

    def prepare(
        self, ticket: Ticket, rows: DataFrame, format: FileFormat = PARQUET, *, merged: frozenset[str] | None = None
    ) -> Intent:
        """Write the rows beside the target; nothing is visible yet.

        `merged`: the files of the target whose rows are among these. Raises PublicationConflictError if the target has
        others meanwhile: replacing them would lose rows. Raises PublicationError for rows of another partition than
        that of the ticket.
        """
        folder = ticket.folder
        files, count = folder.write(self._execution, rows, format)
        if folder.is_file:
            _refuse_foreign(ticket)  # a file that has come meanwhile would be replaced
        if ticket.partition is not None:
            ticket.partition.refuse_others(file.folder for file in files)
        replaces = _folders_to_replace(ticket, files)
        old_markers = self.marker_files(ticket) if files and format.partition_by else frozenset()
        adds_only = not replaces and not ticket.own and ticket.partition is None
        # A stream that appends for years does not list its target for each batch.
        there = frozenset() if files and adds_only and not old_markers else folder.data_files()
        replaced = (*replaces, *_folders_to_empty(ticket, there, replaces))
        gone = _files_to_remove(ticket, there, replaced, old_markers)
        if merged is not None and (changed := sorted(gone ^ merged)):
            raise PublicationConflictError(
                f"{ticket.target} has changed while its rows were merged ({changed[0]}); nothing of this is visible\n"
                "  hint: a retry merges the rows that are there now"
            )
        adds_rows = bool(files)
        if not adds_rows and not there - gone:
            files = folder.write_empty(self._execution, rows, format)
        is_marker = bool(format.partition_by) and not adds_rows
        names = folder.arrange(self._execution, files, is_marker=is_marker)
        remove = folder.names_to_remove(gone, replaced, ticket.own)
        in_the_way = folder.find_in_the_way(names, replaces, remove)
        return Intent(
            number=ticket.number,
            identity=self.ledger.layout.identity,
            plan_id=self.ledger.plan_id,
            operator_id=ticket.operator_id,
            execution_id=self.execution_id,
            target=ticket.target,
            prepared=self.prepared_folder(ticket),
            columns=tuple((name, type) for name, type in rows.dtypes),
            add=names,
            remove=tuple(sorted(remove | in_the_way)),
            replaces=replaces,
            markers=names if is_marker else (),
            merged=ticket.mode is SinkMode.MERGE,
            file=folder.new_file(self._execution),
            run_date=self.ledger.run_date,
            batch=self.ledger.batch,
            rows=count,
            bytes=sum(file.bytes for file in files),
        )

    def publish(self, intent: Intent, *, behind_others: Ticket | None = None) -> None:
        """Record the intent and carry it out.

        Raises DecisionLostError if another execution was first. With `behind_others` (its ticket, if files of others
        stay), only if that execution was of the same run, or wrote different columns.
        """
        if behind_others is None:
            self.ledger.decide(intent)
        else:
            renew = partial(_renew, self, behind_others)
            intent = self.ledger.decide_behind_others(intent, self._carry_out, renew)
        self._carry_out(intent)

    def discard(self, ticket: Ticket) -> None:
        """Remove prepared files that will not be published."""
        ticket.folder.discard(self._execution)

    def _own_files(self, folder: TargetFolder, operator_id: OperatorId, before: int) -> frozenset[str]:
        earlier = self.ledger.of_this_run(folder.target, operator_id, before, given_up=True)
        return frozenset(
            name
            for intent in earlier
            if isinstance(intent, Intent) and not intent.merged and folder.holds(intent)
            for name in intent.add
        )

    def _carry_out(self, intent: Publication) -> None:
        assert isinstance(intent, Intent), "a folder's ledger has nothing else"
        open_target(intent.target, is_file=intent.file is not None).carry_out(
            intent, partial(self.ledger.is_open, intent)
        )
        self.ledger.finish(intent)


def _refuse_unfit(folder: TargetFolder) -> None:
    if wrong := why_unfit(folder):
        raise PublicationError(wrong)


def _refuse_foreign(ticket: Ticket) -> None:
    """Raise PublicationError for files of others where the mode allows none."""
    if ticket.mode is SinkMode.ERROR_IF_EXISTS and (old := ticket.old_files):
        exists = (
            "exists" if ticket.folder.is_file else f"holds {counted(len(old), 'file')} from elsewhere ({old[0]}, …)"
        )
        raise PublicationError(
            f"its target {ticket.target} {exists}\n"
            f"  allowed: {'no' if ticket.folder.is_file else 'an empty'} target, since its mode is 'error-if-exists'"
        )


def _files_to_remove(
    ticket: Ticket, there: frozenset[str], replaces: tuple[str, ...], markers: frozenset[str]
) -> frozenset[str]:
    """Return the files that the new ones replace: those that the mode replaces, and those of this run's attempts."""
    if ticket.mode in _REPLACES_ALL:
        return there
    replaced = {partition_of(folder) for folder in replaces}
    return frozenset(
        name
        for name in there
        if name in ticket.own or name in markers or partition_of(str(Path(name).parent)) in replaced
    )


def _folders_to_replace(ticket: Ticket, written: tuple[WrittenFile, ...]) -> tuple[str, ...]:
    """Return the target's folders whose files are all removed; without new rows, the partitions stay."""
    if ticket.mode in _REPLACES_ALL or ticket.folder.is_file:
        return (WHOLE,)
    if ticket.mode is SinkMode.OVERWRITE_PARTITIONS:
        return tuple(sorted({file.folder for file in written}))
    return ()


def _folders_to_empty(ticket: Ticket, there: frozenset[str], replaces: tuple[str, ...]) -> frozenset[str]:
    """Return the folders of the run's own partition in which it has no rows; they are removed file by file."""
    if ticket.partition is None:
        return frozenset()
    return ticket.partition.folders_among({str(Path(name).parent) for name in there}) - frozenset(replaces)


def _renew(publisher: Publisher, ticket: Ticket, intent: Intent, others: Others) -> Intent:
    """Return the intent after others have published, with the files to remove determined again."""
    columns = {other.columns for other in others if isinstance(other, Intent)}
    if marker_files(intent.add, intent.markers) or columns - {intent.columns}:
        raise DecisionLostError(
            f"another execution has published {intent.target} with other columns since this one began; "
            "nothing of this one is visible"
        )
    folder, now = ticket.folder, replace(ticket, number=ticket.number + len(others))
    in_folders = any("/" in name for name in intent.add)
    markers = publisher.marker_files(now) if in_folders else frozenset()
    there = folder.data_files()
    replaced = (*intent.replaces, *_folders_to_empty(ticket, there, intent.replaces))
    gone = _files_to_remove(now, there, replaced, markers)
    remove = folder.names_to_remove(gone, replaced, ticket.own)
    in_the_way = folder.find_in_the_way(intent.add, intent.replaces, remove)
    return replace(intent, remove=tuple(sorted(remove | in_the_way)))
