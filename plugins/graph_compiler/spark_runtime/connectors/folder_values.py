"""Values that are names of folders, `year=2013`: each fits its column's type, or the source is refused.

Spark finds their types by itself, and is lenient: without a schema, it reads 00123 as 123. With one, it cuts a day such
as `2024-01-05 banana`, and takes 1.005 as DECIMAL(9,2) for 10.05 where it reads columns in batches. So texts are
compared with types as those in files are (`columns/strict_values.py`).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from pyspark.errors import PySparkException
from pyspark.sql.types import (
    BooleanType,
    ByteType,
    DataType,
    DateType,
    DecimalType,
    FractionalType,
    IntegerType,
    LongType,
    ShortType,
    StringType,
    StructField,
    StructType,
    TimestampNTZType,
    TimestampType,
)

from graph_compiler.errors import SchemaChangedError
from graph_compiler.identifiers import counted, listing, shown
from graph_compiler.spark_runtime.columns.declared_schema import ddl, parse_schema, type_words
from graph_compiler.spark_runtime.columns.strict_values import DAY, NUMBER, TIME, TIME_OR_ZONE, moment_pattern
from graph_compiler.spark_runtime.publishing.partition_names import NULL_FOLDER, unescaped
from graph_compiler.spark_runtime.spark_internals.file_listings import Listing, partition_folders
from graph_compiler.spark_runtime.spark_internals.java import Py4JJavaError
from graph_compiler.spark_runtime.spark_internals.plan_leaves import PlanLeaf

_BITS: dict[type[DataType], int] = {ByteType: 8, ShortType: 16, IntegerType: 32, LongType: 64}
_WHOLE, _SAME_WHOLE = r"[+-]?\d+", r"0|-?[1-9]\d*"
_NO_NUMBER = "NaN|-?Infinity"
_SAME_NUMBER = rf"-?(0|[1-9]\d*)\.(\d|\d*[1-9])(E-?\d+)?|{_NO_NUMBER}"
"""A DOUBLE as Spark writes it: 1.5, 1.0E30."""


@dataclass(frozen=True, slots=True)
class _FolderValue:
    """A column and its text in the name of a folder."""

    field: StructField
    text: str
    folder: str


def check_folder_values(leaves: Iterable[PlanLeaf], schema: StructType, declared: str | None) -> None:
    """Raise SchemaChangedError if the name of a folder does not fit its column's type, declared or inferred.

    `leaves` are those of the source's plan, `schema` the columns of its rows.
    """
    known = {} if declared is None else {field.name.lower(): field for field in parse_schema(declared)}
    for leaf in leaves:
        if leaf.listing is None:
            continue
        columns, folders = partition_folders(leaf.listing)
        texts = [field for field in columns if not isinstance(field.dataType, StringType)]
        if not texts:
            continue
        for value in _values(columns, folders):
            is_declared = value.field.name.lower() in known
            if not fits_folder(value.text, value.field.dataType, is_declared=is_declared):
                raise _refusal(value, schema, is_declared=is_declared)


def columns_with_null(listing: Listing) -> frozenset[str]:
    """Return the columns, in lower case, for which a folder has no value."""
    columns, folders = partition_folders(listing)
    parts = {part for folder in folders for part in folder.split("/")[-len(columns) :]} if columns else set()
    names = (part.removesuffix(f"={NULL_FOLDER}") for part in parts if part.endswith(f"={NULL_FOLDER}"))
    return frozenset(unescaped(name).lower() for name in names)


def fits_folder(text: str, kind: DataType, *, is_declared: bool) -> bool:
    """Whether a value has all of a text; if its type is not declared, the text must be the value's only form."""
    bits = _BITS.get(type(kind))
    if bits is not None:
        is_whole = _is(_WHOLE if is_declared else _SAME_WHOLE, text)
        return is_whole and -(2 ** (bits - 1)) <= int(text) < 2 ** (bits - 1)
    if isinstance(kind, DecimalType):
        return _fits_decimal(text, kind, is_declared=is_declared)
    if isinstance(kind, FractionalType):
        return _is(rf"{NUMBER}|{_NO_NUMBER}" if is_declared else _SAME_NUMBER, text)
    if isinstance(kind, DateType):
        return _is(DAY if is_declared else r"\d{4,7}-\d\d-\d\d", text)
    if isinstance(kind, TimestampType | TimestampNTZType):
        return _is(moment_pattern(TIME if isinstance(kind, TimestampNTZType) else TIME_OR_ZONE), text)
    return not isinstance(kind, BooleanType) or text.lower() in ("true", "false")


def _fits_decimal(text: str, kind: DecimalType, *, is_declared: bool) -> bool:
    """Whether a text has as many decimal places as its type: Spark (4.3) takes the digits without the point."""
    fraction = rf"\.\d{{{kind.scale}}}" if kind.scale else ""
    whole = r"\d+" if is_declared else r"(0|[1-9]\d*)"
    return _is(rf"[+-]?{whole}{fraction}", text) and len(re.sub(r"\D", "", text).lstrip("0")) <= kind.precision


def refuse_columns_in_both(columns: Sequence[str], path: str) -> None:
    """Raise SchemaChangedError for columns that are in files and in names of their folders."""
    if columns:
        raise SchemaChangedError(
            f"files below {path} have columns that are also in the names of their folders: {listing(columns)}\n"
            "  Spark would read the folders' values, which may differ\n"
            '  hint: options={"recursiveFileLookup": "true"} reads the columns of the files, and none from folders'
        )


def folder_refusal(error: PySparkException | Py4JJavaError) -> SchemaChangedError | None:
    """Return the refusal of folders whose names Spark itself cannot read; None for other failures."""
    if (empty := _EMPTY.search(str(error))) is not None:
        return SchemaChangedError(
            f"the folder {shown(empty[1])} has no value behind its =\n"
            f"  allowed: column=value; for NULL, {empty[1]}{NULL_FOLDER}\n  hint: rename the folder"
        )
    if not isinstance(error, PySparkException):
        return None
    condition, parameters = error.getCondition(), error.getMessageParameters() or {}
    if condition == "INVALID_PARTITION_VALUE":
        name, kind = (str(parameters.get(each, "")).strip('`"') for each in ("columnName", "dataType"))
        value = unescaped(str(parameters.get("value", "")).strip("'"))
        return SchemaChangedError(
            f"the value {shown(value)} in the name of a folder does not fit column '{name}', {kind}\n{_AS_TEXT}"
        )
    if condition == "CONFLICTING_PARTITION_COLUMN_NAMES":
        folders = re.findall(r"^\t(\w+:/.*?)(?: SQLSTATE.*)?$", str(error), re.MULTILINE)
        return SchemaChangedError(
            "folders of one level are named after different columns, or have files at different depths\n"
            + "".join(f"  folder: {folder}\n" for folder in folders[:_SHOWN])
            + "  allowed: one column=value for each level, and files in folders of the last level only\n"
            "  hint: declare one source for the folders of each kind"
        )
    return None


_EMPTY = re.compile(r"empty partition column value in (?:the path segment )?'(.*?=)'", re.IGNORECASE)
"""What Spark says of a folder without a value; before 4.3, it is an assertion."""
_SHOWN = 5
"""The folders in a message."""
_AS_TEXT = "  hint: declare STRING for this column, and cast what you need; or rename the folder"


def _is(pattern: str, text: str) -> bool:
    return re.fullmatch(pattern, text, re.ASCII) is not None


def _values(columns: StructType, folders: Sequence[str]) -> Iterator[_FolderValue]:
    """Yield the values of folders; each name of a folder once."""
    seen = set()
    for folder in folders:
        for field, part in zip(columns, folder.split("/")[-len(columns) :], strict=False):
            name, _, text = part.partition("=")
            if (field.name, text) in seen or unescaped(name).lower() != field.name.lower() or text == NULL_FOLDER:
                continue
            seen.add((field.name, text))
            yield _FolderValue(field, unescaped(text), folder)


def _refusal(value: _FolderValue, schema: StructType, *, is_declared: bool) -> SchemaChangedError:
    name, words = value.field.name, type_words(value.field.dataType)
    lines = [f"the value {shown(value.text)} in the name of a folder does not fit column '{name}', {words}"]
    lines.append(f"  folder: {value.folder}")
    if is_declared:
        scale = getattr(value.field.dataType, "scale", 0)
        places = f"  allowed: numbers with {counted(scale, 'decimal place')}, as 0.{'0' * scale}"
        lines += [places, _AS_TEXT] if scale else [_AS_TEXT]
        return SchemaChangedError("\n".join(lines))
    kept = StructType([StructField(f.name, StringType()) if f.name == name else f for f in schema])
    lines.append("  Spark has inferred this type, which does not keep the text as it is")
    lines.append(f'  hint: to keep the text, declare schema="{ddl(kept)}"')
    lines.append(f"  hint: to read it as {words}, declare that type in schema=")
    return SchemaChangedError("\n".join(lines))
