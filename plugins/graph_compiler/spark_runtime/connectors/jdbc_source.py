"""Read a table or a query of a database, in exactly the connector's input splits.

If a parallelism is set, partition i reads the splits that the ExecutionGraph gives subtask i, one after the other:

    5 splits, parallelism 2      0 2 4 │ 1 3 –      Spark joins neighbors, so a short subtask has a split without rows

Spark reads a number of a database as DECIMAL, of at most 38 digits, and rounds what has more: 18 decimal places of a
`NUMERIC` without a scale. So numbers of such columns are read as text, and made here, or fail the task.

Spark sends conditions to the database. Hidden from it are columns on which it would decide in another way:

    single precision           it compares as if they were of double precision
    UUID, ENUM, JSON, …        by their own order, while Spark compares texts
    texts of MySQL             a backslash in a condition begins an escape
    times in a prepared session, which may have another zone: Spark sends times without one

PostgreSQL's arrays have any number of dimensions, whatever the column says. Spark asks the first row for them, and of
texts in a row that has more it reads the names of Java's objects: such a row fails the task.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence

from pyspark.sql import Column, DataFrame
from pyspark.sql.functions import col, concat, exists, raise_error, timestamp_micros, unix_micros, when
from pyspark.sql.types import (
    ArrayType,
    DataType,
    DecimalType,
    FloatType,
    StringType,
    StructField,
    StructType,
    TimestampType,
)

from graph_compiler.declaration.connectors import Jdbc
from graph_compiler.declaration.connectors.jdbc import PredicateSplit
from graph_compiler.declaration.connectors.jdbc_url import database_kind
from graph_compiler.graphs.coordination import dealt
from graph_compiler.identifiers import quoted
from graph_compiler.spark_runtime.columns.declared_schema import type_words
from graph_compiler.spark_runtime.columns.exact_casts import kept_from_text
from graph_compiler.spark_runtime.columns.strict_values import MOST_DIGITS
from graph_compiler.spark_runtime.connectors.database import Database
from graph_compiler.spark_runtime.connectors.source import Found, Reading, read
from graph_compiler.spark_runtime.spark_internals.java import lit

_NO_ROWS = "1 = 0"
_TYPE_IN_DATABASE = "jdbcClientType"
"""The key of a column's metadata in which Spark keeps the name of its type in the database."""
_TEXT = re.compile(r"char|clob|name|string|text", re.IGNORECASE)
_ESCAPING = frozenset({"mysql", "mariadb"})
_JAVA_ARRAY = r"^\[+L?[A-Za-z.]+;?@[0-9a-f]+$"
"""The text that Java makes of an array: `[Ljava.lang.String;@7e48e1a5`."""


@read.register
def _(connector: Jdbc, reading: Reading) -> Found:
    splits, subtasks = connector.create_input_splits(reading.parallelism or 1), reading.parallelism
    is_dealt = subtasks is not None and subtasks < len(splits)
    predicates = _by_subtask(splits, subtasks) if subtasks and is_dealt else _predicates(splits)
    database = Database(spark=reading.spark, connector=connector)
    named = None if connector.table is None else database.name(connector.table)
    table = named or f"({connector.query}) graph_compiler_query"
    url, properties = database.url, database.properties

    def read_as(columns: Mapping[str, str]) -> DataFrame:
        reader = reading.spark.read.options(**columns)
        if predicates:
            return reader.jdbc(url, table, predicates=predicates, properties=properties)
        return reader.jdbc(url, table, properties=properties)

    rows = read_as({})
    schema = rows.schema
    is_chosen = "customschema" in {name.lower() for name in properties}
    if not is_chosen and (cut := [field for field in schema if _may_be_rounded(field)]):
        texts = ", ".join(f"{quoted(field.name)} STRING" for field in cut)
        rows = _with_numbers(read_as({"customSchema": texts}), schema, cut)
    rows = _hidden_from_the_database(_without_java_arrays(rows), database)
    if subtasks and is_dealt:
        rows = rows.coalesce(subtasks)
    return Found(rows=rows, schema=_with_not_null_of(schema, database, table))


def _may_be_rounded(field: StructField) -> bool:
    """Whether a column's numbers may have more digits than its DECIMAL: Spark gives such a column the largest one."""
    return isinstance(field.dataType, DecimalType) and field.dataType.precision == MOST_DIGITS


def _with_numbers(rows: DataFrame, schema: StructType, cut: Sequence[StructField]) -> DataFrame:
    """Return rows with numbers in place of their texts, all of whose digits they have."""
    names = {field.name for field in cut}
    columns = [
        _number(col(quoted(field.name)), field).alias(field.name) if field.name in names else col(quoted(field.name))
        for field in schema
    ]
    return rows.select(*columns)


def _number(text: Column, field: StructField) -> Column:
    words = type_words(field.dataType)
    hint = f"in query=, cast {field.name} to a NUMERIC with the digits that it needs, or to a text"
    failed = concat(
        lit(f"column '{field.name}' has the number "),
        text,
        lit(f", which {words} does not hold\n  Spark reads this type from the database\n  hint: {hint}"),
    )
    is_held = kept_from_text(text, field.dataType)
    assert is_held is not None, "a DECIMAL"
    return when(text.isNull() | is_held, text.try_cast(field.dataType)).otherwise(raise_error(failed))


def _without_java_arrays(rows: DataFrame) -> DataFrame:
    """Return rows that fail where an array of texts has more dimensions than Spark has seen in the column."""
    checked = {}
    for field in rows.schema:
        if isinstance(field.dataType, ArrayType) and isinstance(_innermost(field.dataType), StringType):
            value = col(quoted(field.name))
            words = (
                f"column '{field.name}' has an array of more dimensions than {type_words(field.dataType)}\n"
                "  Spark reads this type from the first row of the table\n"
                f"  hint: in query=, to_jsonb({field.name}) is a text with all of them"
            )
            failed = raise_error(lit(words)).cast(field.dataType)
            checked[field.name] = when(_is_java_array(value, field.dataType), failed).otherwise(value)
    return rows.withColumns(checked) if checked else rows


def _hidden_from_the_database(rows: DataFrame, database: Database) -> DataFrame:
    """Return rows of which no condition on a column is sent that the database would decide in another way."""
    has_escapes = database_kind(database.url) in _ESCAPING
    has_own_session = database.option("sessionInitStatement") is not None
    hidden = {}
    for field in rows.schema:
        value, kind = col(quoted(field.name)), field.dataType
        if isinstance(kind, FloatType):
            hidden[field.name] = -(-value)  # noqa: B002  # the value itself, and no condition on it is sent
        elif isinstance(kind, StringType) and (has_escapes or not _is_text_there(field)):
            hidden[field.name] = concat(value, lit(""))
        elif isinstance(kind, TimestampType) and has_own_session:
            hidden[field.name] = timestamp_micros(unix_micros(value))
    return rows.withColumns(hidden) if hidden else rows


def _is_text_there(field: StructField) -> bool:
    return _TEXT.search(field.metadata.get(_TYPE_IN_DATABASE, "text")) is not None


def _innermost(kind: DataType) -> DataType:
    while isinstance(kind, ArrayType):
        kind = kind.elementType
    return kind


def _is_java_array(value: Column, kind: DataType) -> Column:
    if isinstance(kind, ArrayType):
        item = kind.elementType
        return exists(value, lambda each: _is_java_array(each, item))
    return value.rlike(_JAVA_ARRAY)


def _predicates(splits: Iterable[PredicateSplit]) -> list[str]:
    return [split.predicate for split in splits if split.predicate is not None]


def _by_subtask(splits: tuple[PredicateSplit, ...], subtasks: int) -> list[str]:
    """Return equally many predicates for each subtask, in the order of subtasks."""
    shares = [_predicates(share) for share in dealt(splits, subtasks)]
    longest = max(map(len, shares))
    return [one for share in shares for one in (*share, *[_NO_ROWS] * (longest - len(share)))]


def _with_not_null_of(schema: StructType, database: Database, table: str) -> StructType:
    """Return the columns; if the source declares a schema, they are NOT NULL where the database's are."""
    if database.connector.schema is None:
        return schema
    never_null = database.never_null(table)
    return StructType([StructField(f.name, f.dataType, nullable=f.name not in never_null) for f in schema])
