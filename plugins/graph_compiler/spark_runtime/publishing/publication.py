"""Publish the files that a sink wrote: all of them, and only once (decision 15).

    settle     finish what others began with this target; take its next ledger number
    prepare    rows are written beside the target, where no reader looks
    decide     record which files will be added and removed; from now on the outcome is certain
    publish    carry it out

File names contain the execution's id, so that repeating a step, or doing it while another process does, changes
nothing. The mode decides what is removed; every mode also removes what earlier attempts of the same run have added.
"""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession

from graph_compiler.declaration.connectors.connector import SinkMode
from graph_compiler.declaration.connectors.file_uris import LOCAL_PLACES, local_path, why_not_local
from graph_compiler.errors import DecisionLostError, PublicationConflictError, PublicationError
from graph_compiler.identifiers import OperatorId, counted, path_segment
from graph_compiler.spark_runtime.publishing.literal_paths import literal, reads_everything
from graph_compiler.spark_runtime.publishing.partition_names import partition_of
from graph_compiler.spark_runtime.publishing.targets import (
    find_in_the_way,
    names_to_remove,
    why_no_folder,
)
from graph_compiler.spark_runtime.publishing.written_files import (
    PARQUET,
    FileFormat,
    WrittenFile,
    write_empty_file,
    write_files,
)
from graph_compiler.staging.publications.intent import MARKER, WHOLE, Intent, marker_files
from graph_compiler.staging.publications.ledger import Ledger
from graph_compiler.staging.publications.on_disk.file_publication import carry_out, remove_empty
from graph_compiler.staging.publications.on_disk.listing import data_files
from graph_compiler.staging.publications.on_disk.mounts import preparation_folder
from graph_compiler.staging.publications.publications import Publication
from graph_compiler.staging.store.stores import target_store

_WRITTEN, _READY = "written", "ready"  # as Spark wrote it, and under final names
_REPLACES_ALL = (SinkMode.OVERWRITE, SinkMode.MERGE)
_ASIDE = "aside"  # rows that are not merged yet
Others = tuple[Publication, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Ticket:
    """A sink's claim to the next publication of its target; `own` files are from earlier attempts of its run.

    `room` is the folder in which all executions prepare files for the target.
    """

    operator_id: OperatorId
    target: str
    number: int
    room: str
    mode: SinkMode = SinkMode.OVERWRITE
    own: frozenset[str] = frozenset()

    @property
    def old_files(self) -> tuple[str, ...]:
        """Return the files that readers of the target see now, except those that this run has added."""
        return tuple(sorted(data_files(Path(self.target)) - self.own))


@dataclass(frozen=True, slots=True, kw_only=True)
class Publisher:
    """Publishes the sinks of one execution."""

    spark: SparkSession
    ledger: Ledger
    execution_id: str

    def settle(
        self, operator_id: OperatorId, path: str, mode: SinkMode = SinkMode.OVERWRITE
    ) -> Ticket:
        """Finish what others began with the target, and take its next ledger number.

        Raises PublicationError if the target cannot be a folder of files, if another sink of this run wrote it, or if
        it contains files that the mode does not allow.
        """
        local = local_path(path)
        if local is None:
            raise PublicationError(
                f"its target is '{path}': {why_not_local(path)}; allowed: {LOCAL_PLACES}"
            )
        target = str(local)
        if wrong := why_no_folder(Path(target)):
            raise PublicationError(
                f"its target {target} {wrong}; allowed: a folder, or a path that does not exist"
            )
        target_store(target)  # refused before any row is moved
        number = self.ledger.settle(target, operator_id, self._carry_out)
        own = self._own_files(target, operator_id, number)
        ticket = Ticket(
            operator_id=operator_id,
            target=target,
            number=number,
            room=str(preparation_folder(Path(target))),
            mode=mode,
            # Rows are merged with all others, including those of an earlier attempt.
            own=frozenset() if mode is SinkMode.MERGE else own,
        )
        if mode is SinkMode.ERROR_IF_EXISTS and (old := ticket.old_files):
            raise PublicationError(
                f"its target {target} holds {counted(len(old), 'file')} from elsewhere ({old[0]}, …)\n"
                "  allowed: nothing, since its mode is 'error-if-exists'"
            )
        return ticket

    def prepared_folder(self, ticket: Ticket) -> Path:
        """Return the folder in which rows are prepared; files can be renamed from it into the target."""
        return Path(ticket.room, path_segment(self.execution_id))

    def marker_files(self, ticket: Ticket) -> frozenset[str]:
        """Return the target's files that contain only columns, no rows, according to the ledger."""
        if all("/" in name for name in data_files(Path(ticket.target))):
            return frozenset()  # a partition folder has none
        return frozenset(
            name
            for document in self.ledger.documents(ticket.target, ticket.number)
            for name in marker_files(_names(document, "add") or (), _names(document, "markers"))
        )

    def set_aside(
        self, ticket: Ticket, rows: DataFrame, format: FileFormat
    ) -> tuple[DataFrame, int]:
        """Write rows to a place from which `prepare` can read them repeatedly; return them and their number."""
        folder = str(self.prepared_folder(ticket) / _ASIDE)
        _, count = write_files(rows, folder, FileFormat(name=format.name, options=format.options))
        reader = self.spark.read.format(format.name).options(**reads_everything(format.options))
        return reader.schema(rows.schema).load(literal(folder)), count

    def prepare(
        self,
        ticket: Ticket,
        rows: DataFrame,
        format: FileFormat = PARQUET,
        *,
        merged: frozenset[str] | None = None,
    ) -> Intent:
        """Write the rows beside the target; nothing is visible yet.

        `merged`: the files of the target whose rows are among these. Raises PublicationConflictError if the target has
        others meanwhile: replacing them would lose rows.
        """
        prepared = self.prepared_folder(ticket)
        written = str(prepared / _WRITTEN)
        files, count = write_files(rows, written, format)
        replaces = _folders_to_replace(ticket, files)
        old_markers = self.marker_files(ticket) if files and format.partition_by else frozenset()
        gone = _files_to_remove(ticket, replaces, old_markers)
        if merged is not None and (changed := sorted(gone ^ merged)):
            raise PublicationConflictError(
                f"{ticket.target} has changed while its rows were merged ({changed[0]}); nothing of this is visible\n"
                "  hint: a retry merges the rows that are there now"
            )
        has_rows = bool(files)
        if not has_rows and not data_files(Path(ticket.target)) - gone:
            files = write_empty_file(self.spark, rows, written, format)
        is_marker = bool(format.partition_by) and not has_rows
        names = {
            file.name: self._published_name(file, number, is_marker=is_marker)
            for number, file in enumerate(files)
        }
        remove = names_to_remove(Path(ticket.target), gone, replaces, ticket.own)
        in_the_way = find_in_the_way(Path(ticket.target), names.values(), replaces, remove)
        _arrange(names, prepared)
        return Intent(
            number=ticket.number,
            identity=self.ledger.layout.identity,
            plan_id=self.ledger.plan_id,
            operator_id=ticket.operator_id,
            execution_id=self.execution_id,
            target=ticket.target,
            prepared=str(prepared),
            columns=tuple((name, type) for name, type in rows.dtypes),
            add=tuple(names.values()),
            remove=tuple(sorted(remove | in_the_way)),
            replaces=replaces,
            markers=tuple(names.values()) if is_marker else (),
            merged=ticket.mode is SinkMode.MERGE,
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
        shutil.rmtree(self.prepared_folder(ticket), ignore_errors=True)
        remove_empty(self.prepared_folder(ticket))

    def _own_files(self, target: str, operator_id: OperatorId, before: int) -> frozenset[str]:
        earlier = self.ledger.of_this_run(target, operator_id, before, given_up=True)
        return frozenset(
            name
            for intent in earlier
            if isinstance(intent, Intent) and not intent.merged
            for name in intent.add
        )

    def _published_name(self, file: WrittenFile, number: int, *, is_marker: bool) -> str:
        ending = f"{number:05}-{path_segment(self.execution_id)}{file.suffix}"
        return f"{MARKER}{ending}" if is_marker else str(Path(file.folder, f"part-{ending}"))

    def _carry_out(self, intent: Publication) -> None:
        assert isinstance(intent, Intent), "a folder's ledger has nothing else"
        carry_out(intent)
        self.ledger.finish(intent)


def _files_to_remove(
    ticket: Ticket, replaces: tuple[str, ...], markers: frozenset[str]
) -> frozenset[str]:
    """Return the files that the new ones replace: those that the mode replaces, and those of this run's attempts."""
    there = data_files(Path(ticket.target))
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
    if ticket.mode in _REPLACES_ALL:
        return (WHOLE,)
    if ticket.mode is SinkMode.OVERWRITE_PARTITIONS:
        return tuple(sorted({file.folder for file in written}))
    return ()


def _renew(publisher: Publisher, ticket: Ticket, intent: Intent, others: Others) -> Intent:
    """Return the intent after others have published, with the files to remove determined again."""
    columns = {other.columns for other in others if isinstance(other, Intent)}
    if marker_files(intent.add, intent.markers) or columns - {intent.columns}:
        raise DecisionLostError(
            f"another execution has published {intent.target} with other columns since this one began; "
            "nothing of this one is visible"
        )
    target, now = Path(intent.target), replace(ticket, number=ticket.number + len(others))
    in_folders = any("/" in name for name in intent.add)
    markers = publisher.marker_files(now) if in_folders else frozenset()
    gone = _files_to_remove(now, intent.replaces, markers)
    remove = names_to_remove(target, gone, intent.replaces, ticket.own)
    in_the_way = find_in_the_way(target, intent.add, intent.replaces, remove)
    return replace(intent, remove=tuple(sorted(remove | in_the_way)))


def _arrange(names: Mapping[str, str], prepared: Path) -> None:
    """Move written files under their final names into a folder that contains nothing else."""
    ready = prepared / _READY
    ready.mkdir(parents=True)
    for written, name in names.items():
        (ready / name).parent.mkdir(parents=True, exist_ok=True)
        (prepared / _WRITTEN / written).rename(ready / name)
    for name in (_WRITTEN, _ASIDE):
        shutil.rmtree(prepared / name, ignore_errors=True)


def _names(document: Mapping[str, object], field: str) -> tuple[str, ...] | None:
    found = document.get(field)
    return tuple(map(str, found)) if isinstance(found, list) else None
