"""An alert: what failed, why, whether Airflow tries again, what that repeats; as a value, and in words.

    context of a callback, documents of the try  →  Alert  →  Message  →  a template for each form

What is not known where the callback runs is None, and `unknown` says why. A message has the words that all forms show,
in the same order. Its texts are printable; all but causes are one line.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence, Set
from dataclasses import dataclass, fields, is_dataclass, replace
from typing import Any, TypeVar, cast
from unicodedata import category

from graph_compiler.deployment.documents.descriptor import RegionDescriptor
from graph_compiler.identifiers import RegionId, counted, listing

Value = TypeVar("Value")


@dataclass(frozen=True, slots=True, kw_only=True)
class Link:
    """A page about a failure."""

    label: str
    url: str


@dataclass(frozen=True, slots=True, kw_only=True)
class AirflowTry:
    """Airflow's try, from 1, of at most `tries`. `seconds`: the delay of the next one.

    `is_retried`: whether Airflow tries again; `why_not` says why it does not although tries are left.
    """

    try_number: int | None = None
    tries: int | None = None
    is_retried: bool | None = None
    seconds: float | None = None
    why_not: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RepeatedRegion:
    """A region that runs again, with its operators. `is_stream`: only the batch that has failed is repeated."""

    region: str
    operators: tuple[str, ...]
    is_stream: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ReusedResult:
    """A staged result that is read again, not computed again; `task` has staged it."""

    name: str
    task: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Repetition:
    """What the next try of a task does; `kept` are the regions of the task that have finished."""

    regions: tuple[RepeatedRegion, ...]
    kept: tuple[str, ...] = ()
    reused: tuple[ReusedResult, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class FailedTask:
    """A failed try of a task. `pipeline` None: it is not a task of a pipeline.

    `operator` is the one that failed, `last_seen` what the driver was doing when it died.
    """

    task_id: str
    map_index: int | None
    pipeline: str | None = None
    group: str | None = None
    operator: str | None = None
    declared_at: str | None = None
    last_seen: str | None = None
    cause: str | None = None
    attempt: AirflowTry = AirflowTry()
    repetition: Repetition | None = None
    links: tuple[Link, ...] = ()
    unknown: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """Its id, with the index of a mapped task."""
        return self.task_id if self.map_index is None else f"{self.task_id} [{self.map_index}]"


@dataclass(frozen=True, slots=True, kw_only=True)
class Alert:
    """What people read: of one task, or of a run that failed.

    `reason` is Airflow's word for why the run failed, None for an alert of a task. `others` are ids of failed tasks
    without details, `not_run` is the number of tasks that did not run because others failed.
    """

    dag_id: str
    run_id: str
    reason: str | None = None
    tasks: tuple[FailedTask, ...] = ()
    others: tuple[str, ...] = ()
    not_run: int = 0
    links: tuple[Link, ...] = ()
    unknown: tuple[str, ...] = ()


def redacted(value: Value, redact: Callable[[str], str]) -> Value:
    """Return a value with all texts in it redacted, before anything cuts or escapes them."""
    found: Any = value
    if isinstance(value, str):
        found = redact(value)
    elif isinstance(value, tuple):
        found = tuple(redacted(one, redact) for one in value)
    elif is_dataclass(value) and not isinstance(value, type):
        parts = {each.name: redacted(getattr(value, each.name), redact) for each in fields(value)}
        found = replace(value, **parts)
    return cast("Value", found)


def repetition(
    regions: Sequence[RegionDescriptor], finished: Set[RegionId], others: Sequence[RegionDescriptor]
) -> Repetition:
    """Return what a task of `regions` repeats if those `finished` are kept; `others` are of the pipeline's other tasks.

    Of results that several operators read, each is named once, by the operator that computed it.
    """
    again = tuple(region for region in regions if region.region_id not in finished)
    known = (*regions, *others)
    names = {each.node_id: each.name for region in known for each in region.operators}
    task_of = {region.region_id: str(region.task_name) for region in known}
    running = {region.region_id for region in again}
    reused = {
        (read.node_id, read.output_tag): read.staged.producer
        for region in again
        for operator in region.operators
        for read in operator.inputs
        if read.staged is not None and read.staged.producer not in running
    }
    return Repetition(
        regions=tuple(
            RepeatedRegion(
                region=str(one.region_id),
                operators=tuple(each.name for each in one.operators),
                is_stream=one.stream is not None,
            )
            for one in again
        ),
        kept=tuple(str(each.region_id) for each in regions if each.region_id in finished),
        reused=tuple(
            ReusedResult(
                name=names.get(node_id, producer) + (f".{tag}" if tag else ""),
                task=task_of.get(producer, str(producer)),
            )
            for (node_id, tag), producer in reused.items()
        ),
    )


# The words of an alert.

MOST_OF_NAME = 250
MOST_OF_CAUSE = 2_000
MOST_OF_SEVERAL = 600
"""The longest cause where an alert has several."""
MOST_LINES = 30
MOST_NAMES = 12
_MOST_OF_URL = 2_000
_NO_CAUSE = "not known here: see the log"
_COLORS = re.compile(r"\x1b\[[0-9;]*[A-Za-z]")
_JAVA_FRAME = re.compile(r"\s*(at [\w.$<>/@-]+\(.*\)|\.\.\. \d+ (more|common frames omitted))\s*")


@dataclass(frozen=True, slots=True, kw_only=True)
class Fact:
    """A name and its value, each one line."""

    label: str
    value: str


@dataclass(frozen=True, slots=True, kw_only=True)
class MessagePart:
    """A failed task; `repeats` are lines below `repeats_title`."""

    title: str | None
    facts: tuple[Fact, ...]
    cause: str
    repeats_title: str
    repeats: tuple[str, ...]
    links: tuple[Link, ...]
    unknown: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    """What people read. `title` is one line, also the subject of a mail."""

    title: str
    facts: tuple[Fact, ...]
    parts: tuple[MessagePart, ...]
    links: tuple[Link, ...]
    unknown: tuple[str, ...]


def message_of(alert: Alert) -> Message:
    """Return the words of an alert."""
    is_run = alert.reason is not None
    facts = [_fact("Dag", alert.dag_id), _fact("Run", alert.run_id)]
    if is_run:
        facts += [_fact("Reason", alert.reason or "unknown"), *_numbers(alert)]
    most = MOST_OF_CAUSE if len(alert.tasks) == 1 else MOST_OF_SEVERAL
    parts = [_part(task, most, is_run=is_run) for task in alert.tasks]
    unknown = tuple(one_line(one, MOST_OF_SEVERAL) for one in alert.unknown)
    if not is_run and parts:  # in one list
        parts[-1] = replace(parts[-1], unknown=(*parts[-1].unknown, *unknown))
        unknown = ()
    return Message(
        title=_title(alert), facts=tuple(facts), parts=tuple(parts), links=_links(alert.links), unknown=unknown
    )


def _title(alert: Alert) -> str:
    if alert.reason is not None or len(alert.tasks) != 1:
        failed = len(alert.tasks) + len(alert.others)
        tasks = f", {counted(failed, 'failed task')}" if failed else ""
        return one_line(f"{one_line(alert.dag_id, 150)}: the run failed{tasks}")
    (task,) = alert.tasks
    title = f"{one_line(task.pipeline or alert.dag_id, 100)}: task '{one_line(task.name, 100)}' failed"
    return one_line(f"{title}, Airflow tries again" if task.attempt.is_retried else title)


def _numbers(alert: Alert) -> Iterator[Fact]:
    names = [*(task.name for task in alert.tasks), *alert.others]
    if names:
        yield _fact("Failed", some([one_line(name, 80) for name in names], 20), 2_000)
    if alert.not_run:
        yield _fact("Not run", f"{counted(alert.not_run, 'task')}, because of these failures")


def _part(task: FailedTask, most: int, *, is_run: bool) -> MessagePart:
    return MessagePart(
        title=f"Task '{one_line(task.name)}'" if is_run else None,
        facts=tuple(_facts(task)),
        cause=short_cause(task.cause or _NO_CAUSE, most),
        repeats_title="A retry repeats" if task.attempt.is_retried else "If it is cleared, it repeats",
        repeats=tuple(_repeats(task)),
        links=_links(task.links),
        unknown=tuple(one_line(one, MOST_OF_SEVERAL) for one in task.unknown),
    )


def _facts(task: FailedTask) -> Iterator[Fact]:
    yield _fact("Task", task.name)
    if task.pipeline is not None:
        yield _fact("Pipeline", task.pipeline)
    if task.group:
        yield _fact("Group", task.group)
    if task.operator is not None:
        where = f", declared at {task.declared_at}" if task.declared_at else ""
        yield _fact("Operator", f"{one_line(task.operator)}{where}", 2 * MOST_OF_NAME)
    elif task.last_seen is not None:
        yield _fact("Last seen in", task.last_seen, 2 * MOST_OF_NAME)
    elif task.pipeline is not None:
        yield _fact("Operator", "the failure is not that of a single operator")
    yield _fact("Attempt", _attempt_words(task.attempt))


def _attempt_words(attempt: AirflowTry) -> str:
    number = "unknown" if attempt.try_number is None else str(attempt.try_number)
    # A try that was cleared may be beyond the number of retries.
    if attempt.tries is not None and attempt.try_number is not None:
        number += f" of {max(attempt.tries, attempt.try_number)}"
    if attempt.is_retried is None:
        return number
    if attempt.is_retried:
        delay = "" if attempt.seconds is None else f" after {attempt.seconds:g} s"
        return f"{number}; Airflow tries again{delay}"
    why = f": {attempt.why_not}" if attempt.why_not else ""
    return f"{number}; Airflow does not try again{why}"


def _repeats(task: FailedTask) -> Iterator[str]:
    found = task.repetition
    if found is None:
        yield (
            "the whole task: it is not a task of a pipeline"
            if task.pipeline is None
            else "what it repeats is not known here"
        )
        return
    for region in found.regions:
        names = some([one_line(name, 80) for name in region.operators])
        what = "the batch that has failed: those before it stay published" if region.is_stream else names
        yield f"region '{one_line(region.region)}': {what}"
    if found.kept:
        kept = some([f"'{one_line(name, 80)}'" for name in found.kept])
        regions = "region" if len(found.kept) == 1 else "regions"
        yield f"kept, while their inputs are the same: the finished {regions} {kept}"
    if found.reused:
        names = some([f"'{one_line(one.name, 80)}' of task '{one_line(one.task, 80)}'" for one in found.reused])
        results = "result" if len(found.reused) == 1 else "results"
        yield f"read again, not computed again: the staged {results} {names}"
    elif any(not region.is_stream for region in found.regions):
        yield "no staged result is reused: it reads its sources again"
    elif not found.regions:
        yield "nothing else: all its regions have finished"


def _links(links: tuple[Link, ...]) -> tuple[Link, ...]:
    """Return the links that a browser opens: those of http, without blanks, short enough for all who read mail."""
    shown = (Link(label=one_line(link.label) or "Page", url="".join(link.url.split())) for link in links)
    return tuple(
        link for link in shown if link.url.startswith(("http://", "https://")) and len(link.url) <= _MOST_OF_URL
    )


def _fact(label: str, value: str, most: int = MOST_OF_NAME) -> Fact:
    return Fact(label=label, value=one_line(value, most) or "unknown")


def one_line(text: str, most: int = MOST_OF_NAME) -> str:
    """Return a text in one line, of printable characters: no line break of a name may begin a header of a mail."""
    line = " ".join(_printable(_COLORS.sub("", text)).split())
    return line if len(line) <= most else f"{line[: most - 1]}…"


def short_cause(text: str, most: int = MOST_OF_CAUSE) -> str:
    """Return a cause without the frames of Java's stack; its last line says how much was cut."""
    kept = [line for line in _COLORS.sub("", text).splitlines() if not _JAVA_FRAME.fullmatch(line)]
    whole = "\n".join(_printable(line).rstrip() for line in kept).strip("\n")
    short = "\n".join(whole.split("\n")[:MOST_LINES])[:most].rstrip()
    left = len(whole) - len(short)
    return f"{short}\n… ({left:,} more characters are in the log)" if left else short


def some(names: Sequence[str], most: int = MOST_NAMES) -> str:
    """Return names as a list in a sentence, the first ones if there are many."""
    if len(names) <= most:
        return listing(names)
    return f"{', '.join(names[:most])} and {len(names) - most:,} more"


def _printable(text: str) -> str:
    """Return a text with a blank for each kind of space, and a mark for what cannot be shown."""
    shown = (" " if one.isspace() else "\N{REPLACEMENT CHARACTER}" if category(one)[0] == "C" else one for one in text)
    return "".join(shown)
