"""Columns that PySpark looks up by their names, whatever these are.

PySpark gives a function over batches all columns of its rows, each as `self[name]`, where `a.b` is a field of a column.
`classic.DataFrame`: 4.x; its methods read `columns`: 4.1 to 4.3.
"""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql.classic.dataframe import DataFrame as ClassicDataFrame

from graph_compiler.identifiers import quoted


class _QuotedNames(ClassicDataFrame):
    """Rows whose names are in quotes where a name alone would be a path."""

    @property
    def columns(self) -> list[str]:
        """The names, as `self[name]` finds them."""
        return [quoted(name) if _is_path(name) else name for name in super().columns]


def found_by_name(rows: DataFrame) -> DataFrame:
    """Return rows that PySpark can give to a function: it finds each column by its name."""
    return _QuotedNames(rows._jdf, rows.sparkSession) if any(map(_is_path, rows.columns)) else rows


def _is_path(name: str) -> bool:
    return "." in name or "`" in name
