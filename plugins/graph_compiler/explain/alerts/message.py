"""An alert in words: what each form of it shows, in the same order."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from graph_compiler.explain.alerts.alert import AirflowTry, Alert, FailedTask, Link, Repetition
from graph_compiler.identifiers import counted, listing

MOST_OF_NAME = 250
MOST_OF_CAUSE = 2_000
MOST_LINES = 30
MOST_NAMES = 12
_COLORS = re.compile(r"\x1b\[[0-9;]*[A-Za-z]")
_JAVA_FRAME = re.compile(r"\s*(at [\w.$<>/@-]+\(.*\)|\.\.\. \d+ (more|common frames omitted))\s*")


def one_line(text: str, most: int = MOST_OF_NAME) -> str:
    """Return a text in one line, of printable characters: no line break of a name may begin a header of a mail."""
    line = " ".join(_printable(_COLORS.sub("", text)).split())
    return line if len(line) <= most else f"{line[: most - 1]}…"


def short_cause(text: str, most: int = MOST_OF_CAUSE) -> str:
    """Return a cause without the frames of Java's stack; its last line says how much was cut."""
    kept = [line for line in _COLORS.sub("", text).splitlines() if not _JAVA_FRAME.fullmatch(line)]
    lines = [_printable(line).rstrip() for line in kept]
    whole = "\n".join(lines).strip("\n")
    short = "\n".join(whole.split("\n")[:MOST_LINES])[:most].rstrip()
    left = len(whole) - len(short)
    return f"{short}\n… ({left:,} more characters are in the log)" if left else short


def some(names: Sequence[str], most: int = MOST_NAMES) -> str:
    """Return names as a list in a sentence, the first ones if there are many."""
    if len(names) <= most:
        return listing(names)
    return f"{', '.join(names[:most])} and {len(names) - most:,} more"


def _printable(text: str) -> str:
    return "".join(map(_shown, text))


def _shown(letter: str) -> str:
    if letter.isspace():
        return " "
    return "\N{REPLACEMENT CHARACTER}" if unicodedata.category(letter)[0] == "C" else letter


MOST_OF_SEVERAL = 600
"""The longest cause where an alert has several."""
_NO_CAUSE = "not known here: see the log"
_MOST_OF_URL = 2_000


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
        facts.append(_fact("Reason", alert.reason or "unknown"))
        facts += _numbers(alert)
    most = MOST_OF_CAUSE if len(alert.tasks) == 1 else MOST_OF_SEVERAL
    parts = [_part(task, most, is_run=is_run) for task in alert.tasks]
    unknown = tuple(one_line(one, MOST_OF_SEVERAL) for one in alert.unknown)
    if not is_run and parts:  # in one list
        last = parts.pop()
        parts.append(replace(last, unknown=(*last.unknown, *unknown)))
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
    title = f"{one_line(task.pipeline or alert.dag_id, 100)}: task '{one_line(_task(task), 100)}' failed"
    return one_line(f"{title}, Airflow tries again" if task.attempt.is_retried else title)


def _numbers(alert: Alert) -> Iterator[Fact]:
    names = [*(_task(task) for task in alert.tasks), *alert.others]
    if names:
        yield _fact("Failed", some([one_line(name, 80) for name in names], 20), 2_000)
    if alert.not_run:
        yield _fact("Not run", f"{counted(alert.not_run, 'task')}, because of these failures")


def _part(task: FailedTask, most: int, *, is_run: bool) -> MessagePart:
    return MessagePart(
        title=f"Task '{one_line(_task(task))}'" if is_run else None,
        facts=tuple(_facts(task)),
        cause=short_cause(task.cause or _NO_CAUSE, most),
        repeats_title="A retry repeats" if task.attempt.is_retried else "If it is cleared, it repeats",
        repeats=tuple(_repeats(task)),
        links=_links(task.links),
        unknown=tuple(one_line(one, MOST_OF_SEVERAL) for one in task.unknown),
    )


def _facts(task: FailedTask) -> Iterator[Fact]:
    yield _fact("Task", _task(task))
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


def _task(task: FailedTask) -> str:
    return task.task_id if task.map_index is None else f"{task.task_id} [{task.map_index}]"


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
    if task.repetition is not None:
        yield from _repetition_words(task.repetition)
    elif task.pipeline is None:
        yield "the whole task: it is not a task of a pipeline"
    else:
        yield "what it repeats is not known here"


def _repetition_words(found: Repetition) -> Iterator[str]:
    for region in found.regions:
        names = some([one_line(name, 80) for name in region.operators])
        yield f"region '{one_line(region.region)}': {names}"
    if found.kept:
        kept = some([f"'{one_line(name, 80)}'" for name in found.kept])
        yield f"kept, while their inputs are the same: the finished {_regions(found.kept)} {kept}"
    if found.reused:
        names = some([f"'{one_line(one.name, 80)}' of task '{one_line(one.task, 80)}'" for one in found.reused])
        yield f"read again, not computed again: the staged {_results(found.reused)} {names}"
    elif found.regions:
        yield "no staged result is reused: it reads its sources again"
    else:
        yield "nothing else: all its regions have finished"


def _regions(found: tuple[str, ...]) -> str:
    return "region" if len(found) == 1 else "regions"


def _results(found: tuple[object, ...]) -> str:
    return "result" if len(found) == 1 else "results"


def _links(links: tuple[Link, ...]) -> tuple[Link, ...]:
    """Return the links that a browser opens: those of http, without blanks, short enough for all who read mail."""
    shown = (Link(label=one_line(link.label) or "Page", url="".join(link.url.split())) for link in links)
    return tuple(
        link for link in shown if link.url.startswith(("http://", "https://")) and len(link.url) <= _MOST_OF_URL
    )


def _fact(label: str, value: str, most: int = MOST_OF_NAME) -> Fact:
    return Fact(label=label, value=one_line(value, most) or "unknown")
