"""Messages for a record that does not fit its source's schema: what was found, where, and the option that reads it.

The failed check has put the record into Spark's exception (`connectors/text_records.py`). Hints are found in the
record, and in the first bytes of its file: another encoding, quotes, separators, one JSON value over several lines.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from urllib.parse import unquote

from graph_compiler.declaration.connectors import Csv, FileConnector, RecordFiles
from graph_compiler.declaration.connectors.file_uris import local_path
from graph_compiler.identifiers import shown
from graph_compiler.spark_runtime.connectors.first_bytes import encoding_hints
from graph_compiler.spark_runtime.connectors.text_records import (
    HALF_A_PAIR,
    IS_NULL,
    LINE_BREAK,
    MARK,
    NOT_JSON,
    NOT_SET_ASIDE,
    ODD_KEY,
    OPEN_QUOTE,
    OPEN_TO_THE_END,
    OTHER_FOLDER,
    WRONG_ENCODING,
    WRONG_NUMBER,
)
from graph_compiler.spark_runtime.connectors.xml_records import REPEATED
from graph_compiler.spark_runtime.failures.causes import Cause

_MISFIT = re.compile(re.escape(MARK) + r"(\{.*\})", re.S)
_TYPE = re.compile(r"it does not fit (?P<type>.*)", re.S)
_DECIMAL_TYPE = re.compile(r"DECIMAL\((\d+),(\d+)\)")
NULL_MARKERS = frozenset({"", "-", "--", ".", "?", r"\n", "#n/a", "n/a", "na", "nan", "nil", "none", "null"})
_COMMA = re.compile(r"[+-]?\d+(\.\d{3})*,\d+")
_THOUSANDS = re.compile(r"[+-]?\d{1,3}(,\d{3})+(\.\d+)?")
_PLAIN = re.compile(r"[+-]?\d*\.?(\d*)")
_DOUBLED = re.compile(r'""(?!\s*(,|;|\t|\||$))|[^,;\t|]""')
_BEHIND_QUOTES = re.compile(r'(?:^|[,;\t|])\s*"[^"]*"\s*[^\s,;\t|"]')
_BACKSLASH_AT_END = re.compile(r'\\"\s*([,;\t|]|$)')
_ZONE = re.compile(r"\d\s*(Z|[+-]\d\d:?\d\d)$")
_NANOSECONDS = re.compile(r"[.,]\d{7,}")
_LOCALIZED = ("csv", "xml")
"""Formats whose reader knows the separators of a locale, and a text for NULL."""
_SECONDS = 10
"""The digits of a time in seconds since 1970, in our days."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Misfit:
    """A record that does not fit. `column` and `text` are None if that is about the whole record."""

    file: str
    record: str
    reason: str
    column: str | None = None
    text: str | None = None

    @property
    def path(self) -> str:
        """Return the file's path, or its URI if it is not on this host's disk."""
        uri = unquote(self.file)
        return str(local_path(uri) or uri)

    @property
    def type(self) -> str | None:
        """Return the type of the column that the text does not fit."""
        found = _TYPE.fullmatch(self.reason)
        return found["type"] if found else None


def misfit_of(cause: Cause) -> Misfit | None:
    """Return the record that failed its check; None for other failures."""
    texts = (cause.message, *cause.parameters.values(), *cause.chain)
    found = next((match for text in texts if (match := _MISFIT.search(text))), None)
    if found is None:
        return None
    try:
        fields, _ = json.JSONDecoder().raw_decode(found[1])
    except ValueError:  # Spark cuts what is too long
        return None
    return Misfit(**fields)


def misfit_lines(
    misfit: Misfit,
    connector: FileConnector | None,
    *,
    is_yaml: bool = False,
    is_stream: bool = False,
    first_bytes: Callable[[str], bytes] = lambda _uri: b"",
) -> Iterator[str]:
    """Yield the lines of the message; `first_bytes` returns the beginning of a file. A stream sets nothing aside."""
    yield _headline(misfit)
    yield f"record: {shown(misfit.record)}"
    yield f"file: {misfit.path}"
    if connector is None:
        return
    declared = _options(connector)
    for meaning, setting in _settings(misfit, connector, first_bytes):
        if setting is not None and declared.get(setting[0].lower()) == setting[1]:
            continue  # it is read so already, and does not fit
        yield f"hint: {meaning}{setting_words(setting, connector, is_yaml=is_yaml)}"
    if misfit.reason not in NOT_SET_ASIDE and isinstance(connector, RecordFiles):
        apart, null = ("rejects: bad", 'on_misfit: "null"') if is_yaml else ('rejects="bad"', 'on_misfit="null"')
        aside = "" if is_stream or not connector.is_checked else f"{apart} sets such records aside, in a side output; "
        yield f"hint: {aside}{null} reads NULL for what does not fit"


def _headline(misfit: Misfit) -> str:
    if misfit.type is not None and misfit.text is not None:
        return f"the value {shown(misfit.text)} does not fit column '{misfit.column}', {misfit.type}"
    if misfit.column is not None:
        return f"column '{misfit.column}': {misfit.reason}"
    return f"a record does not fit the columns: {misfit.reason}"


Setting = tuple[str, str] | None
"""An option and its value, if the hint is one."""


def _settings(
    misfit: Misfit, connector: FileConnector, first_bytes: Callable[[str], bytes]
) -> Iterator[tuple[str, Setting]]:
    """Yield what could be meant, with the option that reads it so."""
    if misfit.reason == WRONG_ENCODING:
        yield from _encodings(misfit, connector, first_bytes(misfit.file))
    elif of_record := _OF_RECORDS.get(misfit.reason):
        if misfit.reason == WRONG_NUMBER and connector.has_header and first_bytes(misfit.file).startswith(b"#"):
            yield "if lines that begin with # are comments, declare ", ("comment", "#")
        yield from of_record(misfit, connector)
    elif misfit.reason in _OTHERS:
        yield _OTHERS[misfit.reason]
    elif misfit.text is not None and misfit.type is not None:
        yield from _values(misfit.text, misfit.type, connector)


def _encodings(misfit: Misfit, connector: FileConnector, head: bytes) -> Iterator[tuple[str, Setting]]:
    """Yield the options of an encoding; Text has none."""
    format = connector.spark_format.lower()
    needs_line_end = format == "json" and not connector.is_multi_line
    for meaning, setting in encoding_hints(head, misfit.path, needs_line_end=needs_line_end):
        if format == "text" and setting is not None:
            own = meaning.removesuffix("declare ")
            yield f"{own}convert it to UTF-8: `iconv -f {setting[1]} -t UTF-8`", None
        else:
            yield meaning, setting


def _quotes(misfit: Misfit, connector: FileConnector) -> Iterator[tuple[str, Setting]]:
    """Yield the options for quotes. Without them a value over two lines is two records, so that is proposed last."""
    options = _options(connector)
    is_whole = connector.is_multi_line
    are_doubled = options.get("escape") == '"'
    has_text_behind = _BEHIND_QUOTES.search(misfit.record) is not None
    if "escape" not in options and _BACKSLASH_AT_END.search(misfit.record):
        yield "if a backslash is part of the text also before a quote, declare ", ("escape", '"')
        return
    if not are_doubled and (is_whole or _DOUBLED.search(misfit.record)):
        yield ("if a quote in a value is written twice, as Excel and RFC 4180 do, declare ", ("escape", '"'))
    if not is_whole and not has_text_behind:
        yield "if a value in quotes continues in the next line, declare ", ("multiLine", "true")
    if has_text_behind or (is_whole and are_doubled):
        yield "if quotes are part of the text, declare ", ("quote", "")


def _json(misfit: Misfit, connector: FileConnector) -> Iterator[tuple[str, Setting]]:
    text = misfit.record.strip()
    if re.search(r"\}[\s,]*\{", text) and text.startswith("{"):
        yield ("several objects are in one place: write each in a line of its own, or all in one list", None)
    elif not connector.is_multi_line and not (text.startswith("{") and text.endswith("}")):
        yield ("if each file is one object or one list over several lines, declare ", ("multiLine", "true"))


def _separators(misfit: Misfit, connector: FileConnector) -> Iterator[tuple[str, Setting]]:
    own = _options(connector).get("sep", ",")
    for separator, written in ((";", ";"), ("\t", "\\t"), ("|", "|"), (",", ",")):
        if own not in (separator, written) and separator in misfit.record and own not in misfit.record:
            yield "if another character is between the fields, declare ", ("sep", written)
            return


_OF_RECORDS: dict[str, Callable[[Misfit, FileConnector], Iterator[tuple[str, Setting]]]] = {
    OPEN_QUOTE: _quotes,
    OPEN_TO_THE_END: _quotes,
    NOT_JSON: _json,
    WRONG_NUMBER: _separators,
}
_FILES_ONLY = ("recursiveFileLookup", "true")
_OTHERS: dict[str, tuple[str, Setting]] = {
    ODD_KEY: ("keys of JSON keep their case: write this key as the column is declared", None),
    LINE_BREAK: ("if all lines end in a line feed, declare ", ("lineSep", "\\n")),
    HALF_A_PAIR: (
        "JSON writes a character beyond \\uffff as a pair, as \\ud83d\\ude00; a text may have been cut in it",
        None,
    ),
    OTHER_FOLDER: ("to read the files' own values, and none from names of folders, declare ", _FILES_ONLY),
    REPEATED: ("if all of them are values, declare an ARRAY", None),
    IS_NULL: ("leave out NOT NULL if values may be missing", None),
}


def _values(text: str, type: str, connector: FileConnector) -> Iterator[tuple[str, Setting]]:
    if connector.spark_format.lower() in _LOCALIZED:
        of_csv = list(_values_of_csv(text, type, connector))
        if of_csv or text.strip().lower() in NULL_MARKERS:
            yield from of_csv
            return
    decimal = _DECIMAL_TYPE.fullmatch(type)
    plain = _PLAIN.fullmatch(_with_point(text, connector))
    if decimal and plain:
        digits, scale = int(decimal[1]), len(plain[1].rstrip("0"))
        if scale > int(decimal[2]):
            wider = f"DECIMAL({min(38, digits - int(decimal[2]) + scale)}, {scale})"
            yield f"to keep all digits, declare {wider}", None
    yield from _other_values(text, type, is_inferred=connector.schema is None)


def _other_values(text: str, type: str, *, is_inferred: bool) -> Iterator[tuple[str, Setting]]:
    """Yield what text may mean that is no value of a declared type, or shows that an inferred type is too narrow."""
    if re.fullmatch(r"[+-]?0\d+", text):
        yield "a number loses the zeros in front: declare schema= with STRING for this column", None
    elif is_inferred and re.fullmatch(r"\+\d+", text):
        yield "a number loses the plus in front: declare schema= with STRING for this column", None
    elif _NANOSECONDS.search(text) and type.startswith("TIMESTAMP"):
        yield "Spark keeps six digits of a second: declare STRING, and cast what you need", None
    elif is_inferred:
        yield "Spark inferred this type from the files: declare schema= with STRING for this column", None
    elif type == "DATE":
        yield "if it is written in another way, declare ", ("dateFormat", "dd/MM/yyyy")
    elif type.startswith("TIMESTAMP"):
        yield from _times(text, type)


def _values_of_csv(text: str, type: str, connector: FileConnector) -> Iterator[tuple[str, Setting]]:
    """Yield what text of CSV or XML may mean beside a value of its type: nothing, blanks, a decimal comma."""
    if text.strip().lower() in NULL_MARKERS:
        if not (isinstance(connector, Csv) and connector.null_value):  # there is one text for it
            yield "if it marks a missing value, declare ", ("nullValue", text)
    elif text != text.strip():
        side = "Leading" if text != text.lstrip() else "Trailing"
        is_csv = connector.spark_format.lower() == "csv"
        name = f"ignore{side}WhiteSpace" if is_csv else "ignoreSurroundingSpaces"
        yield "to leave out blanks around values, declare ", (name, "true")
    else:
        declare = "declare " if _DECIMAL_TYPE.fullmatch(type) else "declare the column as DECIMAL, and "
        locale = _options(connector).get("locale")
        has_comma, has_thousands = _COMMA.fullmatch(text), _THOUSANDS.fullmatch(text)
        if has_comma and (locale is None or (_is_english(locale) and not has_thousands)):
            yield f"if the comma is the decimal point, {declare}", ("locale", "de-DE")
        if has_thousands and (locale is None or not (_is_english(locale) or has_comma)):
            yield f"if the comma is between thousands, {declare}", ("locale", "en-US")


def _is_english(locale: str) -> bool:
    """Whether numbers of a locale have a decimal point, and commas between thousands; others are taken for German."""
    return locale.lower().startswith("en")


def _with_point(text: str, connector: FileConnector) -> str:
    """Return a number of CSV or XML with a point in place of its decimal comma, and without the marks of thousands.

    Only a declared locale says which is which: without one, the text may mean either.
    """
    locale = _options(connector).get("locale")
    if locale is None or connector.spark_format.lower() not in _LOCALIZED:
        return text
    if _is_english(locale):
        return text.replace(",", "")
    return text.replace(".", "").replace(",", ".") if "," in text else text


def _times(text: str, type: str) -> Iterator[tuple[str, Setting]]:
    if re.fullmatch(r"-?\d+(\.\d+)?", text):
        function = "timestamp_seconds" if len(text) <= _SECONDS else "timestamp_millis"
        unit = "seconds" if len(text) <= _SECONDS else "milliseconds"
        yield (f'if it counts {unit} since 1970, declare BIGINT, and add with_columns(at="{function}(at)")', None)
    elif type == "TIMESTAMP_NTZ" and _ZONE.search(text):
        yield "it has a time zone: declare TIMESTAMP", None
    else:
        name = "timestampNTZFormat" if type == "TIMESTAMP_NTZ" else "timestampFormat"
        yield "if it is written in another way, declare ", (name, "dd/MM/yyyy HH:mm")


def _options(connector: FileConnector) -> dict[str, str]:
    return {name.lower(): str(value) for name, value in connector.spark_options().items()}


def setting_words(setting: Setting, connector: FileConnector, *, is_yaml: bool) -> str:
    """Write a setting as the declaration would: CSV's null value is an argument, all others are options."""
    if setting is None:
        return ""
    name, value = setting
    text = '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"'
    if name == "nullValue" and isinstance(connector, Csv):
        return f"null_value: {text}" if is_yaml else f"null_value={text}"
    return f"options: {{{name}: {text}}}" if is_yaml else f'options={{"{name}": {text}}}'
