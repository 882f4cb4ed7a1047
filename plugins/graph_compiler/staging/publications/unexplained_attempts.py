"""Attempts that may have decided a publication whose record nobody can read any more.

What a sink is about to make is recorded with its target before anything is made, and so before anything is decided. So
a publication that cannot be read was decided by one of the attempts that recorded its target, and whose publications
cannot be found among those that can be read; or by one whose run has been removed since.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from pathlib import Path

from graph_compiler.deployment.documents.staging_layout import (
    OUTCOME,
    PREPARED,
    REMOVED,
    REPORT,
    StagingLayout,
)
from graph_compiler.errors import DamagedDocumentError
from graph_compiler.staging.publications.preparations import Preparation
from graph_compiler.staging.store.bounded_read import folders_in, names_in, read_bytes
from graph_compiler.staging.store.read_document import decode_object, read_document

PUBLISHED, TAKEN_AWAY = '{"published": true}', '{"published": false}'
"""What is recorded where nothing of what a sink prepared is left."""


@dataclass(frozen=True, slots=True, kw_only=True)
class UnexplainedAttempt:
    """An attempt that recorded a target, or whose record of it cannot be read; `record` says that nothing is left."""

    execution_id: str
    record: str
    has_ended: bool
    is_closed: bool

    @property
    def way_out(self) -> str:
        """Return the command that says that nothing of the attempt is in the target."""
        return f"echo '{TAKEN_AWAY}' > '{self.record}'"


def of_run(
    layout: StagingLayout, target: str, explained: Collection[str]
) -> tuple[UnexplainedAttempt, ...]:
    """Return the attempts of a run that may have published to a target, but for those that are `explained`."""
    return tuple(_in_run(Path(layout.run), target, explained))


def alive(root: str, target: str, explained: Collection[str]) -> tuple[UnexplainedAttempt, ...]:
    """Return the attempts of any run that may be carrying out a publication to a target right now."""
    runs = (
        Path(root, pipeline, run)
        for pipeline in folders_in(root)
        if not pipeline.startswith(".")
        for run in folders_in(str(Path(root, pipeline)))
    )
    found = (attempt for run in runs for attempt in _in_run(run, target, explained))
    return tuple(one for one in found if not one.has_ended and not one.is_closed)


def _in_run(run: Path, target: str, explained: Collection[str]) -> Iterator[UnexplainedAttempt]:
    for region in folders_in(str(run / "tasks")):
        for name in folders_in(str(run / "tasks" / region)):
            attempt = run / "tasks" / region / name
            has_ended = (attempt / OUTCOME).exists() or (attempt / REPORT).exists()
            for record in names_in(str(attempt / PREPARED)):
                if record.endswith(REMOVED) or not record.endswith(".json"):
                    continue
                path = attempt / PREPARED / record
                removed = path.with_name(path.name.removesuffix(".json") + REMOVED)
                execution_id = _names(path, target)
                is_closed = removed.exists()
                if execution_id in explained or execution_id is None or _is_taken_away(removed):
                    continue
                yield UnexplainedAttempt(
                    execution_id=execution_id or name,
                    record=str(removed),
                    has_ended=has_ended,
                    is_closed=is_closed,
                )


def _names(record: Path, target: str) -> str | None:
    """Return whose record of a target this is; empty where it cannot be read, None where it is of another target."""
    try:
        found = read_document(str(record), Preparation)
    except DamagedDocumentError:
        return ""
    return found.execution_id if found and found.prepared.target == target else None


def _is_taken_away(removed: Path) -> bool:
    """Whether a record says that what was prepared never came into the target; earlier versions did not say."""
    try:
        content = read_bytes(str(removed))
        document = {} if content is None else decode_object(content, str(removed))
    except DamagedDocumentError:
        return False
    return document.get("published") is False
