"""The order of rows: a sort item as a Column, and the rows of a sink in the order of the last sort.

What a sink reads in memory is in order already. A number of files or a parallelism redistributes the rows, and a
staged result is read back in any order: then they are sorted again. Spark leaves out the first sort if it can.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from pyspark.sql import Column, DataFrame
from pyspark.sql.functions import expr

from graph_compiler.declaration.operators import Sink
from graph_compiler.declaration.parameters.parameter import ParameterValue
from graph_compiler.deployment.documents.descriptor import OperatorDescriptor
from graph_compiler.identifiers import quoted
from graph_compiler.spark_runtime.operators.queries import order_of, query_over
from graph_compiler.spark_runtime.spark_internals.row_order import are_sorted, in_ranges

_ROWS = "graph_compiler_rows"
_ITEM = re.compile(
    r"^(?P<expression>.*?)(?:\s+(?P<way>ASC|DESC))?(?:\s+NULLS\s+(?P<nulls>FIRST|LAST))?\s*$",
    re.IGNORECASE | re.DOTALL,
)


def in_order(
    rows: DataFrame, sink: OperatorDescriptor, parameters: Mapping[str, ParameterValue]
) -> DataFrame:
    """Return the rows for a sink in its `order_by`, before any exchange for its parallelism."""
    assert isinstance(sink.operator, Sink)
    partitions = sink.operator.files or sink.settings.parallelism
    if partitions is None and are_sorted(rows):
        return rows

    def ordered(items: list[str]) -> DataFrame:
        order = order_of(items, parameters, rows.sparkSession)
        query = f"SELECT * FROM {_ROWS} AS {_ROWS} ORDER BY {order}"
        return query_over({_ROWS: rows}, query, parameters, rows.sparkSession)

    again = ordered([*sink.order_by])
    if partitions is None:
        return again
    folders = [quoted(name) for name in sink.operator.partition_by]
    return in_ranges(again, partitions, ordered(folders) if folders else None)


def sort_column(item: str) -> Column:
    """Return an item such as `delay DESC NULLS LAST` as a column: Spark parses it as text only in SQL's ORDER BY.

    By default, NULLs are first if ascending, last if descending.
    """
    found = _ITEM.match(item.strip())
    assert found is not None, "every text has this form"
    column = expr(found["expression"])
    is_descending = (found["way"] or "ASC").upper() == "DESC"
    nulls = (found["nulls"] or ("LAST" if is_descending else "FIRST")).upper()
    if is_descending:
        return column.desc_nulls_last() if nulls == "LAST" else column.desc_nulls_first()
    return column.asc_nulls_last() if nulls == "LAST" else column.asc_nulls_first()
