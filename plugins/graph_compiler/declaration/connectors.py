"""Where data comes from and goes to. `path` and option values may hold Jinja; nothing else may (D6b).

To add one: a value here, and its format where `spark_runtime/connectors.py` reads and writes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from graph_compiler.declaration.coordination import InputSplit, MasterHook


@dataclass(frozen=True, slots=True)
class FileConnector:
    """Files of one format below `path`: a local path, or a URI whose scheme Spark knows."""

    format: ClassVar[str]
    is_sink: ClassVar[bool] = False
    source_hooks: ClassVar[tuple[MasterHook, ...]] = (MasterHook.INPUT_EXISTS,)
    sink_hooks: ClassVar[tuple[MasterHook, ...]] = (MasterHook.TARGET_CAN_BE_MADE,)
    path: str

    def create_input_splits(self, parallelism: int) -> tuple[InputSplit, ...] | None:  # noqa: ARG002
        """Give None: Spark itself lists files and cuts them where it reads."""
        return None

    def spark_options(self) -> dict[str, str]:
        """Give Spark's reader options."""
        return {}


@dataclass(frozen=True, slots=True)
class Csv(FileConnector):
    """CSV files; `null_value` is the text that stands for a missing value.

    `schema` is Spark DDL (`"carrier STRING, delay INT"`); without it Spark infers one in a pass of its own.
    """

    format: ClassVar[str] = "csv"
    header: bool = True
    null_value: str = ""
    schema: str | None = None

    def spark_options(self) -> dict[str, str]:
        """Give Spark's reader options."""
        return {
            "header": str(self.header).lower(),
            "nullValue": self.null_value,
            "inferSchema": str(self.schema is None).lower(),
        }


@dataclass(frozen=True, slots=True)
class Parquet(FileConnector):
    """Parquet files; they carry their schema."""

    format: ClassVar[str] = "parquet"
    is_sink: ClassVar[bool] = True
