"""Values that a target would change: counted in the job that writes them, and refused before anything is published.

    csv, json    a letter that the declared encoding does not have    Spark writes a question mark
    csv, json, xml, databases    bytes in a STRING that are not UTF-8 Spark writes U+FFFD
                 the declared lineSep in a text                       readers see two records
    csv    a line break in a text           Spark's readers see two lines, unless multiLine says otherwise
           a lone NULL                      an empty line, which readers skip
    text   a line break, NULL               two lines; the line of an empty text
    orc, databases    a date or time from 1582-10-05 to 14    a different one: the Julian calendar has no such days
    orc    a time in the last second before 1970  a second later
    xml    leading or trailing blanks             readers remove them, unless ignoreSurroundingSpaces is false
           NULL in an array, an empty array a missing element, and an element that is NULL
           the smallest INT or BIGINT          Spark's reader fails

Columns whose types a format cannot store are refused earlier (`column_types.py`). What an option can preserve is
written with that option (`FileConnector.write_options`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from pyspark.sql import Column, DataFrame, Observation, Row
from pyspark.sql.functions import col, count, expr
from pyspark.sql.types import (
    ArrayType,
    DataType,
    DateType,
    IntegerType,
    LongType,
    MapType,
    StringType,
    StructField,
    StructType,
    TimestampNTZType,
    TimestampType,
)

from graph_compiler.declaration.connectors.spark_options import OF_FORMATS, charset_of, has_all_letters
from graph_compiler.errors import PublicationError
from graph_compiler.identifiers import counted, listing, quoted
from graph_compiler.spark_runtime.columns.alignment import align
from graph_compiler.spark_runtime.columns.strict_values import sql_literal
from graph_compiler.spark_runtime.results.pinned_settings import pinned
from graph_compiler.spark_runtime.spark_internals.executed_queries import observed_numbers
from graph_compiler.spark_runtime.spark_internals.java import lit

_BREAKS = ("\\n", "\\r")
_Options = Mapping[str, str]
_ENCODES_AS_WRITERS = {"spark.sql.legacy.javaCharsets": "true", "spark.sql.legacy.codingErrorAction": "true"}
"""Settings with which `encode` knows all charsets, and writes ? for a letter that one does not have."""
_NOT_OF_VALUES = frozenset({"encoding", "charset", "compression", "codec", "header", "mode", "pretty", "extension"})
"""Options of a format, in lower case, that do not say how a value is written."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Doubt:
    """Values of a column that readers would change: what they are, the SQL that finds them, a hint."""

    column: str
    found: str
    condition: str
    hint: str


@dataclass(frozen=True, slots=True, kw_only=True)
class WatchedRows:
    """Rows to be written; after that, `check` reports the values that the target has changed."""

    rows: DataFrame
    target: str
    doubts: tuple[Doubt, ...]
    observation: Observation | None

    def check(self) -> None:
        """Raise PublicationError, which names every column with values that the target has changed."""
        if self.observation is None:
            return
        counts = observed_numbers(self.observation)
        wrong = [
            f"  column '{doubt.column}' has {doubt.found} in {counted(count, 'row')}\n    hint: {doubt.hint}"
            for number, doubt in enumerate(self.doubts)
            if (count := counts.get(f"doubt_{number}") or 0)
        ]
        if wrong:
            raise PublicationError("\n".join([f"{self.target} cannot hold what it would write", *wrong]))


def watch_values(rows: DataFrame, format: str, options: _Options, partition_by: tuple[str, ...]) -> WatchedRows:
    """Return the rows with a count of the values that a format would change; `options` are the writer's."""
    folders = {name.lower() for name in partition_by}
    columns = [field for field in rows.schema if field.name.lower() not in folders]
    known = {key.lower(): value for key, value in options.items()}
    format = format.lower()
    doubts = tuple(_DOUBTS[format](columns, known)) if format in _DOUBTS else ()
    return _watched(rows, f"{format} files", doubts)


def watch_sent_values(rows: DataFrame, table: str) -> WatchedRows:
    """Return the rows with a count of the values that Spark would send to a database's table as other ones."""
    columns = list(rows.schema)
    hint = "write it as a text"
    doubts = (*_of_bytes(columns), *_of_skipped_days(columns, hint, _SENT), *_of_far_years(columns, hint))
    return _watched(rows, table, doubts)


def _watched(rows: DataFrame, target: str, doubts: tuple[Doubt, ...]) -> WatchedRows:
    if not doubts:
        return WatchedRows(rows=rows, target=target, doubts=(), observation=None)
    observation = Observation()
    counts = (expr(f"count_if({doubt.condition}) AS doubt_{number}") for number, doubt in enumerate(doubts))
    with pinned(rows.sparkSession, _ENCODES_AS_WRITERS):
        observed = rows.observe(observation, *counts)
    return WatchedRows(rows=observed, target=target, doubts=doubts, observation=observation)


def _of_csv(columns: list[StructField], options: _Options) -> Iterator[Doubt]:
    separator, is_multi_line = options.get("linesep"), options.get("multiline", "").lower() == "true"
    breaks = () if is_multi_line else _breaks(separator)
    if separator is not None and len(separator) > 1:  # Spark writes it for the break in a text, too
        breaks += ("\\n",)
    hint = "options={'multiLine': 'true'}, and readers that take it"
    if separator not in (None, "\n", "\r"):
        hint = "leave out option lineSep, or replace them"
    for field in columns:
        if breaks and isinstance(field.dataType, StringType):
            yield Doubt(
                column=field.name, found="line breaks", condition=_has(quoted(field.name), breaks), hint=hint
            )  # fmt: skip
    yield from _of_bytes(columns)
    yield from _of_charset("csv", columns, options)
    if len(columns) == 1 and not options.get("nullvalue", ""):
        yield _null(columns[0], "null_value='NULL', or another text that stands for it")


def _of_text(columns: list[StructField], options: _Options) -> Iterator[Doubt]:
    breaks = _breaks(options.get("linesep"))
    for field in columns:
        yield Doubt(
            column=field.name,
            found="line breaks",
            condition=_has(quoted(field.name), breaks),
            hint="replace them, or write Parquet",
        )
        yield _null(field, f"write coalesce({field.name}, ''), or filter these rows out, which are then not written")


def _breaks(separator: str | None) -> tuple[str, ...]:
    return _BREAKS if separator is None else (_literal(separator),)


def _of_json(columns: list[StructField], options: _Options) -> Iterator[Doubt]:
    separator = options.get("linesep", "\n")
    for field in columns if separator.strip("\r\n") else ():  # JSON escapes line breaks
        yield Doubt(
            column=field.name,
            found=f"{separator!r}, which is the lineSep,",
            condition=_has(_written("json", field, options), (_literal(separator),)),
            hint="leave out option lineSep, or replace it",
        )
    yield from _of_bytes(columns)
    yield from _of_charset("json", columns, options)


def _of_bytes(columns: list[StructField]) -> Iterator[Doubt]:
    """Yield doubts on texts that are none, as old files of Parquet have them, or a cast of BINARY."""
    for field in columns:
        if where := _anywhere(quoted(field.name), field.dataType, StringType, _is_no_text):
            yield Doubt(
                column=field.name,
                found="bytes that are not UTF-8",
                condition=where,
                hint="decode(CAST(… AS BINARY), 'windows-1252'), or the encoding that they have; Parquet keeps them",
            )


def _is_no_text(value: str) -> str:
    return f"NOT is_valid_utf8({value})"


def _of_charset(format: str, columns: list[StructField], options: _Options) -> Iterator[Doubt]:
    """Yield doubts on letters that the charset of the files does not have, in whatever a value is written as."""
    charset = charset_of(options)
    for field in () if has_all_letters(charset) else columns:
        text, name = _written(format, field, options), sql_literal(charset)
        yield Doubt(
            column=field.name,
            found=f"letters that {charset} does not have",
            condition=f"CAST(decode(encode({text}, {name}), {name}) AS BINARY) <> CAST({text} AS BINARY)",
            hint="leave out the option encoding: UTF-8 has all letters; or replace these",
        )


def _written(format: str, field: StructField, options: _Options) -> str:
    """Return the expression of the text that a file has for a value."""
    names = {name.lower() for name in OF_FORMATS[format]} - _NOT_OF_VALUES
    own = [text for name, value in options.items() if name in names for text in (name, value)]
    settings = f", map({', '.join(map(sql_literal, own))})" if own else ""
    return f"to_{format}(named_struct({sql_literal(field.name)}, {quoted(field.name)}){settings})"


def _of_orc(columns: list[StructField], _: _Options) -> Iterator[Doubt]:
    hint = "write Parquet, which keeps them"
    yield from _of_skipped_days(columns, hint, (DateType, TimestampType))
    for field in columns:
        if where := _anywhere(quoted(field.name), field.dataType, TimestampType, _is_before_1970):
            yield Doubt(column=field.name, found="times in the last second before 1970", condition=where, hint=hint)


def _of_skipped_days(columns: list[StructField], hint: str, kinds: tuple[type[DataType], ...]) -> Iterator[Doubt]:
    """Yield doubts on days that Java's classes for SQL do not have: their calendar is Julian before 1582-10-15."""
    for field in columns:
        for kind in kinds:
            found, condition = _SKIPPED[kind]
            if where := _anywhere(quoted(field.name), field.dataType, kind, condition):
                yield Doubt(
                    column=field.name, found=f"{found} from 1582-10-05 to 1582-10-14", condition=where, hint=hint
                )  # fmt: skip


def _of_far_years(columns: list[StructField], hint: str) -> Iterator[Doubt]:
    """Yield doubts on days in arrays that their text in `java.sql` does not have: it has four digits, and no era."""
    for field in columns:
        for kind, condition in _FAR.items() if isinstance(field.dataType, ArrayType) else ():
            if where := _anywhere(quoted(field.name), field.dataType, kind, condition):
                found = "days before year 1, or after year 9999, in arrays"
                yield Doubt(column=field.name, found=found, condition=where, hint=hint)


def _of_xml(columns: list[StructField], options: _Options) -> Iterator[Doubt]:
    yield from _of_bytes(columns)
    keeps_blanks = options.get("ignoresurroundingspaces", "").lower() == "false"
    blanks_hint = "options={'ignoreSurroundingSpaces': 'false'}, which readers need too"
    for field in columns:
        for kind, found, condition, hint in (
            *(() if keeps_blanks else ((StringType, "leading or trailing blanks", _is_trimmed, blanks_hint),)),
            (StringType, "the characters U+FFFE or U+FFFF", _has_no_letter, "replace them, or write Parquet"),
            (IntegerType, "the smallest INT", _is_least_int, "a column of BIGINT, or write Parquet"),
            (LongType, "the smallest BIGINT", _is_least_bigint, "a column of DECIMAL(20,0), or write Parquet"),
            (ArrayType, "empty arrays, or NULL in them", _has_gap, "NULL, or an array without NULL"),
        ):  # fmt: skip
            if where := _anywhere(quoted(field.name), field.dataType, kind, condition):
                yield Doubt(column=field.name, found=found, condition=where, hint=hint)


def _is_trimmed(value: str) -> str:
    return f"length({value}) <> length(trim(BOTH ' \\t\\n\\r' FROM {value}))"


def _has_no_letter(value: str) -> str:
    return _has(value, ("\\uFFFE", "\\uFFFF"))


def _is_least_int(value: str) -> str:
    return f"{value} = {-(2**31)}"


def _is_least_bigint(value: str) -> str:
    return f"{value} = {-(2**63)}"


def _has_gap(values: str) -> str:
    return f"size({values}) = 0 OR exists({values}, one -> one IS NULL)"


def _null(field: StructField, hint: str) -> Doubt:
    return Doubt(column=field.name, found="NULL", condition=f"{quoted(field.name)} IS NULL", hint=hint)


def _has(value: str, texts: tuple[str, ...]) -> str:
    return " OR ".join(f"contains({value}, '{text}')" for text in texts)


def _literal(text: str) -> str:
    return text.replace("\\", "\\\\").replace("'", "\\'")


def _is_skipped_date(value: str) -> str:
    return f"{value} BETWEEN DATE '1582-10-05' AND DATE '1582-10-14'"


def _is_skipped_time(value: str) -> str:
    return f"{value} >= TIMESTAMP '1582-10-05 00:00:00Z' AND {value} < TIMESTAMP '1582-10-15 00:00:00Z'"


def _is_skipped_local_time(value: str) -> str:
    return f"{value} >= TIMESTAMP_NTZ '1582-10-05 00:00:00' AND {value} < TIMESTAMP_NTZ '1582-10-15 00:00:00'"


_SKIPPED: Mapping[type[DataType], tuple[str, Callable[[str], str]]] = {
    DateType: ("dates", _is_skipped_date),
    TimestampType: ("times", _is_skipped_time),
    TimestampNTZType: ("times", _is_skipped_local_time),
}
_FAR: Mapping[type[DataType], Callable[[str], str]] = {
    DateType: lambda value: f"{value} NOT BETWEEN DATE '0001-01-01' AND DATE '9999-12-31'",
    TimestampNTZType: lambda value: f"{value} < TIMESTAMP_NTZ '0001-01-01'",
}
_SENT = tuple(_SKIPPED)
"""Types of whose values Spark makes objects of `java.sql` for a database."""


def _is_before_1970(value: str) -> str:
    return f"{value} > TIMESTAMP '1969-12-31 23:59:59Z' AND {value} < TIMESTAMP '1970-01-01 00:00:00Z'"


def _anywhere(
    value: str, data_type: DataType, kind: type[DataType], condition: Callable[[str], str], depth: int = 0
) -> str | None:  # fmt: skip
    """Return SQL that is true if any nested value of the kind meets the condition; None if the type has none."""

    def inside(value: str, data_type: DataType) -> str | None:
        return _anywhere(value, data_type, kind, condition, depth + 1)

    def among(values: str, data_type: DataType) -> str | None:
        found = inside(f"x{depth}", data_type)
        return found and f"exists({values}, x{depth} -> {found})"

    parts: list[str | None] = [f"({condition(value)})"] if isinstance(data_type, kind) else []
    if isinstance(data_type, ArrayType):
        parts.append(among(value, data_type.elementType))
    if isinstance(data_type, MapType):
        parts.append(among(f"map_keys({value})", data_type.keyType))
        parts.append(among(f"map_values({value})", data_type.valueType))
    if isinstance(data_type, StructType):
        parts += [inside(f"{value}.{quoted(field.name)}", field.dataType) for field in data_type]
    known = [part for part in parts if part]
    return f"({' OR '.join(known)})" if known else None


_DOUBTS: Mapping[str, Callable[[list[StructField], _Options], Iterator[Doubt]]] = {
    "csv": _of_csv,
    "json": _of_json,
    "text": _of_text,
    "orc": _of_orc,
    "xml": _of_xml,
}


_SHOWN = 3


def key_columns(keys: tuple[str, ...], schema: StructType) -> tuple[str, ...]:
    """Return the keys in the spelling of the rows' columns; raises PublicationError for keys that are not columns."""
    known = {name.lower(): name for name in schema.names}
    if unknown := [key for key in keys if key.lower() not in known]:
        raise PublicationError(
            f"it merges by {listing(unknown)}, but its rows have no such column\n  allowed: {listing(schema.names)}"
        )
    return tuple(known[key.lower()] for key in keys)


def refuse_keys(found: Sequence[Row], keys: tuple[str, ...]) -> None:
    """Raise PublicationError for keys that do not identify exactly one row.

    `found` holds such keys, each with the number of its rows as the last column.
    """
    if not found:
        return
    shown = [
        f"{', '.join(f'{key}={value}' for key, value in zip(keys, row, strict=False))} ({counted(row[-1], 'row')})"
        for row in found[:_SHOWN]
    ]
    more = ", …" if len(found) > _SHOWN else ""
    raise PublicationError(
        f"it merges by {listing(keys)}, and its rows have keys more than once, or NULL: {'; '.join(shown)}{more}\n"
        "  allowed: one row for each key, and no NULL in it\n"
        f"  hint: deduplicate({', '.join(map(repr, keys))}, order_by=…) before the sink keeps the first row of each "
        'key; filter(…, rejects="tag") sets rows with NULL aside'
    )


def unusable_keys(rows: DataFrame, keys: tuple[str, ...]) -> list[Row]:
    """Return keys that are duplicate or contain NULL, as `refuse_keys` expects them; runs one job."""
    counts = rows.groupBy(*_columns(keys)).agg(count(lit(1)).alias("graph_compiler_rows"))
    wrong = col("graph_compiler_rows") > 1
    for key in _columns(keys):
        wrong = wrong | key.isNull()
    return counts.where(wrong).limit(_SHOWN + 1).collect()


def merge(old: DataFrame, new: DataFrame, keys: tuple[str, ...]) -> DataFrame:
    """Return the old rows whose key is not in the new rows, and the new rows; with the new rows' columns."""
    same = align(old, new.schema)
    stays = same.join(new.select(*_columns(keys)), list(keys), "left_anti")
    return stays.select(*map(quoted, new.columns)).union(new)


def _columns(keys: tuple[str, ...]) -> list[Column]:
    return [col(quoted(key)) for key in keys]
