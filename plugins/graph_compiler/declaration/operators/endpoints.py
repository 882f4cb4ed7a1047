"""Sources and sinks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import ClassVar, Self

from graph_compiler.declaration.connectors import Connector, OnMisfit, OnSchemaChange, RecordFiles, SinkMode
from graph_compiler.declaration.connectors.files import UNTYPED
from graph_compiler.declaration.coordination import CoordinatorKind, InputSplitSource, MasterHook
from graph_compiler.declaration.operators.base_operator import Operator
from graph_compiler.declaration.operators.known_columns import Known, columns_of_schema


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

    def input_split_source(self) -> InputSplitSource | None:
        return self.connector


class Backfill(StrEnum):
    """What a run does whose date is not later than that of the run which published to the target last.

    refuse: it fails before any row moves. latest: it reads what is there.
    """

    REFUSE = "refuse"
    LATEST = "latest"


@dataclass(frozen=True, slots=True)
class PreviousVersion(Source):
    """Reads what a sink of the same pipeline has left in its target, as it was before this run (decision 77).

    Its connector is the sink's, with the columns to read. Its rows are staged in every run, before a sink can replace
    them, and no other reader of the run looks at the target again.
    """

    default_name: ClassVar[str] = "Previous version"
    backfill: Backfill = field(default=Backfill.REFUSE, kw_only=True)

    @classmethod
    def of(cls, target: Connector, schema: str, backfill: Backfill) -> Self:
        """Return the source of a target: columns that its files lack are NULL, and others are not read.

        A value that is no connector is kept, and the compiler refuses it.
        """
        if not isinstance(target, Connector):
            return cls(target, backfill=backfill)
        change: dict[str, str] = {"schema": schema, "on_schema_change": OnSchemaChange.IGNORE}
        if isinstance(target, RecordFiles) and target.spark_format.lower() in UNTYPED:
            change["on_misfit"] = OnMisfit.FAIL
        return cls(replace(target, **change), backfill=backfill)

    @property
    def target(self) -> Connector:
        """Return its connector without what only a source says."""
        plain = replace(self.connector, schema=None, on_schema_change=None)
        return replace(plain, on_misfit=None) if isinstance(plain, RecordFiles) else plain

    def master_hooks(self) -> tuple[MasterHook, ...]:
        """Return none: the target need not exist."""
        return ()


@dataclass(frozen=True, slots=True)
class Sink(Operator):
    """Writes rows to its connector, once its whole region has succeeded.

    `mode` decides what happens to existing rows, `keys` by which columns rows are merged. Columns of `partition_by`
    become folders (`carrier=UA/`). `files` tasks write one file each (with `partition_by`, one in each folder that they
    have rows for); None leaves the number to the plan.
    """

    default_name: ClassVar[str] = "Sink"
    connector: Connector
    mode: SinkMode = field(default=SinkMode.OVERWRITE, kw_only=True)
    keys: tuple[str, ...] = field(default=(), kw_only=True)
    partition_by: tuple[str, ...] = field(default=(), kw_only=True)
    files: int | None = field(default=None, kw_only=True)
    has_writer: bool = field(default=False, kw_only=True)
    """Whether its writer is a separate operator that the translation adds (Flink's Sink V2)."""

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
