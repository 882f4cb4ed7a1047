"""Types that a format cannot store: refused before anything is written, since Spark refuses them only then.

`tests/spark/connectors/test_connectors.py` writes every type of Spark to every format, so that both agree.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from types import MappingProxyType

from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    CalendarIntervalType,
    DataType,
    MapType,
    NullType,
    StringType,
    StructType,
    VariantType,
)

from graph_compiler.declaration.connectors.spark_options import charset_of, has_all_letters
from graph_compiler.errors import PublicationError
from graph_compiler.identifiers import listing
from graph_compiler.spark_runtime.columns.declared_schema import type_words
from graph_compiler.spark_runtime.publishing.xml_columns import why_not_xml

_NESTED = (ArrayType, MapType, StructType)
_NOWHERE = frozenset({"interval", "time"})
_NO_FOLDER = (*_NESTED, VariantType, NullType, BinaryType)
"""A folder's name is text, and all bytes that are not valid text become the same name."""
_REFUSED: dict[str, tuple[type[DataType], ...]] = {
    "csv": (*_NESTED, VariantType, NullType, BinaryType),
    "orc": (VariantType, NullType),
    "json": (),
    "parquet": (),
}
_NAMES = {"csv": "\n\r", "orc": "`"}
"""Characters that a format cannot keep in a column's name: a header is one line, and ORC cannot escape its quotes."""
_IN_CHARSET = ("csv", "json", "xml")
"""Formats with the option `encoding`."""
_MARKS = ("sep", "delimiter", "quote", "escape", "linesep")
"""Options, in lower case, whose text is between the values."""


def check_columns(
    schema: StructType, format: str, partition_by: tuple[str, ...], options: Mapping[str, str] = MappingProxyType({})
) -> None:
    """Raise PublicationError, which names every column that files of this format, in these folders, cannot store.

    `options` are the writer's.
    """
    format = format.lower()
    wrong = [
        *_folders(schema, partition_by),
        *_types(schema, format, partition_by),
        *_names(schema, format),
        *_charset(_in_files(schema, partition_by), format, options),
        *_keys(schema, format),
        *(why_not_xml(_in_files(schema, partition_by), options) if format == "xml" else ()),
    ]
    if wrong:
        raise PublicationError(
            "\n".join([f"{format} files cannot hold what it would write", *(f"  {w}" for w in wrong)])
        )


def check_names(schema: StructType) -> None:
    """Raise PublicationError, which names every duplicate column or field of a struct: no reader can find them."""
    counts = Counter(tuple(name.lower() for name in path) for path in _paths(schema, ()))
    if twice := [".".join(path) for path, count in counts.items() if count > 1]:
        raise PublicationError(
            f"it would write {listing(twice)} more than once\n"
            "  hint: Spark treats names that differ only in case as the same; rename or drop one of each"
        )


def _paths(data_type: DataType, path: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    """Yield the path of each column and each field of a struct; a column `s.x` is not the field x of a column s."""
    if isinstance(data_type, StructType):
        for field in data_type:
            yield (*path, field.name)
            yield from _paths(field.dataType, (*path, field.name))
    elif isinstance(data_type, ArrayType):
        yield from _paths(data_type.elementType, (*path, "element"))
    elif isinstance(data_type, MapType):
        yield from _paths(data_type.keyType, (*path, "key"))
        yield from _paths(data_type.valueType, (*path, "value"))


def _folders(schema: StructType, partition_by: tuple[str, ...]) -> Iterator[str]:
    known = {name.lower() for name in schema.names}
    for name in partition_by:
        if name.lower() not in known:
            yield f"partition_by names '{name}'; found: {', '.join(schema.names)}"
        if name.startswith("."):
            yield f"column '{name}' is in partition_by, but readers skip folders that begin with a dot"
    if schema.names and len(partition_by) >= len(schema.names):
        yield "every column is in partition_by; a file needs at least one"


def _in_files(schema: StructType, partition_by: tuple[str, ...]) -> StructType:
    """Return the columns that the files contain; the others are folder names."""
    folders = {name.lower() for name in partition_by}
    return StructType([field for field in schema if field.name.lower() not in folders])


def _types(schema: StructType, format: str, partition_by: tuple[str, ...]) -> Iterator[str]:
    folders = {name.lower() for name in partition_by}
    columns = _in_files(schema, partition_by)
    for field in schema:
        if field.name.lower() in folders and _within(field.dataType, _NO_FOLDER):
            yield f"column '{field.name}' is {type_words(field.dataType)}; a folder's name cannot hold it"
    if format == "text":
        if len(columns) != 1 or not isinstance(columns[0].dataType, StringType):
            found = ", ".join(f"{field.name} {type_words(field.dataType)}" for field in columns)
            yield f"found: {found}; allowed: one STRING column beside partition_by"
        return
    for field in columns:
        if _within(field.dataType, _REFUSED.get(format, ())):
            yield f"column '{field.name}' is {type_words(field.dataType)}"


def _names(schema: StructType, format: str) -> Iterator[str]:
    """Yield columns, and fields in them, whose names a format would change."""
    letters = _NAMES.get(format, "")
    for name in _all_names(schema):
        if found := [letter for letter in letters if letter in name]:
            yield f"column {name!r}: its name has {found[0]!r}"


def _charset(schema: StructType, format: str, options: Mapping[str, str]) -> Iterator[str]:
    """Yield names in files, and options, that the declared lineSep or encoding would change."""
    if format not in _IN_CHARSET:
        return
    known = {name.lower(): value for name, value in options.items()}
    charset, separator = charset_of(known), known.get("linesep", "")
    is_escaped = format == "json" and known.get("writenonasciicharacterascodepoint", "").lower() == "true"
    for name in _all_names(schema):
        if separator.strip("\r\n") and format != "xml" and separator in name:
            yield f"column {name!r}: its name has {separator!r}, which is the lineSep"
        elif not is_escaped and not is_in_charset(name, charset):
            yield f"column {name!r}: its name has letters that {charset} does not have"
    for name, value in options.items():
        if name.lower() in _MARKS and not is_in_charset(value, charset):
            yield f"option '{name}' is {value!r}, which {charset} does not have"


def is_in_charset(text: str, charset: str) -> bool:
    """Whether a text is the same after it is written in a charset; if Python does not know it, only ASCII is."""
    if has_all_letters(charset) or text.isascii():
        return True
    try:
        return text.encode(charset).decode(charset) == text
    except (LookupError, UnicodeError):
        return False


def _all_names(data_type: DataType) -> Iterator[str]:
    if isinstance(data_type, StructType):
        for field in data_type:
            yield field.name
            yield from _all_names(field.dataType)
    for inner in _inner(data_type):
        yield from _all_names(inner)


def _keys(schema: StructType, format: str) -> Iterator[str]:
    """Yield columns with map keys that are not text, if the format's keys must be."""
    for field in schema if format == "json" else ():
        if any(not isinstance(key, StringType) for key in _all_keys(field.dataType)):
            yield f"column '{field.name}' is {type_words(field.dataType)}; keys of JSON are strings"


def _all_keys(data_type: DataType) -> Iterator[DataType]:
    if isinstance(data_type, MapType):
        yield data_type.keyType
    inner = [field.dataType for field in data_type] if isinstance(data_type, StructType) else []
    for found in (*inner, *_inner(data_type)):
        yield from _all_keys(found)


def _inner(data_type: DataType) -> tuple[DataType, ...]:
    """Return the types of an array's elements, of a map's keys and values."""
    if isinstance(data_type, ArrayType):
        return (data_type.elementType,)
    return (data_type.keyType, data_type.valueType) if isinstance(data_type, MapType) else ()


def _within(data_type: DataType, refused: tuple[type[DataType], ...]) -> bool:
    """Whether a type, or one inside it, is refused."""
    if isinstance(data_type, (*refused, CalendarIntervalType)) or _is_unsupported(data_type):
        return True
    if isinstance(data_type, StructType):
        return any(_within(field.dataType, refused) for field in data_type)
    return any(_within(inner, refused) for inner in _inner(data_type))


def _is_unsupported(data_type: DataType) -> bool:
    """Whether no format supports it: calendar intervals, times of day."""
    return data_type.simpleString().partition("(")[0] in _NOWHERE
