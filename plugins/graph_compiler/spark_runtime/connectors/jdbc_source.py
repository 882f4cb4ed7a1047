"""Read a table or a query of a database, in exactly the input splits the connector has."""

from __future__ import annotations

from pyspark.sql.types import StructField, StructType

from graph_compiler.declaration.connectors import Jdbc
from graph_compiler.spark_runtime.connectors.database import Database
from graph_compiler.spark_runtime.connectors.source import Found, Reading, read


@read.register
def _(connector: Jdbc, reading: Reading) -> Found:
    splits = connector.create_input_splits(reading.parallelism)
    predicates = [split.predicate for split in splits if split.predicate is not None]
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
    return Found(rows=rows, schema=_as_the_database_says(rows.schema, database, table))


def _as_the_database_says(schema: StructType, database: Database, table: str) -> StructType:
    """Return the columns with NOT NULL where the database has it, if anybody asks."""
    if database.connector.schema is None:
        return schema
    never_null = database.never_null(table)
    return StructType(
        [StructField(f.name, f.dataType, nullable=f.name not in never_null) for f in schema]
    )
