"""Which tasks appear, disappear or change between two versions, and why. They are identified by id, as in Airflow."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from graph_compiler.explain.diff.plan_changes import TaskChange, TaskChangeKind, fact_changes
from graph_compiler.explain.diff.plan_pairing import Pairing
from graph_compiler.explain.diff.plan_summary import TaskSummary
from graph_compiler.identifiers import listing


def task_changes(pairing: Pairing) -> Iterator[TaskChange]:
    """Yield changed tasks: first new and existing ones, in an order in which they can run, then removed ones."""
    left = {task.id: task for task in pairing.before.tasks}
    for task in pairing.now.tasks:
        old = left.pop(task.id, None)
        if old is None:
            yield TaskChange(kind=TaskChangeKind.ADDED, task=task.id)
        elif reasons := tuple(_reasons(old, task, pairing)):
            yield TaskChange(kind=TaskChangeKind.CHANGED, task=task.id, reasons=reasons)
    for id in left:
        yield TaskChange(kind=TaskChangeKind.REMOVED, task=id)


def _reasons(old: TaskSummary, new: TaskSummary, pairing: Pairing) -> Iterator[str]:
    yield from _operator_reasons(old, new, pairing)
    yield from _result_reasons(old, new, pairing)
    yield from _read_reasons(old, new, pairing)
    for change in fact_changes(old.settings, new.settings):
        yield str(change)


def _operator_reasons(old: TaskSummary, new: TaskSummary, pairing: Pairing) -> Iterator[str]:
    had = {place: pairing.operators.get(place) for place in new.operators}
    before, now = pairing.before.operators, pairing.now.operators
    came = [place for place, old_place in had.items() if old_place not in old.operators]
    moved: dict[str, list[str]] = {}
    for task in pairing.before.tasks:
        from_it = [now[place].name for place in came if had[place] in task.operators]
        moved |= {task.id: from_it} if from_it else {}
    new_names = [now[place].name for place in came if had[place] is None]
    went = [before[place].name for place in old.operators if place not in had.values()]
    changed = [
        now[place].name
        for place, old_place in had.items()
        if old_place in old.operators and pairing.is_redefined(place)
    ]
    yield from _sentence("runs", new_names, "too")
    for task_id, names in moved.items():
        yield from _sentence("runs", names, f"too, moved from task '{task_id}'")
    yield from _sentence("no longer runs", went)
    yield from _sentence("changed:", changed)


def _result_reasons(old: TaskSummary, new: TaskSummary, pairing: Pairing) -> Iterator[str]:
    came, went = _added_and_removed(old.stages, new.stages, pairing)
    yield from _sentence("stages", came)
    yield from _sentence("no longer stages", went)


def _read_reasons(old: TaskSummary, new: TaskSummary, pairing: Pairing) -> Iterator[str]:
    came, went = _added_and_removed(old.reads, new.reads, pairing)
    yield from _sentence("reads", came, "from staging")
    yield from _sentence("no longer reads", went, "from staging")
    results = {result.id: result for result in pairing.now.results}
    kept = [
        (pairing.results[id], results[id])
        for id in new.reads
        if id in pairing.results and pairing.results[id].id in old.reads
    ]
    other = [now for before, now in kept if before.fingerprint != now.fingerprint]
    moved = [
        now for before, now in kept if before.fingerprint == now.fingerprint and before.id != now.id
    ]
    yield from _sentence("reads different rows of", map(pairing.now.result_name, other))
    yield from _sentence("reads under a different id:", map(pairing.now.result_name, moved))


def _added_and_removed(
    before: Iterable[str], now: Iterable[str], pairing: Pairing
) -> tuple[list[str], list[str]]:
    """Return the names of added results, and those of removed results."""
    old_ids = set(before)
    kept = {
        id: pairing.results[id].id
        for id in (result.id for result in pairing.now.results)
        if id in pairing.results
    }
    new_ids = set(now)
    came = [
        pairing.now.result_name(result)
        for result in pairing.now.results
        if result.id in new_ids and kept.get(result.id) not in old_ids
    ]
    stay = {kept[result.id] for result in pairing.now.results if result.id in new_ids & set(kept)}
    went = [
        pairing.before.result_name(result)
        for result in pairing.before.results
        if result.id in old_ids and result.id not in stay
    ]
    return came, went


def _sentence(words: str, names: Iterable[str], after: str = "") -> Iterator[str]:
    known = list(names)
    if known:
        yield f"{words} {listing(known)} {after}".rstrip()
