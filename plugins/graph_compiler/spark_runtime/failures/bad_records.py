"""Messages for a file that a source cannot read, above all for a value that does not fit its column's type.

CSV, JSON and text are checked here (`misfits.py`). For other formats, Spark reports the file; the record and the value
are in the causes below it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from urllib.parse import unquote

from graph_compiler.declaration.connectors import Csv, FileConnector
from graph_compiler.declaration.connectors.file_uris import before_wildcard, is_pattern, local_path
from graph_compiler.declaration.operators import Source
from graph_compiler.deployment.documents.descriptor import OperatorDescriptor
from graph_compiler.identifiers import shown
from graph_compiler.spark_runtime.connectors.text_records import OPEN_QUOTE
from graph_compiler.spark_runtime.failures.causes import Cause
from graph_compiler.spark_runtime.failures.misfits import NULL_MARKERS, Misfit, misfit_lines, misfit_of, setting_words
from graph_compiler.spark_runtime.spark_internals.hadoop_files import first_bytes

_FAILED_READ = "FAILED_READ_FILE"
_RECORD = re.compile(r"\[MALFORMED_RECORD_IN_PARSING\S*\] .*?parsing: (?P<record>.*)\.\n", re.S)
_VALUE = (
    re.compile(r'For input string: "(?P<value>.*)"', re.S),
    re.compile(r"Text '(?P<value>.*)' could not be parsed", re.S),
    re.compile(r"The value '(?P<value>.*)' of the type \"STRING\" cannot be cast", re.S),
    re.compile(r"Cannot parse field value '(?P<value>.*)' for pattern", re.S),
    re.compile(r"rounded half up from (?P<value>\S+) cannot be represented"),
    re.compile(r"the field name '.*' and the value (?P<value>.*) of the JSON token type", re.S),
    re.compile(r"Error parsing '(?P<value>.*)' to interval", re.S),
)
_FIELD = re.compile(r"Cannot parse the field name '(?P<field>.*?)' and the value ")
_FIELDS = re.compile(r"Malformed CSV record: (?P<record>.*?)(?: SQLSTATE: \w+)?$", re.S)
_QUOTE = re.compile(r"Unescaped quote character .*content parsed=(?P<text>.*)", re.S)
_PATTERNS = (
    (re.compile(r"DateTimeParseException"), "dateFormat", "dd/MM/yyyy"),
    (re.compile(r'"TIMESTAMP_NTZ"'), "timestampNTZFormat", "dd/MM/yyyy HH:mm"),
    (re.compile(r'"TIMESTAMP"'), "timestampFormat", "dd/MM/yyyy HH:mm"),
)
_HAS_NULL_VALUE = ("csv", "xml")


@dataclass(frozen=True, slots=True, kw_only=True)
class BadRecord:
    """A record that does not fit its source's schema. `record` is as Spark has parsed it, with null for the value.

    `value` is None if Spark does not report it; `reason` is the deepest cause.
    """

    file: str
    record: str
    value: str | None
    field: str | None
    reason: str


def unread_file(cause: Cause) -> str | None:
    """Return the file that could not be read; None for other failures. Spark reports it as a URI."""
    if misfit := misfit_of(cause):
        return misfit.path
    if not cause.condition.startswith(_FAILED_READ) or "path" not in cause.parameters:
        return None
    path = unquote(cause.parameters["path"])
    return str(local_path(path) or path)


def bad_record(cause: Cause) -> BadRecord | None:
    """Return the record because of which a file could not be read; None for other failures."""
    file = unread_file(cause)
    found = next((match for link in cause.chain if (match := _RECORD.search(link))), None)
    if file is None or found is None:
        return None
    reason = cause.chain[-1].partition(": ")[2]
    value = next((match["value"] for each in _VALUE if (match := each.search(reason))), None)
    field = _FIELD.search(reason)
    return BadRecord(
        file=file, record=found["record"], value=value, field=field["field"] if field else None, reason=cause.chain[-1]
    )


def source_of(cause: Cause, chain: tuple[OperatorDescriptor, ...]) -> OperatorDescriptor | None:
    """Return the only source that reads the file that failed."""
    file = unread_file(cause)
    if file is None:
        return None
    found = [
        operator
        for operator in chain
        if (connector := _files_of(operator)) and any(_is_below(file, path) for path in connector.paths)
    ]
    return found[0] if len(found) == 1 else None


def read_failure(cause: Cause, culprit: OperatorDescriptor | None) -> list[str]:
    """Return the message lines for a file that cannot be read; none for other causes."""
    file = unread_file(cause)
    connector = None if culprit is None else _files_of(culprit)
    if misfit := misfit_of(cause) or unescaped_quote(cause):
        is_yaml = culprit is not None and _is_yaml(culprit)
        kind = None if culprit is None else culprit.operator
        is_stream = isinstance(kind, Source) and kind.unbounded
        lines = misfit_lines(misfit, connector, is_yaml=is_yaml, is_stream=is_stream, first_bytes=first_bytes)
        return list(lines)
    if bad := bad_record(cause):
        return [*_what(bad), f"file: {bad.file}", *_hints(bad, culprit, connector)]
    is_incomplete = cause.condition == f"{_FAILED_READ}.NO_HINT" and len(cause.chain) > 1
    if file is None or not is_incomplete:
        return []
    return [f"its file {file} cannot be read", f"because: {cause.chain[-1].partition(': ')[2]}"]


def unescaped_quote(cause: Cause) -> Misfit | None:
    """Return the value over several lines in which CSV's parser found a quote; None for other failures.

    The parser proposes a setting of its own that Spark does not have.
    """
    file = unread_file(cause)
    found = _QUOTE.search(cause.chain[-1]) if file is not None else None
    return Misfit(file=file, record=found["text"], reason=OPEN_QUOTE) if file and found else None


def _what(bad: BadRecord) -> Iterator[str]:
    if fields := _FIELDS.search(bad.reason):
        yield "a record has more or fewer fields than the schema or the header has columns"
        yield f"record: {shown(fields['record'])}"
        return
    value = "a value" if bad.value is None else f"the value {shown(bad.value)}"
    column = "its column" if bad.field is None else f"column '{bad.field}'"
    yield f"{value} does not fit the type of {column}"
    if bad.value is None:
        yield f"because: {bad.reason.partition(': ')[2]}"
    yield f"record: {bad.record}, in which null stands for the value"


def _hints(bad: BadRecord, culprit: OperatorDescriptor | None, connector: FileConnector | None) -> Iterator[str]:
    if connector is None or culprit is None:
        return
    is_yaml = _is_yaml(culprit)
    if bad.value is not None and (setting := _setting_for(bad.value, bad.reason, connector)):
        meaning, name, value = setting
        yield f"hint: {meaning}, declare {setting_words((name, value), connector, is_yaml=is_yaml)}"
    if not _FIELDS.search(bad.reason):
        null = 'on_misfit: "null"' if is_yaml else 'on_misfit="null"'
        yield f"hint: {null} reads every value that does not fit as NULL"


def _setting_for(value: str, reason: str, connector: FileConnector) -> tuple[str, str, str] | None:
    """Return what a setting would mean, its name, and a value for it; None if none is known."""
    format = connector.spark_format.lower()
    if value.strip().lower() in NULL_MARKERS:
        has_another = isinstance(connector, Csv) and connector.null_value
        if format not in _HAS_NULL_VALUE or has_another:  # there is one text for it
            return None
        return "if it marks a missing value", "nullValue", value
    if value != value.strip() and format == "csv":
        return "to leave out blanks around values", _side(value), "true"
    for pattern, name, example in _PATTERNS:
        if pattern.search(reason):
            return "if it is written in another way", name, example
    return None


def _side(value: str) -> str:
    leading = value != value.lstrip()
    return "ignoreLeadingWhiteSpace" if leading else "ignoreTrailingWhiteSpace"


def _is_yaml(culprit: OperatorDescriptor) -> bool:
    return culprit.declared_at is not None and culprit.declared_at.file.endswith((".yaml", ".yml"))


def _files_of(operator: OperatorDescriptor) -> FileConnector | None:
    connector = operator.operator.connector if isinstance(operator.operator, Source) else None
    return connector if isinstance(connector, FileConnector) else None


def _is_below(file: str, declared: str) -> bool:
    """Whether a file is what a source declares: the path itself, a file in the folder, or one that a pattern finds."""
    place = str(local_path(declared) or declared)
    pattern = is_pattern(place)
    before = before_wildcard(place) if pattern else place.rstrip("/")
    if not before.startswith("/") and "://" not in before:  # relative to where the driver runs
        file, before = f"/{file}", f"/{before.removeprefix('./')}"
        return before in file
    return file == before or file.startswith(before if pattern else f"{before}/")
