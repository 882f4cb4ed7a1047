"""Functions over batches of Arrow: their columns are found by name, as those of pandas' frames are.

Spark takes them by position, so two columns of one type in another order would be exchanged. It compares types
(`spark.sql.execution.arrow.pyspark.validateSchema.enabled`, which every session has). Spark pickles what this module
returns by value: Python workers need only the function's module.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import wraps
from typing import Any

from pyspark.sql.types import DataType, StructType

MISNAMED = "its function returns columns "
"""The first words of the error that a batch with other columns raises."""


def with_named_columns(function: Callable[..., object], declared: str) -> Callable[[Iterator[Any]], Iterator[Any]]:
    """Return a function whose batches have the columns of a schema, in its order.

    A batch with other names, one name twice or a column too many raises ValueError where it is made.
    """
    schema = DataType.fromDDL(declared)
    assert isinstance(schema, StructType)
    names, words = list(schema.names), MISNAMED

    @wraps(function)
    def named(batches: Iterator[Any]) -> Iterator[Any]:
        returned: Iterable[Any] = function(batches)  # type: ignore[assignment]  # another object fails as in Spark
        for batch in returned:
            found = list(getattr(batch, "schema", batch).names)
            if found == names:
                yield batch
            elif sorted(found) == sorted(names):
                yield batch.select(names)
            else:
                raise ValueError(
                    f"{words}{', '.join(found) or 'none'}\n  allowed: those of its schema: {', '.join(names)}"
                )

    return named
