"""Read a table or a query of a database, in exactly the connector's input splits.

If a parallelism is set, partition i reads the splits that the ExecutionGraph gives subtask i, one after the other:

    5 splits, parallelism 2      0 2 4 │ 1 3 –      Spark joins neighbors, so a short subtask has a split without rows
"""

from __future__ import annotations

from collections.abc import Iterable

from pyspark.sql.types import StructField, StructType

from graph_compiler.declaration.connectors import Jdbc
from graph_compiler.declaration.connectors.jdbc import PredicateSplit
from graph_compiler.graphs.coordination import dealt
from graph_compiler.spark_runtime.connectors.database import Database
from graph_compiler.spark_runtime.connectors.source import Found, Reading, read

_NO_ROWS = "1 = 0"


@read.register
def _(connector: Jdbc, reading: Reading) -> Found:
    splits, subtasks = connector.create_input_splits(reading.parallelism or 1), reading.parallelism
    is_dealt = subtasks is not None and subtasks < len(splits)
    predicates = _by_subtask(splits, subtasks) if subtasks and is_dealt else _predicates(splits)
    database = Database(spark=reading.spark, connector=connector)
    named = None if connector.table is None else database.name(connector.table)
    table = named or f"({connector.query}) graph_compiler_query"
    url, properties = database.url, database.properties
    reader = reading.spark.read
    rows = (
        reader.jdbc(url, table, predicates=predicates, properties=properties)
        if predicates
        else reader.jdbc(url, table, properties=properties)
    )
    if subtasks and is_dealt:
        rows = rows.coalesce(subtasks)
    return Found(rows=rows, schema=_with_not_null_of(rows.schema, database, table))


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
