"""Names that other systems see (task ids, directory names, SQL), and names in messages; only built in this module.

Airflow allows letters, digits, `-`, `.` and `_` in a task id, at most 250 characters. File systems allow nearly
anything, but people read these paths: run ids keep their letters, the rest is percent-encoded.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Sequence
from difflib import get_close_matches
from typing import NewType
from urllib.parse import quote, unquote

OperatorId = NewType("OperatorId", str)
"""32 hex digits: the hash of a stream node (Flink's StreamGraphHasherV2)."""
JobVertexId = NewType("JobVertexId", str)
"""The operator id of a chain's head."""
IntermediateDataSetId = NewType("IntermediateDataSetId", str)
"""`<job vertex id>-<n>`: the n-th data set of a vertex; if its head has a uid hash, that replaces the id."""
JobEdgeId = NewType("JobEdgeId", str)
"""The id of the stream edge that it comes from."""
RegionId = NewType("RegionId", str)
"""The name of a deployment region in its pipeline, under which documents are stored."""
TaskName = NewType("TaskName", str)
"""The name of a deployment task in its pipeline: that of one of its regions, or a pinned task id."""
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff]")
"""Control characters, other line breaks, changes of the writing direction, and halves of surrogate pairs."""
TaskId = NewType("TaskId", str)
"""An Airflow task's id, with its task groups: it ends with the task's name."""

PIPELINES = "pipelines"
"""The package and folder of a project in which pipelines are found."""
TASK_ID_LENGTH = 250
_LONGEST = 60
_LONGEST_SEGMENT = 255
"""The maximum bytes of a name in nearly every file system."""
_SHORTENED, _DIGEST = 200, 40
_READABLE = 150
_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]*")


def is_legal_name(name: str) -> bool:
    """Whether `name` is valid as an Airflow Dag id, task id and directory name."""
    return len(name) <= TASK_ID_LENGTH and _NAME.fullmatch(name) is not None


def task_id(name: str) -> str:
    """Return an operator's name as a legal Airflow task id: `"Sink: late routes"` → `"Sink_late_routes"`."""
    cleaned = re.sub(r"[^A-Za-z0-9_.-]+", "_", name).strip("_.-")
    return (cleaned or "task")[:TASK_ID_LENGTH]


def distinct(names: Sequence[str]) -> tuple[str, ...]:
    """Return names with a suffix for repeated ones, in order of appearance: `("a", "a")` → `("a", "a_2")`."""
    taken: set[str] = set()
    numbers: dict[str, int] = {}
    result = []
    for name in names:
        candidate, number = name, numbers.get(name, 1)
        while candidate in taken:
            number += 1
            suffix = f"_{number}"
            candidate = name[: TASK_ID_LENGTH - len(suffix)] + suffix
        taken.add(candidate)
        numbers[name] = number  # all below it are taken
        result.append(candidate)
    return tuple(result)


class ShortenedName(str):
    """A name of which only the path segment is known, which was too short for it."""

    __slots__ = ()


def path_segment(name: str) -> str:
    """Return any name as one path segment, readable where that is safe: run ids keep `_`, `-` and digits.

    A segment that would be too long for a file system ends with `~` and a digest, as no other segment does. Two
    names never have the same segment, unless a file system ignores case.
    """
    if isinstance(name, ShortenedName):
        return str(name)
    whole = quote(name, safe="", errors="surrogatepass").replace("~", "%7E")
    if len(whole) > _LONGEST_SEGMENT:
        digest = hashlib.sha256(whole.encode()).hexdigest()[:_DIGEST]
        return f"{whole[: _SHORTENED - _DIGEST - 1]}~{digest}"
    return whole if whole.strip(".") else whole.replace(".", "%2E")


def digested_segment(shown: str, whole: str) -> str:
    """Return a path segment for `whole`: a readable part of `shown`, and a longer digest than in `path_segment`."""
    readable = quote(shown, safe="", errors="surrogatepass").replace("~", "%7E")[:_READABLE]
    return f"{readable}~{hashlib.sha256(whole.encode()).hexdigest()}"


def name_of_segment(segment: str) -> str | None:
    """Return the name that a segment encodes, None if it was shortened or has a digest for another reason."""
    return None if "~" in segment else unquote(segment, errors="surrogatepass")


def known_name(segment: str) -> str:
    """Return the name that a segment encodes; of one that was shortened, what has the same segment."""
    return name_of_segment(segment) or ShortenedName(segment)


def quoted(name: str) -> str:
    """Return the name of a column or a table as a quoted SQL identifier."""
    return "`" + name.replace("`", "``") + "`"


def counted(number: int, noun: str, plural: str | None = None) -> str:
    """Return a number with its noun: `1 task`, `2 tasks`."""
    return f"{number} {noun if number == 1 else plural or f'{noun}s'}"


def size_words(size: float) -> str:
    """Return a number of bytes as text: `12.3 MB`."""
    for unit in ("B", "kB", "MB", "GB"):
        if size < 1000:
            return f"{size:.0f} B" if unit == "B" else f"{size:.1f} {unit}"
        size /= 1000
    return f"{size:.1f} TB"


def time_words(seconds: float) -> str:
    """Return a span of time for people: "90 s", "12 min", "3:05 h", "4 days"."""
    whole = max(0, round(seconds))
    if whole < 120:
        return f"{whole} s"
    if whole < 2 * 60 * 60:
        return f"{whole // 60} min"
    if whole < 2 * 24 * 60 * 60:
        return f"{whole // 3600}:{whole // 60 % 60:02} h"
    return f"{whole // (24 * 60 * 60)} days"


def listing(names: Iterable[str]) -> str:
    """Return names as a list in a sentence: `a, b and c`."""
    *rest, last = list(names) or ["nothing"]
    return f"{', '.join(rest)} and {last}" if rest else last


def did_you_mean(found: str, known: Iterable[str]) -> str | None:
    """Return a hint with the known name closest to a misspelled one; None if none is close."""
    close = [name for name in get_close_matches(found, list(known), n=1) if name != found]
    return f"did you mean '{close[0]}'?" if close else None


def shown(value: object) -> str:
    """Return a value as text for a message, shortened if it is long."""
    try:
        text = repr(value)
    except Exception:  # a user's class may raise any exception
        text = f"a {type(value).__name__}"
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"


def plain(text: str) -> str:
    """Return a text whose control characters, except line breaks and tabs, are written as escapes.

    A terminal would obey them, and they could hide a part of a line, or show it in another order.
    """
    return _CONTROL.sub(_escaped, text)


def plain_line(text: str) -> str:
    """Return a text in one line, with all control characters as escapes."""
    return plain(text).replace("\n", "\\n").replace("\t", "\\t")


def _escaped(found: re.Match[str]) -> str:
    return found[0].encode("unicode_escape").decode()
