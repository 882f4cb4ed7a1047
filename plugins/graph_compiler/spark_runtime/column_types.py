"""What a format cannot hold, said before anything is written; Spark says it too, once it is writing.

`tests/spark/test_connectors.py` writes every type of Spark to every format, so that both say the same.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from pyspark.sql.types import (
    ArrayType,
    CalendarIntervalType,
    DataType,
    MapType,
    NullType,
    StringType,
    StructType,
    VariantType,
)

from graph_compiler.errors import PublicationError
from graph_compiler.identifiers import listing
from graph_compiler.spark_runtime.declared_schema import type_words

_NESTED = (ArrayType, MapType, StructType)
_NOWHERE = frozenset({"interval", "time"})
_REFUSED: dict[str, tuple[type[DataType], ...]] = {
    "csv": (*_NESTED, VariantType, NullType),
    "orc": (VariantType, NullType),
    "json": (),
    "parquet": (),
}


def check_columns(schema: StructType, format: str, partition_by: tuple[str, ...]) -> None:
    """Raise PublicationError naming every column that files of this format, in these folders, cannot hold."""
    wrong = [*_folders(schema, partition_by), *_types(schema, format, partition_by)]
    if wrong:
        raise PublicationError(
            "\n".join(
                [f"{format} files cannot hold what it would write", *(f"  {w}" for w in wrong)]
            )
        )


def check_names(schema: StructType) -> None:
    """Raise PublicationError naming every column that is there more than once: nothing can be written with two."""
    counts = Counter(name.lower() for name in schema.names)
    if twice := [name for name, count in counts.items() if count > 1]:
        raise PublicationError(
            f"it would write {listing(twice)} more than once\n"
            "  hint: Spark's names differ in more than case; rename or leave out one of each"
        )


def _folders(schema: StructType, partition_by: tuple[str, ...]) -> Iterator[str]:
    known = {name.lower() for name in schema.names}
    for name in partition_by:
        if name.lower() not in known:
            yield f"partition_by names '{name}'; found: {', '.join(schema.names)}"
        if name.startswith("."):
            yield f"column '{name}' is in partition_by, and readers pass over folders that begin with a dot"
    if schema.names and len(partition_by) >= len(schema.names):
        yield "every column is in partition_by; a file needs at least one"


def _types(schema: StructType, format: str, partition_by: tuple[str, ...]) -> Iterator[str]:
    folders = {name.lower() for name in partition_by}
    columns = [field for field in schema if field.name.lower() not in folders]
    for field in schema:
        if field.name.lower() in folders and _within(
            field.dataType, (*_NESTED, VariantType, NullType)
        ):
            yield f"column '{field.name}' is {type_words(field.dataType)}; a folder's name cannot hold it"
    if format == "text":
        if len(columns) != 1 or not isinstance(columns[0].dataType, StringType):
            found = ", ".join(f"{field.name} {type_words(field.dataType)}" for field in columns)
            yield f"found: {found}; allowed: one STRING column beside partition_by"
        return
    for field in columns:
        if _within(field.dataType, _REFUSED.get(format, ())):
            yield f"column '{field.name}' is {type_words(field.dataType)}"


def _within(data_type: DataType, refused: tuple[type[DataType], ...]) -> bool:
    """Say whether a type, or one inside it, is refused."""
    if isinstance(data_type, (*refused, CalendarIntervalType)) or _is_nowhere(data_type):
        return True
    if isinstance(data_type, ArrayType):
        return _within(data_type.elementType, refused)
    if isinstance(data_type, MapType):
        return _within(data_type.keyType, refused) or _within(data_type.valueType, refused)
    if isinstance(data_type, StructType):
        return any(_within(field.dataType, refused) for field in data_type)
    return False


def _is_nowhere(data_type: DataType) -> bool:
    """Say whether no format has it: calendar intervals, times of day."""
    return data_type.simpleString().partition("(")[0] in _NOWHERE
