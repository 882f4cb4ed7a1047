"""What `partition_custom` was given, as a partitioner."""

from __future__ import annotations

from collections.abc import Callable

from graph_compiler.declaration.declared import Declared
from graph_compiler.declaration.functions import IMPORTABLE, WHERE_TO_MOVE, FunctionRef
from graph_compiler.declaration.partitioners import CustomPartitioner, FunctionPartitioner
from graph_compiler.errors import FunctionNotImportableError
from graph_compiler.identifiers import listing


def custom_partitioner(
    stream: Declared, partition: str | Callable[..., object], keys: tuple[str, ...], selector: int
) -> CustomPartitioner | FunctionPartitioner:
    """Give the partitioner; raises InvalidPipelineError for a function without keys or an expression with some."""
    if isinstance(partition, str):
        if keys:
            stream.refuse(
                f"partition_custom was given an expression, and the columns {listing(keys)}",
                allowed='an expression alone: partition_custom("year - 1990"); or a function and its key columns',
            )
        return CustomPartitioner(partition, selector)
    if not keys or not all(isinstance(key, str) for key in keys):
        stream.refuse(
            f"partition_custom was given a function, and as its key columns {listing(map(repr, keys))}",
            allowed='names of columns whose values the function gets: partition_custom(by_hub, "dest")',
        )
    try:
        return FunctionPartitioner(FunctionRef.of(partition), keys, selector)
    except FunctionNotImportableError as error:
        stream.refuse(
            f"partition_custom cannot take this function: {error}",
            allowed=IMPORTABLE,
            hint=WHERE_TO_MOVE,
        )
