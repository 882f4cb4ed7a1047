"""A PlanDiff as text: one line for a pull request, and below it the details."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from graph_compiler.deployment.documents.stream import Continuation, StateFate
from graph_compiler.deployment.documents.wire import Json, to_wire
from graph_compiler.explain.diff.plan_changes import (
    OperatorChange,
    OperatorChangeKind,
    PlanDiff,
    ResultChangeKind,
    StreamChange,
    TaskChange,
)
from graph_compiler.identifiers import counted, listing

_NAMED = 6
_MOST_COLUMNS = 20
_SIGN = {"ADDED": "+", "REMOVED": "-", "CHANGED": "~"}
_WORDS = {
    OperatorChangeKind.ADDED: "added",
    OperatorChangeKind.REMOVED: "removed",
    OperatorChangeKind.CHANGED: "changed",
    OperatorChangeKind.AFFECTED: "affected",
    OperatorChangeKind.RENAMED: "renamed",
    OperatorChangeKind.MOVED: "with a different id",
}
_RESULT_WORDS = {
    ResultChangeKind.REUSABLE: "stays reusable",
    ResultChangeKind.MOVED: "is recomputed: same rows, different id; to keep it, set uid or uid_hash on its head",
    ResultChangeKind.RECOMPUTED: "is recomputed: its fingerprint differs",
    ResultChangeKind.ADDED: "is staged now",
    ResultChangeKind.REMOVED: "is no longer staged",
}
_CONTINUATION_WORDS = {
    Continuation.CHECKPOINT: "the checkpoint is continued",
    Continuation.SAVEPOINT: "refused; continued from a savepoint",
    Continuation.SAVEPOINT_WITHOUT_STATE: "refused; continued from a savepoint with --allow-non-restored-state",
    Continuation.REFUSED: "refused, also from a savepoint",
}
_FATE_WORDS = {
    StateFate.KEPT: "its state is kept",
    StateFate.MOVED: "its state is kept, at another place",
    StateFate.CHANGED: "its state does not fit any more",
    StateFate.OTHER_VALUES: "its state is that of other values of parameters",
    StateFate.PARTIAL: "its state was kept by an earlier version, without what nothing read",
    StateFate.DROPPED: "its state is dropped",
    StateFate.NEW: "it has no state yet, and cannot begin one in this stream",
}


def diff_summary(diff: PlanDiff) -> str:
    """Return the summary line for a pull request."""
    if diff.is_empty:
        return f"{diff.pipeline}: nothing changed ({counted(diff.tasks_now, 'task')})"
    name = diff.pipeline if diff.pipeline == diff.pipeline_before else f"{diff.pipeline_before} → {diff.pipeline}"
    old = [result for result in diff.results if result.kind is not ResultChangeKind.ADDED]
    reusable = sum(result.kind is ResultChangeKind.REUSABLE for result in old)
    parts = [
        _counts("operators", [change.kind.value for change in diff.operators]),
        f"{reusable} of {len(old)} staged results reusable" if old else "",
        "parameters or schedule changed" if diff.run else "",
        _counts_of_streams(diff.streams),
        _counts("tasks", [change.kind.value for change in diff.tasks]),
    ]
    return f"{name}: {' · '.join(part for part in parts if part)}"


def diff_text(diff: PlanDiff) -> str:
    """Return the summary, and all differences."""
    return "\n".join(_lines(diff))


def _lines(diff: PlanDiff) -> Iterator[str]:
    yield diff_summary(diff)
    if diff.pipeline != diff.pipeline_before:
        yield "  a different name is a different Dag: staged results of the old one are not reused"
    sections = {
        "session": [f"  ~ {change}" for change in diff.session],
        "parameters and schedule": [f"  ~ {change}" for change in diff.run],
        "operators": list(_operator_lines(diff.operators)),
        "staged results": [f"  {result.name} {_RESULT_WORDS[result.kind]}" for result in diff.results],
        "streams": list(_stream_lines(diff.streams)),
        "tasks": [line for task in diff.tasks for line in _task_lines(task)],
    }
    for title, lines in sections.items():
        if lines:
            yield from ("", title, *lines)


def _task_lines(task: TaskChange) -> Iterator[str]:
    yield f"  {_SIGN[task.kind]} {task.task}"
    yield from (f"      {reason}" for reason in task.reasons)


def _stream_lines(streams: Sequence[StreamChange]) -> Iterator[str]:
    """Yield how each stream continues, and what becomes of the state of each operator."""
    for stream in streams:
        why = f": {stream.why}" if stream.why else ""
        yield f"  {listing(stream.sources)}: {_CONTINUATION_WORDS[stream.continuation]}{why}"
        for state in stream.state:
            yield f"      {state.name}: {_FATE_WORDS[state.fate]}"


def _operator_lines(changes: Sequence[OperatorChange]) -> Iterator[str]:
    """Yield a line for each edited operator, and one line for all operators that change as a consequence."""
    for change in changes:
        if sign := _SIGN.get(change.kind):
            yield f"  {sign} {_name(change)}"
        elif change.facts or change.columns:
            yield f"  · {_name(change)}"
        yield from (f"      {fact}" for fact in change.facts)
        yield from (f"      {column}" for column in change.columns[:_MOST_COLUMNS])
        if (more := len(change.columns) - _MOST_COLUMNS) > 0:
            yield f"      and {more} more columns"
    for kind, words in _WORDS.items():
        alike = [one for one in changes if one.kind == kind and not one.facts and not one.columns]
        if alike and kind not in _SIGN:
            about = "affected by changes before them" if kind is OperatorChangeKind.AFFECTED else words
            yield f"  · {about}: {_some([_name(one) for one in alike])}"


def _name(change: OperatorChange) -> str:
    names = [name for name in (change.name_before, change.name) if name is not None]
    return " → ".join(dict.fromkeys(names))


def _some(names: Sequence[str]) -> str:
    if len(names) > _NAMED:
        return f"{', '.join(names[: _NAMED - 1])} and {len(names) - _NAMED + 1} more"
    return listing(names)


def _counts(noun: str, kinds: Sequence[str]) -> str:
    found = [f"{kinds.count(kind)} {words}" for kind, words in _WORDS.items() if kind in kinds]
    return f"{noun}: {', '.join(found)}" if found else ""


def _counts_of_streams(streams: Sequence[StreamChange]) -> str:
    kept = sum(stream.continuation is Continuation.CHECKPOINT for stream in streams)
    return f"{kept} of {counted(len(streams), 'stream')} continued" if kept < len(streams) else ""


def diff_json(diff: PlanDiff) -> dict[str, Json]:
    """Return the summary line for a pull request, and all differences."""
    document = to_wire(diff)
    assert isinstance(document, dict)
    return {"summary": diff_summary(diff), **document}
