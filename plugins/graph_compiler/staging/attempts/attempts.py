"""The attempts at a region in one run, in the order in which they started."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress

from graph_compiler.declaration.retention import HISTORY_SIZE
from graph_compiler.deployment.documents.descriptor import TaskDeploymentDescriptor
from graph_compiler.deployment.documents.run_identity import RunIdentity, with_identity
from graph_compiler.deployment.documents.staging_layout import DESCRIPTOR, MARKER, TASKS, StagingLayout
from graph_compiler.deployment.documents.wire import Json
from graph_compiler.errors import DamagedDocumentError, GraphCompilerError, OtherVersionError
from graph_compiler.identifiers import RegionId, TaskName, listing, name_of_segment, path_segment
from graph_compiler.staging.attempts.attempt import Attempt, read_attempt
from graph_compiler.staging.attempts.attempt_documents import AttemptDocuments, KeptExecution
from graph_compiler.staging.attempts.execution_order import in_order
from graph_compiler.staging.store.read_document import decode_object
from graph_compiler.staging.store.staging_store import StagingStore

ALL = 10_000
"""More attempts than any restart strategy considers."""


class ExecutionNotFoundError(GraphCompilerError):
    """The staging root does not have this run, task or attempt."""


def find_run(store: StagingStore, layout: StagingLayout) -> None:
    """Raise ExecutionNotFoundError, which names the existing runs, if there is no such run."""
    if store.is_there(layout.run):
        return
    wanted = layout.identity
    ids = (identity_of(store, f"{layout.runs}/{name}") for name in store.folders(layout.runs))
    known = sorted(found.run_id for found in ids if found and found.owner == wanted.owner)
    raise ExecutionNotFoundError(
        f"there is no run '{wanted.run_id}' of '{wanted.owner}' in {layout.root}\n  found: {listing(known)}"
    )


def identity_of(store: StagingStore, run: str) -> RunIdentity | None:
    """Return the run of a folder, None if neither its name nor a document in it identifies one.

    Raises OSError.
    """
    _, folder, name = run.rsplit("/", 2)
    if (known := RunIdentity.of_folder(folder, name)) is not None:
        return known
    return next(filter(None, (RunIdentity.of_folder(folder, name, each) for each in _recorded(store, run))), None)


def _recorded(store: StagingStore, run: str) -> Iterator[Json]:
    """Yield the identities in the documents of a run: its marker, or its descriptors if it has none.

    Where folders are not renamed, `gc` removes the marker first.
    """
    keys = [f"{run}/{MARKER}"]
    if not store.is_there(keys[0]):
        keys = [file.key for file in store.files(f"{run}/{TASKS}") if file.key.endswith(f"/{DESCRIPTOR}")]
    for key in keys:
        with suppress(DamagedDocumentError):
            yield with_identity(decode_object(store.get(key) or b"", key)).get("identity")


def regions_of(store: StagingStore, layout: StagingLayout) -> tuple[RegionId, ...]:
    """Return the regions that a run has attempts of, in the order in which their first attempts started, by clocks."""
    begun: dict[RegionId, float] = {}
    for name in store.folders(layout.tasks):
        region_id = RegionId(name_of_segment(name) or name)
        times = (one.began() for one in in_order(store, layout, region_id))
        if found := [time for time in times if time is not None]:
            begun[region_id] = min(found)
    return tuple(sorted(begun, key=lambda id: (begun[id], id)))


def executions(
    store: StagingStore, layout: StagingLayout, region_id: RegionId, *, size: int = HISTORY_SIZE
) -> tuple[Attempt, ...]:
    """Return the current attempt at a region and at most `size` before it, first to last.

    An execution that has kept the work of an earlier one is no attempt.
    """
    begun = attempt_documents(store, layout, region_id)
    found = (read_attempt(one, is_last=one is begun[-1]) for one in begun[-size - 1 :])
    return tuple(attempt for attempt in found if attempt is not None)


def task_names(store: StagingStore, layout: StagingLayout, region_ids: Iterable[RegionId]) -> tuple[TaskName, ...]:
    """Return the names of the tasks that have run regions, each once; that of the region if that is not known."""
    found: dict[TaskName, None] = {}
    for region_id in region_ids:
        try:
            last = last_descriptor(store, layout, region_id)
        except (DamagedDocumentError, OtherVersionError):
            last = None
        found[last.region.task_name if last else TaskName(region_id)] = None
    return tuple(found)


def count_attempts(store: StagingStore, layout: StagingLayout, region_id: RegionId) -> int:
    """Return how many attempts at a region have begun."""
    return len(attempt_documents(store, layout, region_id))


def kept_executions(store: StagingStore, layout: StagingLayout, region_id: RegionId) -> Mapping[str, KeptExecution]:
    """Return what executions of a region have kept instead of doing its work, by their ids.

    try 1    stage    FINISHED          report       FAILED
    try 2    stage    kept from try 1   report       runs again
    """
    found = {}
    for documents in in_order(store, layout, region_id):
        with suppress(DamagedDocumentError):
            if (kept := documents.read_kept()) is not None:
                found[documents.name] = kept
    return found


def attempt_documents(store: StagingStore, layout: StagingLayout, region_id: RegionId) -> list[AttemptDocuments]:
    """Return the documents of attempts in the order in which they started: of executions that kept no earlier work."""
    return [one for one in in_order(store, layout, region_id) if not one.is_kept()]


def logical_date_of(attempts: Iterable[Attempt]) -> str | None:
    """Return the logical date of the run that these attempts belong to, None if it has none."""
    return next((one.logical_date for one in attempts if one.logical_date), None)


def history_size(store: StagingStore, layout: StagingLayout, region_id: RegionId) -> int:
    """Return how many earlier attempts to show, according to the last attempt's descriptor."""
    begun = in_order(store, layout, region_id)
    try:
        last = begun[-1].read_raw_descriptor() if begun else None
        found = last["region"]["retention"]["attempts_history_size"] if last else HISTORY_SIZE  # type: ignore[index, call-overload]  # looked at below
    except (DamagedDocumentError, LookupError, TypeError):  # older compilers wrote none
        return HISTORY_SIZE
    return found if isinstance(found, int) and found >= 0 else HISTORY_SIZE


def last_execution(store: StagingStore, layout: StagingLayout, region_id: RegionId) -> Attempt | None:
    """Return the current attempt at a region, None if there is none."""
    return next(iter(executions(store, layout, region_id, size=0)), None)


def last_descriptor(store: StagingStore, layout: StagingLayout, region_id: RegionId) -> TaskDeploymentDescriptor | None:
    """Return the descriptor of a region's last attempt, None if there is none.

    Raises DamagedDocumentError if it is no longer readable.
    """
    begun = in_order(store, layout, region_id)
    return begun[-1].read_descriptor() if begun else None


def is_superseded(store: StagingStore, layout: StagingLayout, region_id: RegionId, execution_id: str) -> bool:
    """Whether another attempt at a region started after an execution; one without a descriptor is not superseded."""
    names = [one.folder.rpartition("/")[2] for one in in_order(store, layout, region_id)]
    return path_segment(execution_id) in names[:-1]


def failure_times(
    store: StagingStore, layout: StagingLayout, region_ids: Iterable[RegionId], *, but: str
) -> tuple[float, ...]:
    """Return when tries of a task's regions failed, in order, except one; for one that died, when it started."""
    found: dict[str, float] = {}
    for region_id in region_ids:
        for one in executions(store, layout, region_id, size=ALL):
            if one.execution_id != but and not one.is_finished:
                ended = one.ended or one.started
                found[one.execution_id] = max(ended, found.get(one.execution_id, 0.0))
    return tuple(sorted(found.values()))
