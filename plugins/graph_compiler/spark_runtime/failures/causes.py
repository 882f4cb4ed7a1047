"""Convert an exception of Spark or a function to a plain value: what happened, in which expression, on which line.

The facts come from many places: a captured exception's error condition, the query contexts of the Java exception, its
causes, and the traceback of a Python worker, as text. All other modules use only this value.
"""

from __future__ import annotations

import re
import traceback
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from itertools import islice
from pathlib import Path
from typing import Any

from pyspark.errors import PySparkException

from graph_compiler.declaration.connectors.file_uris import escape_wildcards, is_pattern, local_path
from graph_compiler.spark_runtime.spark_internals.java import condition_message, is_spark_throwable, java_exceptions
from graph_compiler.spark_runtime.spark_internals.origins import OPERATOR

PYTHON_WORKER = "PYTHON_EXCEPTION"
_LOST_WORKER = "Python worker exited unexpectedly"
_FRAME = re.compile(r'^ *File "(?P<file>.+?)", line (?P<line>\d+), in (?P<function>.+)$', re.M)
_RAISED = re.compile(r"^(?P<kind>\w[\w.]*)(?:: (?P<message>.*))?$", re.S)
_STATE = re.compile(r"\s*SQLSTATE: \w{5}\s*$")
_PARENTHESES = re.compile(r"\A\(\n(.*)\n\)\Z", re.S)  # the evaluation's, around every expression
# Every pipeline runs in ANSI mode (deployment/describe/region_descriptors.py), so this suggestion does not help.
_WAY_OUT = re.compile(r' If necessary set "spark\.sql\.ansi\.enabled" to "false"[^.]*\.')


@dataclass(frozen=True, slots=True, kw_only=True)
class QueryContext:
    """The place of an expression in the user's text: a piece of SQL with its operator, or a call's `file:line`."""

    operator_id: int | None
    fragment: str
    call_site: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Frame:
    """One line of a traceback, of the driver's or a worker's Python."""

    file: str
    line: int
    function: str

    def __str__(self) -> str:
        """Return the place in a form that editors and terminals make clickable."""
        place = f"{self.file}:{self.line}"
        return f"{place} in {self.function}" if self.function else place


@dataclass(frozen=True, slots=True, kw_only=True)
class Cause:
    """The cause of a failure. `kind` is the exception's class, `condition` Spark's error condition.

    `chain` has "class: message" of a Java exception and its causes; `frames` the user's code, innermost last.
    """

    kind: str
    message: str
    condition: str
    sql_state: str
    parameters: Mapping[str, str]
    contexts: tuple[QueryContext, ...]
    chain: tuple[str, ...]
    frames: tuple[Frame, ...]

    @property
    def is_of_a_worker(self) -> bool:
        """Whether a Python worker reported the exception."""
        return self.condition == PYTHON_WORKER

    @property
    def is_lost_worker(self) -> bool:
        """Whether a Python worker died without a report: killed, for example because of its memory, or crashed."""
        return any(_LOST_WORKER in link for link in self.chain)


def read_cause(error: BaseException) -> Cause:
    """Return the cause of an exception; needs a JVM only for exceptions that came from one."""
    java = java_exceptions(error)
    spark = next((found for found in java if is_spark_throwable(found)), None)
    condition, sql_state, parameters = _condition(error, spark)
    kind, message = type(error).__name__, _text(error)
    if java:
        first = next((found for found in java if not _is_wrapper(found)), java[-1])
        kind, message = first.getClass().getSimpleName(), str(first.getMessage() or "")
    if spark is not None and condition:
        message = _condition_message(condition, parameters) or message.removeprefix(f"[{condition}] ")
    frames = _frames_of_driver(error)
    if kind == "PythonException" and not condition:  # Spark 4.1: the message is a sentence and the traceback
        _, _, trace = message.partition("Traceback (most recent call last):\n")
        condition, parameters = PYTHON_WORKER, {"traceback": trace}
    if condition == PYTHON_WORKER and "traceback" in parameters:
        kind, message = _raised(parameters["traceback"])
        frames = _frames_of_text(parameters["traceback"])
    return Cause(
        kind=kind,
        message=_first_paragraph(message),
        condition=condition,
        sql_state=sql_state,
        parameters=parameters,
        contexts=() if spark is None else tuple(_contexts(spark)),
        chain=tuple(f"{found.getClass().getName()}: {found.getMessage()}" for found in java),
        frames=tuple(frame for frame in frames if "pyspark" not in frame.file.split("/")),
    )


def _is_wrapper(java: Any) -> bool:
    """Whether it only reports that a stage or a call by reflection failed; the reason is in its cause."""
    message = java.getMessage()
    if message is None:
        return java.getCause() is not None
    return str(message).startswith("Job aborted")


def _condition(error: BaseException, spark: Any) -> tuple[str, str, Mapping[str, str]]:
    if spark is not None:
        parameters = {str(key): str(value) for key, value in spark.getMessageParameters().items()}
        return str(spark.getCondition() or ""), str(spark.getSqlState() or ""), parameters
    if isinstance(error, PySparkException):  # raised by pyspark's Python
        parameters = {key: str(value) for key, value in (error.getMessageParameters() or {}).items()}
        return error.getCondition() or "", error.getSqlState() or "", parameters
    return "", "", {}


def _condition_message(condition: str, parameters: Mapping[str, str]) -> str | None:
    """Return only Spark's sentence; the exception's message continues with the query and its plan."""
    found = condition_message(condition, parameters)
    return None if found is None else _WAY_OUT.sub("", _STATE.sub("", found))


def _contexts(spark: Any) -> Iterator[QueryContext]:
    for context in spark.getQueryContext():
        if context.contextType().toString() == "SQL":
            is_ours = context.objectType() == OPERATOR
            yield QueryContext(
                operator_id=int(context.objectName()) if is_ours else None,
                fragment=_PARENTHESES.sub(r"\1", str(context.fragment())),
                call_site="",
            )
        else:
            yield QueryContext(operator_id=None, fragment="", call_site=str(context.callSite()))


def _raised(text: str) -> tuple[str, str]:
    """Return the class and message at the end of a traceback's text."""
    after_frames = re.split(r"\n(?=\S)", text.strip())[-1:]
    for part in after_frames:
        if found := _RAISED.match(part):
            return found["kind"].rpartition(".")[2], found["message"] or ""
    return "Exception", text.strip().splitlines()[-1]


def _frames_of_text(text: str) -> list[Frame]:
    return [
        Frame(file=found["file"], line=int(found["line"]), function=found["function"])
        for found in _FRAME.finditer(text)
    ]


def _frames_of_driver(error: BaseException) -> list[Frame]:
    return [
        Frame(file=frame.filename, line=frame.lineno or 0, function=frame.name)
        for frame in traceback.extract_tb(error.__traceback__)
    ]


def _text(error: BaseException) -> str:
    return str(error).strip()


def _first_paragraph(text: str) -> str:
    """Return the text before plans and stack traces, with every line after the first indented."""
    first = text.strip().split("\n\n")[0].split("\n\tat ")[0].split("\n== ")[0]
    first = first.split("\nJVM stacktrace")[0].split("\n\nDriver stacktrace")[0]
    return "\n  ".join(line.strip() for line in first.splitlines())


_NO_CLASS = re.compile(r"Class org\.apache\.hadoop\.fs\.(?P<scheme>[a-z0-9]+)\.\w+ not found")
_NO_SCHEME = re.compile(r'No FileSystem for scheme[: ]+"?(?P<scheme>\w+)')
_NO_FORMAT = "AVRO_DATA_SOURCE_NOT_ENABLED"
_MAY_BE_MISSING = "if there may be no files, declare schema= and if_missing='empty': then it has no rows"
_MOST = 10_000
"""Maximum number of a folder's names to compare with the missing one."""


def missing_input(cause: Cause) -> list[str]:
    """Return the message lines for an input that is missing or unreachable; none for other causes."""
    if cause.condition == "PATH_NOT_FOUND":
        return does_not_exist(str(cause.parameters.get("path"))).split("\n  ")
    if cause.condition == _NO_FORMAT:
        return ["this Spark does not have the format avro", *_hint(format="avro")]
    texts = (cause.message, *cause.chain)
    for pattern in (_NO_CLASS, _NO_SCHEME):
        for text in texts:
            if found := pattern.search(text):
                return _no_file_system(found["scheme"])
    return []


def does_not_exist(path: str) -> str:
    """Return the message for a missing input, with a name similar to its first missing part.

    If no name is similar, and it may be a folder, the message says how a day without files is declared.
    """
    name = path.rpartition("/")[2]
    is_folder = not Path(name).suffix and not is_pattern(name)
    hint = _escaped(path) or _like(path) or (_MAY_BE_MISSING if is_folder else None)
    return f"its input {path} does not exist" + (f"\n  hint: {hint}" if hint else "")


def _escaped(path: str) -> str | None:
    """Return how a path is written that exists, but is read as a pattern."""
    local = local_path(path)
    if local is None or not is_pattern(str(local)) or not Path(local).exists():
        return None
    return f"it is read as a pattern; a file of that name is written '{escape_wildcards(str(local))}'"


def _like(path: str) -> str | None:
    near = similar_path(path)
    return None if near is None else f"did you mean '{near}'?"


def similar_path(path: str) -> str | None:
    """Return a path on this host whose name is close to the first part of a path that is missing; None without one."""
    local = local_path(path)
    if local is None:
        return None
    missing = Path(local)
    while not missing.parent.is_dir() and missing != missing.parent:
        missing = missing.parent
    try:
        names = sorted(item.name for item in islice(missing.parent.iterdir(), _MOST))
    except OSError:
        return None
    # Extensions alone make names similar: one.csv, two.csv.
    by_stem = {Path(name).stem: name for name in names}
    close = get_close_matches(missing.stem, by_stem, n=1)
    return str(missing.parent / by_stem[close[0]]) if close else None


def _no_file_system(scheme: str) -> list[str]:
    return [f"this Spark has no file system for {scheme}:", *_hint(scheme=scheme)]


def _hint(*, scheme: str = "", format: str = "") -> list[str]:
    from graph_compiler.driver_jvm import installation as known  # most drivers need none

    jars = known.spark_jars()
    package = known.package_of_scheme(scheme, jars) or known.package_of_format(format, jars)
    return [f"hint: {known.add_package(package)}"]


# The part of the user's SQL that caused an error, and its position; SQL that is added around it is not shown.
#
# v > > 1
# ^

_OURS = "graph_compiler_"
_TABLE = re.compile(r"`graph_compiler_(\w+)`")
_CARET = re.compile(r"^-*\^+\s*$")
_PLACE = re.compile(r"\(line \d+, pos \d+\)")
"""A message without it marks the whole query, since Spark has already filled in the parameters."""
_QUERY = "== SQL =="


def marked(message: str, expressions: Sequence[str]) -> list[str]:
    """Return the expression in which a parser stopped, with a caret below the place; all expressions if not found.

    `message` is that of Spark's ParseException, which ends with the query and a line with the caret.
    """
    lines = message.partition(_QUERY)[2].strip("\n").splitlines()
    at = next((number for number, line in enumerate(lines) if _CARET.match(line)), 0)
    if at and _PLACE.search(message):
        query = [own_names(line, expressions) for line in lines[:at]]
        before = lines[at - 1][: lines[at].index("^")]
        column = len(own_names(before, expressions))
        for expression in expressions:
            if found := _below(expression, query, query[-1], column):
                return [found]
    return list(expressions)


def own_names(text: str, expressions: Sequence[str]) -> str:
    """Return a query with the tables as its author wrote them, `{orders}`: in Spark they have generated names."""

    def own(found: re.Match[str]) -> str:
        name = f"{{{found[1]}}}"
        return name if any(name in expression for expression in expressions) else found[0]

    return _TABLE.sub(own, text)


def _below(expression: str, query: list[str], line: str, column: int) -> str | None:
    """Put a caret below the line of the expression where the query ends, or below its end if only added SQL follows."""
    own = expression.splitlines()
    before = query[:-1]
    if line in own and before[len(before) - own.index(line) :] == own[: own.index(line)]:
        number = own.index(line)
        end = " it ends here" if line == own[-1] and column >= len(line) else ""
        return "\n".join([*own[: number + 1], f"{' ' * column}^{end}", *own[number + 1 :]])
    if line.startswith(")") and before[-len(own) :] == own:  # after the end of the expression
        return "\n".join([*own, f"{' ' * len(own[-1])}^ it ends here"])
    return None


def own_fragments(fragments: Sequence[str], expressions: Sequence[str]) -> list[str]:
    """Return fragments of the user's SQL; for a fragment of added SQL, return the operator's expressions instead."""
    found = [
        piece for fragment in fragments if fragment for piece in (expressions if _OURS in fragment else (fragment,))
    ]
    return list(dict.fromkeys(found))
