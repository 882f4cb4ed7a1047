"""Read a table or a query of a database, in exactly the input splits the connector has."""

from __future__ import annotations

from pyspark.sql.types import StructField, StructType

from graph_compiler.declaration.connectors import Jdbc
from graph_compiler.spark_runtime.connectors.database import Database
from graph_compiler.spark_runtime.connectors.source import Found, Reading, read
from graph_compiler.spark_runtime.secret_values import reveal, reveal_all


@read.register
def _(connector: Jdbc, reading: Reading) -> Found:
    splits = connector.create_input_splits(reading.parallelism)
    predicates = [split.predicate for split in splits if split.predicate is not None]
    table = connector.table or f"({connector.query}) graph_compiler_query"
    url, properties = reveal(connector.url), reveal_all(connector.connection_properties())
    reader = reading.spark.read
    rows = (
        reader.jdbc(url, table, predicates=predicates, properties=properties)
        if predicates
        else reader.jdbc(url, table, properties=properties)
    )
    return Found(rows=rows, schema=_as_the_database_says(rows.schema, connector, table, reading))


def _as_the_database_says(
    schema: StructType, connector: Jdbc, table: str, reading: Reading
) -> StructType:
    """Give the columns with NOT NULL where the database has it, if anybody asks."""
    if connector.schema is None:
        return schema
    database = Database(spark=reading.spark, connector=connector)
    never_null = database.never_null(table)
    return StructType(
        [StructField(f.name, f.dataType, nullable=f.name not in never_null) for f in schema]
    )
