"""Publish what a sink wrote: all of it, once (DESIGN D15).

    settle     carry out what others decided about this target and did not finish; take the next number
    prepare    rows are written beside the target, where no reader looks
    intend     put, under that number: these files will be added, these removed; from here on the outcome is decided
    publish    move the new files in, take the old ones away
    done       put

Numbers count the publications of one target, whichever run or pipeline makes them. Two executions that took the same
number cannot both put their intent: the loser changes nothing. File names hold the execution's id, so doing a step
again, or beside another process that does it, changes nothing.
"""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession

from graph_compiler.deployment.places import local_path
from graph_compiler.deployment.staging_layout import StagingLayout
from graph_compiler.deployment.wire import from_json, to_json
from graph_compiler.errors import PublicationConflictError, PublicationError
from graph_compiler.identifiers import OperatorId, path_segment
from graph_compiler.spark_runtime.commit_store import CommitStore, sync_folder
from graph_compiler.spark_runtime.data_files import written_partitions


@dataclass(frozen=True, slots=True, kw_only=True)
class PublishedFile:
    """A file to move from where it was prepared to the name it will have in the target."""

    prepared: str
    name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Intent:
    """What one execution is about to do to a target; `remove` are paths relative to it."""

    number: int
    pipeline: str
    run_id: str
    operator_id: OperatorId
    execution_id: str
    target: str
    prepared: str
    add: tuple[PublishedFile, ...]
    remove: tuple[str, ...]
    rows: int
    bytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Ticket:
    """A sink's claim to the next publication of its target."""

    operator_id: OperatorId
    target: str
    number: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Publisher:
    """Publishes the sinks of one execution."""

    spark: SparkSession
    store: CommitStore
    layout: StagingLayout
    execution_id: str

    def settle(self, operator_id: OperatorId, path: str) -> Ticket:
        """Finish what others began with the target, and take the next number.

        Raises PublicationError for a target that is no local path, or that another sink of this run wrote.
        """
        local = local_path(path)
        if local is None:
            raise PublicationError(
                f"its target is '{path}'; allowed: an absolute path or a file: URI"
            )
        target = str(local)
        keys = set(self.store.keys(self.layout.publications(target)))
        number = 0
        while self.layout.intent(target, number) in keys:
            if self.layout.done(target, number) not in keys:
                self._carry_out(self._intent(target, number))
            number += 1
        last = self._intent(target, number - 1) if number else None
        if last is not None and self._is_of_this_run(last) and last.operator_id != operator_id:
            raise PublicationError(f"its target {target} was written by another sink of this run")
        return Ticket(operator_id=operator_id, target=target, number=number)

    def prepare(self, ticket: Ticket, rows: DataFrame) -> Intent:
        """Write the rows beside the target; nothing is visible yet."""
        target = Path(ticket.target)
        prepared = self._prepared(ticket)
        rows.write.parquet(str(prepared))
        partitions = written_partitions(self.spark, str(prepared), partitions=None)
        suffix = f"-{path_segment(self.execution_id)}.parquet"
        files = [(file, partition.index) for partition in partitions for file in partition.files]
        return Intent(
            number=ticket.number,
            pipeline=self.layout.pipeline,
            run_id=self.layout.run_id,
            operator_id=ticket.operator_id,
            execution_id=self.execution_id,
            target=ticket.target,
            prepared=str(prepared),
            add=tuple(
                PublishedFile(prepared=file.name, name=f"part-{index:05}-{number:03}{suffix}")
                for number, (file, index) in enumerate(files)
            ),
            remove=tuple(sorted(_data_files(target))),
            rows=sum(file.rows for file, _ in files),
            bytes=sum(file.bytes for file, _ in files),
        )

    def publish(self, intent: Intent) -> None:
        """Record the intent and carry it out; raises PublicationConflictError if another execution was first."""
        key = self.layout.intent(intent.target, intent.number)
        if not self.store.put_if_absent(key, to_json(intent).encode()):
            raise PublicationConflictError(
                f"another execution has published {intent.target} since this one began; nothing of this one is visible"
            )
        self._carry_out(intent)

    def discard(self, ticket: Ticket) -> None:
        """Remove what was prepared and will not be published."""
        _remove_prepared(self._prepared(ticket))

    def _prepared(self, ticket: Ticket) -> Path:
        target = Path(ticket.target)
        return target.parent / f".{target.name}.graph_compiler" / path_segment(self.execution_id)

    def _intent(self, target: str, number: int) -> Intent:
        content = self.store.get(self.layout.intent(target, number))
        assert content is not None, "intents are never deleted"
        return from_json(Intent, content)

    def _is_of_this_run(self, intent: Intent) -> bool:
        return (intent.pipeline, intent.run_id) == (self.layout.pipeline, self.layout.run_id)

    def _carry_out(self, intent: Intent) -> None:
        target, prepared = Path(intent.target), Path(intent.prepared)
        target.mkdir(parents=True, exist_ok=True)
        for file in intent.add:
            _move(prepared / file.prepared, target / file.name)
        for name in intent.remove:
            (target / name).unlink(missing_ok=True)
        nested = {Path(name).parts[0] for name in intent.remove if len(Path(name).parts) > 1}
        for folder in sorted(nested):
            if not _data_files(target / folder):  # checksums and the like may be left in it
                shutil.rmtree(target / folder, ignore_errors=True)
        sync_folder(target)
        _remove_prepared(prepared)
        self.store.put_if_absent(self.layout.done(intent.target, intent.number), b"{}")


def _move(source: Path, destination: Path) -> None:
    """Move a file, unless it has been moved; raises PublicationConflictError where it is in neither place."""
    try:
        source.rename(destination)
    except FileNotFoundError:
        if not destination.exists():
            raise PublicationConflictError(
                f"{source} is gone, and {destination} is not there: another execution has published since"
            ) from None


def _remove_prepared(prepared: Path) -> None:
    shutil.rmtree(prepared, ignore_errors=True)
    if prepared.parent.is_dir() and not any(prepared.parent.iterdir()):
        prepared.parent.rmdir()


def _data_files(target: Path) -> list[str]:
    """List the files readers of the target see, those of partition folders too; `_` and `.` hide from Spark."""
    found = [path.relative_to(target) for path in target.rglob("*") if path.is_file()]
    return [str(path) for path in found if not any(part[0] in "_." for part in path.parts)]
