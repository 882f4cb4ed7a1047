"""Sources and sinks."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import timedelta
from enum import StrEnum
from typing import ClassVar, Self

from graph_compiler.declaration.connectors import (
    Connector,
    FileConnector,
    Jdbc,
    OnMisfit,
    OnSchemaChange,
    RecordFiles,
    SinkMode,
)
from graph_compiler.declaration.connectors.connector import as_pairs, read_by
from graph_compiler.declaration.connectors.file_names import compression_by, is_name_of_a_file, why_read_otherwise
from graph_compiler.declaration.connectors.files import UNTYPED
from graph_compiler.declaration.coordination import CoordinatorKind, InputSplitSource, MasterHook
from graph_compiler.declaration.operators.base_operator import Operator
from graph_compiler.declaration.operators.column_uses import ColumnUse, named
from graph_compiler.declaration.operators.known_columns import Known, columns_of_schema
from graph_compiler.declaration.operators.merge import Merge
from graph_compiler.errors import Problem
from graph_compiler.extensions import UNSAID
from graph_compiler.identifiers import listing, shown
from graph_compiler.stores.known_stores import kind_of_place

_LAG = re.compile(r"([1-9]\d{0,8})(?: (second|minute|hour|day)s?)?", re.ASCII)
_HIDES = "ignoredpathsegmentregex"
_LAGS = "a length, as '10 minutes' or '1 day', for times; a whole number, as '1000', for numbers"

_PARTITIONS = "partitions."
_MODES_OF_A_FILE = (SinkMode.OVERWRITE, SinkMode.ERROR_IF_EXISTS)


@dataclass(frozen=True, slots=True)
class Source(Operator):
    """Reads a connector.

    `is_bounded`: it ends. `is_legacy`: it pushes rows instead of being polled, and no operator that can block may run
    after it. `is_parallel` false forces a single subtask. `only_new`: it has a position, and reads what is behind it:
    True for files, `Iceberg` and `Delta`, the name of a column for `Jdbc`. `lag` is how far its rows stay behind the
    column's newest value.
    """

    default_name: ClassVar[str] = "Source"
    connector: Connector
    is_bounded: bool = field(default=True, kw_only=True)
    is_legacy: bool = field(default=False, kw_only=True)
    is_parallel: bool = field(default=True, kw_only=True)
    only_new: bool | str = field(default=False, kw_only=True, metadata={UNSAID: True})
    lag: str | None = field(default=None, kw_only=True, metadata={UNSAID: True})

    @property
    def has_position(self) -> bool:
        """Whether it reads only what is new since the last increment."""
        return self.only_new is not False

    @property
    def unbounded(self) -> bool:
        """Whether it never ends."""
        return not self.is_bounded

    @property
    def reads_what_is_new(self) -> bool:
        """Whether a run has what no run before it has read."""
        return self.has_position or self.unbounded

    def position_words(self) -> str | None:
        """Return what it reads if that depends on earlier runs, otherwise None."""
        if self.unbounded:
            return f"reads {self.connector.arrives_as} as they arrive"
        if not self.has_position:
            return None
        if not isinstance(self.only_new, str):
            if self.connector.table_format is None:
                return "reads only new files"
            return "reads only what has changed" if getattr(self.connector, "changes", False) else "reads only new rows"
        behind = f", {self.lag} behind the newest" if self.lag is not None else ""
        return f"reads only rows whose '{self.only_new}' is higher than before{behind}"

    def lag_length(self) -> timedelta | int:
        """Return its lag as a time, or as a number; raises ValueError for another text."""
        if self.lag is None:
            return 0
        found = _LAG.fullmatch(self.lag)
        if found is None:
            raise ValueError(f"lag is {self.lag!r}")
        return timedelta(**{f"{found[2]}s": int(found[1])}) if found[2] else int(found[1])

    def problems(self) -> Iterator[Problem]:
        """Yield an `only_new` or a `lag` that its connector cannot have."""
        yield from self._lag_problems()
        if self.reads_what_is_new and isinstance(self.connector, FileConnector):
            yield from _hidden_files(self.connector)
        if self.is_bounded and isinstance(self.connector, Connector):
            yield from self.connector.bounded_problems()
        if not self.has_position or not isinstance(self.connector, Connector):
            return
        if isinstance(self.connector, Jdbc):
            yield from self._column_problems()
        elif isinstance(self.connector, FileConnector) and self.connector.is_listed_once:
            yield from self._file_problems(self.connector)
        elif self.connector.table_format is not None:
            yield from self._table_problems(self.connector)
        else:
            kind = getattr(self.connector, "format", type(self.connector).__name__)
            yield Problem(
                message=f"only_new is set, and {kind} has no position",
                allowed="files: Csv, Json, Parquet, Orc, Text, Files of these and XML; Jdbc, by a column; Iceberg, "
                "Delta",
                hint="unbounded=True reads topics of Kafka as a stream; a filter on a column of times reads the rows "
                "of the run's own day",
            )

    def _lag_problems(self) -> Iterator[Problem]:
        if self.lag is not None and not isinstance(self.only_new, str):
            yield Problem(
                message="it has a lag, and no column that it is behind",
                allowed='only_new="updated_at", lag="10 minutes", for Jdbc',
            )
            return
        try:
            self.lag_length()
        except (ValueError, OverflowError):
            yield Problem(message=f"its lag is {shown(self.lag)}", allowed=_LAGS)

    def _file_problems(self, connector: FileConnector) -> Iterator[Problem]:
        """Yield an `only_new` that names a column of files, and a missing schema."""
        if isinstance(self.only_new, str):
            yield Problem(
                message=f"only_new is {shown(self.only_new)}: the position in files is which of them were read",
                allowed="True",
                hint="a column is for Jdbc; filter(…) chooses rows of files",
            )
        elif connector.schema is None:
            yield Problem(
                message="only_new is set without schema=: a run for which there is no new file has no columns",
                allowed='schema="id BIGINT, amount DECIMAL(9, 2)"',
                hint="`graph-compiler dry-run --infer` prints the columns of the files that are there",
            )

    def _table_problems(self, connector: Connector) -> Iterator[Problem]:
        """Yield an `only_new` that names a column of a table, and settings that fix what is read."""
        if isinstance(self.only_new, str):
            yield Problem(
                message=f"only_new is {shown(self.only_new)}: the position in a table is the commit that was read",
                allowed="True",
            )
        if fixed := [name for name in read_by(connector) if name != "changes"]:
            yield Problem(
                message=f"only_new is set, and {listing(fixed)} too: its position determines what is read",
                allowed="one of them",
            )

    def _column_problems(self) -> Iterator[Problem]:
        """Yield an `only_new` that names no column of a database."""
        allowed = 'the name of a column that only grows: only_new="updated_at"'
        if self.only_new is True:
            message = "only_new is True: a database does not say which of its rows are new"
            yield Problem(message=message, allowed=allowed)
        elif isinstance(self.only_new, str) and not self.only_new.strip():
            yield Problem(message="only_new is the empty text", allowed=allowed)
        elif isinstance(self.only_new, str) and ("{{" in self.only_new or "{%" in self.only_new):
            yield Problem(message=f"only_new is {shown(self.only_new)}: it is never rendered", allowed=allowed)

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


class Backfill(StrEnum):
    """What a run does whose date is not later than that of the run which published to the target last.

    refuse: it fails before any row moves. latest: it reads what is there.
    """

    REFUSE = "refuse"
    LATEST = "latest"


def _hidden_files(connector: FileConnector) -> Iterator[Problem]:
    """Yield an option by which Spark hides other files than this program does."""
    for name, _ in as_pairs(connector.options):
        if name.lower() == _HIDES:
            yield Problem(
                message=f"its option {name} says which files Spark leaves out, and what is new is found without it: "
                "some files would never be read",
                allowed="without the option, files whose names begin with . or _ are left out",
                hint="let such files arrive under other names",
            )


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
    have rows for); None leaves the number to the plan. `partitions` are values of these columns, None for NULL: those
    that a run is responsible for. Its rows must have them, and replace what has them, even if there are no rows.
    `single_file`: its target is one file, or a folder whose name looks like that of a file; None is a folder. `merge`
    is how rows of one key are merged; None: they replace the row that is there.
    """

    default_name: ClassVar[str] = "Sink"
    connector: Connector
    mode: SinkMode = field(default=SinkMode.OVERWRITE, kw_only=True)
    keys: tuple[str, ...] = field(default=(), kw_only=True)
    partition_by: tuple[str, ...] = field(default=(), kw_only=True)
    files: int | None = field(default=None, kw_only=True)
    partitions: tuple[tuple[str, str | None], ...] = field(default=(), kw_only=True, metadata={UNSAID: True})
    single_file: bool | None = field(default=None, kw_only=True, metadata={UNSAID: True})
    merge: Merge | None = field(default=None, kw_only=True, metadata={UNSAID: True})
    has_writer: bool = field(default=False, kw_only=True)
    """Whether its writer is a separate operator that the translation adds (Flink's Sink V2)."""

    @property
    def file_count(self) -> int | None:
        """Return how many files its rows are in; None leaves it to the plan."""
        return 1 if self.single_file else self.files

    def problems(self) -> Iterator[Problem]:
        """Yield what one file cannot be, and a folder whose name is that of a file, unless it is asked for."""
        connector = self.connector
        yield from self._merge_problems()
        if isinstance(connector, FileConnector) and len(connector.paths) != 1:
            return  # a sink has one
        if isinstance(connector, FileConnector) and connector.spark_format.lower() in UNTYPED:
            if self.single_file:
                yield from self._file_problems(connector)
            elif self.single_file is None and is_name_of_a_file(connector.one_path):
                yield Problem(
                    message=f"its target '{connector.one_path}' has the name of a file, and would become a folder",
                    allowed="single_file=True for one file; single_file=False for a folder of this name",
                    hint="single_file=False keeps what earlier versions have written there",
                )
        elif self.single_file is not None:
            kind = getattr(connector, "format", type(connector).__name__)
            yield Problem(
                message=f"single_file is set, and {kind} is not written as one file",
                allowed="single_file for Csv, Json, Text, and Files of csv, json, text or xml",
                hint="files=1 writes a folder with one file" if isinstance(connector, FileConnector) else None,
            )

    def _merge_problems(self) -> Iterator[Problem]:
        """Yield a merge of a target that has none, and what contradicts itself in it."""
        if self.merge is None:
            return
        if self.mode is not SinkMode.MERGE:
            yield Problem(message=f"merge is set, and its mode is '{self.mode}'", allowed="merge with mode='merge'")
        elif isinstance(self.connector, Connector) and self.connector.table_format is None:
            yield Problem(
                message=f"merge is set, and {type(self.connector).__name__} merges rows by their keys only",
                allowed="merge for Iceberg, Delta",
            )
        else:
            yield from self.merge.problems(self.keys)

    def _file_problems(self, connector: FileConnector) -> Iterator[Problem]:
        """Yield what contradicts one file."""
        if self.mode not in _MODES_OF_A_FILE:
            yield Problem(
                message=f"single_file is True, and its mode is '{self.mode}': a file is replaced as a whole",
                allowed=listing(_MODES_OF_A_FILE),
                hint="a folder keeps rows: single_file=False, or a path without the ending of a file",
            )
        if self.partition_by:
            message = "single_file is True, and partition_by makes a folder for each value"
            yield Problem(message=message, allowed="one of them")
        if self.files is not None:
            yield Problem(message=f"single_file is True, and files is {self.files}", allowed="one of them")
        options = connector.spark_options()
        if divided := next((name for name in options if name.lower() == "maxrecordsperfile"), None):
            yield Problem(
                message=f"single_file is True, and option '{divided}' divides its rows", allowed="one of them"
            )
        if connector.one_path.strip().endswith("/"):
            yield Problem(
                message=f"single_file is True, and its path '{connector.one_path}' is that of a folder",
                allowed="/out/report.csv",
            )
        compression = compression_by(options)
        if compression is not None and (wrong := why_read_otherwise(connector.one_path, compression)):
            yield Problem(
                message=f"its target is '{connector.one_path}': {wrong}",
                allowed="a name that ends as its compression does: report.csv.gz with compression='gzip'",
            )
        place = connector.one_path
        kind = kind_of_place(place)
        if kind is not None and not kind.promises.publishes_one_file:
            yield Problem(
                message=f"its target '{place}' is in a store in which no file can replace another in one step",
                allowed="a folder: a path without the ending of a file",
            )

    def columns_used(self) -> tuple[ColumnUse, ...]:
        merged = () if self.merge is None else self.merge.columns()
        return named([*self.keys, *merged, *self.partition_by, *(column for column, _ in self.partitions)])

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
