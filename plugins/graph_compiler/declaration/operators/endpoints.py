"""Sources and sinks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import ClassVar, Self

from graph_compiler.declaration.connectors import Connector, OnSchemaChange, SinkMode
from graph_compiler.declaration.coordination import CoordinatorKind, InputSplitSource, MasterHook
from graph_compiler.declaration.operators.base_operator import Operator
from graph_compiler.declaration.operators.known_columns import Known, columns_of_schema
from graph_compiler.extensions import UNSAID

_PARTITIONS = "partitions."


@dataclass(frozen=True, slots=True)
class Source(Operator):
    """Reads a connector.

    `is_bounded`: it ends. `is_legacy`: it pushes rows instead of being polled, and no operator that can block may run
    after it. `is_parallel` false forces a single subtask.
    """

    default_name: ClassVar[str] = "Source"
    connector: Connector
    is_bounded: bool = field(default=True, kw_only=True)
    is_legacy: bool = field(default=False, kw_only=True)
    is_parallel: bool = field(default=True, kw_only=True)

    def columns_after(self, inputs: Sequence[Known]) -> Known:  # noqa: ARG002  # it reads none of them
        """Return the declared columns, unless it follows those of its data."""
        follows = getattr(self.connector, "on_schema_change", None) == OnSchemaChange.EVOLVE
        return None if follows else columns_of_schema(getattr(self.connector, "schema", None))

    def output_tags(self) -> tuple[str, ...]:
        return (*self.connector.output_tags(), *self.attributes.output_tags)

    def master_hooks(self) -> tuple[MasterHook, ...]:
        return self.connector.source_hooks

    def coordinator(self) -> CoordinatorKind | None:
        """Return the split enumerator; as in Flink, a legacy source has none."""
        return None if self.is_legacy else CoordinatorKind.SPLIT_ENUMERATOR

    def texts(self) -> dict[str, str]:
        """Return every text that may contain Jinja, by its field: those of its connector."""
        return self.connector.texts()

    def with_texts(self, rendered: Mapping[str, str]) -> Self:
        """Return the same source with rendered texts; `rendered` has the keys of `texts`."""
        return replace(self, connector=self.connector.with_texts(rendered))

    def input_split_source(self) -> InputSplitSource | None:
        return self.connector


@dataclass(frozen=True, slots=True)
class Sink(Operator):
    """Writes rows to its connector, once its whole region has succeeded.

    `mode` decides what happens to existing rows, `keys` by which columns rows are merged. Columns of `partition_by`
    become folders (`carrier=UA/`). `files` tasks write one file each (with `partition_by`, one in each folder that they
    have rows for); None leaves the number to the plan. `partitions` are values of these columns, None for NULL: those
    that a run is responsible for. Its rows must have them, and replace what has them, even if there are no rows.
    """

    default_name: ClassVar[str] = "Sink"
    connector: Connector
    mode: SinkMode = field(default=SinkMode.OVERWRITE, kw_only=True)
    keys: tuple[str, ...] = field(default=(), kw_only=True)
    partition_by: tuple[str, ...] = field(default=(), kw_only=True)
    files: int | None = field(default=None, kw_only=True)
    partitions: tuple[tuple[str, str | None], ...] = field(default=(), kw_only=True, metadata={UNSAID: True})
    has_writer: bool = field(default=False, kw_only=True)
    """Whether its writer is a separate operator that the translation adds (Flink's Sink V2)."""

    def texts(self) -> dict[str, str]:
        """Return every text that may contain Jinja, by its field: those of its connector, and `partitions.day`."""
        values = {f"{_PARTITIONS}{column}": value for column, value in self.partitions if value}
        return {**self.connector.texts(), **values}

    def with_texts(self, rendered: Mapping[str, str]) -> Self:
        """Return the same sink with rendered texts; `rendered` has the keys of `texts`."""
        of_connector = {key: text for key, text in rendered.items() if not key.startswith(_PARTITIONS)}
        values = ((column, rendered.get(f"{_PARTITIONS}{column}", value)) for column, value in self.partitions)
        return replace(self, connector=self.connector.with_texts(of_connector), partitions=tuple(values))

    def writes_in_order(self) -> bool:
        """Whether its files keep the order of its rows: tables have none, and a merge mixes old rows with new ones."""
        has_files = isinstance(self.connector, Connector) and self.connector.has_folders
        return has_files and self.mode is not SinkMode.MERGE

    def copies_what_it_reads(self) -> bool:
        """Whether its connector writes files; a database or a catalog could refuse the rows."""
        return self.connector.has_folders

    def master_hooks(self) -> tuple[MasterHook, ...]:
        return self.connector.sink_hooks

    def coordinator(self) -> CoordinatorKind | None:
        return CoordinatorKind.COMMITTER
