"""A query of TPC-H as a pipeline, and as the SQL that its answer is compared with."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from graph_compiler import StreamExecutionEnvironment


@dataclass(frozen=True, slots=True, kw_only=True)
class Query:
    """A pipeline from a folder of tables to a folder of targets, and DuckDB's SQL for each of its sinks, by name.

    Where the specification leaves ties in the order of rows, a key is added at its end.
    """

    declare: Callable[[Path, Path], StreamExecutionEnvironment]
    answers: Mapping[str, str]
