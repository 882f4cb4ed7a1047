"""The base class of connectors, with what the compiler needs to know about each kind."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from enum import StrEnum
from typing import ClassVar, Self, TypeAlias

from graph_compiler.declaration.connectors.secret import Secret, SecretText
from graph_compiler.declaration.coordination import InputSplit, MasterHook
from graph_compiler.declaration.refusals.constructors import HeldToForm
from graph_compiler.errors import Problem
from graph_compiler.extensions import Extensible
from graph_compiler.identifiers import did_you_mean, listing
from graph_compiler.tested_versions import TableFormat

Options: TypeAlias = Mapping[str, str | int | float | bool | Secret] | tuple[tuple[str, SecretText], ...]
"""Spark's options: passed as a mapping, stored as pairs of text."""


class SinkMode(StrEnum):
    """How a sink treats the rows that its target already has.

    append: nothing. overwrite: replaces all of it. overwrite-partitions: replaces the partitions (`partition_by`)
    that the new rows have, and leaves the others. error-if-exists: refuses a target that holds anything. merge:
    replaces the rows whose key (`keys`) is among the new rows, and adds those of new keys.

    In every mode a run counts once: rows that its own earlier attempts have published are replaced, not added to. Only
    a `Table` of Spark's catalog and a `FunctionSink` may have rows of an append twice, if its driver died.
    Merging the same keys again gives the same rows; a key that only an earlier attempt had is kept.
    """

    APPEND = "append"
    OVERWRITE = "overwrite"
    OVERWRITE_PARTITIONS = "overwrite-partitions"
    ERROR_IF_EXISTS = "error-if-exists"
    MERGE = "merge"

    @property
    def verb(self) -> str:
        """Return the verb for messages: what a sink does to its target."""
        return _VERBS[self]


_VERBS = {
    SinkMode.APPEND: "adds to",
    SinkMode.OVERWRITE: "replaces",
    SinkMode.OVERWRITE_PARTITIONS: "replaces partitions of",
    SinkMode.ERROR_IF_EXISTS: "creates",
    SinkMode.MERGE: "merges into",
}


class WhenReadTwice(StrEnum):
    """How a source's rows stay the same when several actions of one application read them.

    SAME      they are in the declaration
    LISTED    its files are listed once, and must be unchanged when anything made from them is committed; otherwise the
              attempt fails, and the next one lists them again
    SNAPSHOT  the source ensures it: one state of a database for a region, or no second read
    FIXED     nothing ensures it: rows are staged once if more than one operator reads them. Files that Spark has listed
              are the exception: they are LISTED, whatever the source
    """

    SAME = "same"
    LISTED = "listed"
    SNAPSHOT = "snapshot"
    FIXED = "fixed"


_MODES_ELSEWHERE = {
    "error": (SinkMode.ERROR_IF_EXISTS, ""),
    "default": (SinkMode.ERROR_IF_EXISTS, ""),
    "create": (SinkMode.ERROR_IF_EXISTS, ""),
    "fail": (SinkMode.ERROR_IF_EXISTS, ""),
    "insert": (SinkMode.APPEND, ""),
    "add": (SinkMode.APPEND, ""),
    "upsert": (SinkMode.MERGE, " It needs keys, and replaces the rows of equal keys"),
    "update": (SinkMode.MERGE, " It needs keys, and replaces the rows of equal keys"),
    "replace": (SinkMode.OVERWRITE, " It removes all rows that the target has"),
    "truncate": (SinkMode.OVERWRITE, " It removes all rows that the target has"),
    "dynamic": (SinkMode.OVERWRITE_PARTITIONS, " It removes the rows of each partition that the new rows have"),
}
"""Names that other tools have for a mode, and what the mode does to rows that are there."""


def sink_mode_meant(name: str) -> str | None:
    """Return a hint with the sink mode that a name stands for elsewhere, or that it is close to."""
    known = _MODES_ELSEWHERE.get(name.lower())
    return did_you_mean(name, SinkMode) if known is None else f"did you mean '{known[0]}'?{known[1]}"


class ChangeKind(StrEnum):
    """How a found column differs from the expected one; the value is the verb of the message."""

    ADDED = "was added"
    DROPPED = "is gone"
    RENAMED = "was renamed"
    WIDENED = "was widened"
    """The found type holds each value of the expected one."""
    NARROWED = "was narrowed"
    RETYPED = "has another type"
    NULLABLE = "may be NULL now"


SOURCE_EVOLVES = frozenset({ChangeKind.ADDED, ChangeKind.WIDENED, ChangeKind.NARROWED, ChangeKind.NULLABLE})
FILES_EVOLVE = frozenset({ChangeKind.ADDED, ChangeKind.NARROWED, ChangeKind.NULLABLE})
TABLES_EVOLVE = frozenset({ChangeKind.NARROWED})
"""What EVOLVE accepts in a source, in a sink of files or of a table format, and in another table."""


class OnSchemaChange(StrEnum):
    """What happens when columns differ from the expected ones.

    A source expects its declared `schema`; a sink expects its declared `schema`, and the columns of rows that stay.
    Names are compared as Spark does, ignoring case; the order of columns never matters. The same holds for fields of
    structs, in arrays and maps too: they are found by name, and their differences have paths (`items.element.price`).

    FAIL     a column that was added, dropped or renamed, has a different type, or may be NULL although it must not
             be, is refused before a row is read or written. The default wherever something is expected.
    EVOLVE   source: it follows the data. New columns come after the declared ones; a column with a wider type
             keeps it, one with a narrower type is read as declared; columns may be NULL.
             sink: the target follows the rows as far as its readers can. New columns are added (NULL in the existing
             rows); a narrower type is written as the target's; a wider one only if no old file stays, since
             Spark cannot read files of both. A database's table is never altered: only narrower types are accepted.
             A missing column is refused in both cases: something reads it.
    IGNORE   exactly the expected columns, with their types, whatever is found: others are left out, missing ones are
             NULL, types are cast. A cast that would lose a value fails the task: nothing is rounded or cut off, except
             DOUBLE to FLOAT. What happens to text that is no value of its column's type, `on_misfit` says.

    Columns are compared with the footers of all files (one short job) or a CSV header. JSON, text, and CSV without a
    header have no column names to compare: rows are read and written as declared. NOT NULL of a table, or of files that
    stay in a target, is not compared: Spark seldom knows that a column has no NULL, and a database refuses it itself.

    If a column has different types in a source's Parquet or ORC files, each type is compared with the declared one.

    An overwrite replaces all files, so it expects what is declared, and the target's columns only if this is set.
    """

    FAIL = "fail"
    EVOLVE = "evolve"
    IGNORE = "ignore"


class OnMisfit(StrEnum):
    """What happens to text in a file that is no value of its column's type.

    FAIL   the task fails, and names the file, the record and the column. The default.
    NULL   the value is NULL; a record with too few fields has NULLs, and additional fields are left out.

    With `rejects`, such records are in that side output instead. Independent of `on_schema_change`, which is about
    columns only.
    """

    FAIL = "fail"
    NULL = "null"


class IfMissing(StrEnum):
    """What happens if nothing is at a source's path.

    FAIL    the task fails before a row is read. The default.
    EMPTY   the source has no rows; its `schema` says which columns. The log and the report say so. A store that does
            not answer, a scheme without a file system, a link to nothing and a missing permission still fail the task.
    """

    FAIL = "fail"
    EMPTY = "empty"


_TYPED = "its values have types, unlike those of CSV and JSON"


@dataclass(frozen=True, slots=True)
class Connector(Extensible, metaclass=HeldToForm):
    """The base class; its subclasses are the kinds of connectors.

    `schema` is Spark DDL (`"carrier STRING NOT NULL, delay INT"`); `on_schema_change` is one of `OnSchemaChange`.
    """

    entry_points: ClassVar[str] = "graph_compiler.connectors"
    sink_modes: ClassVar[tuple[SinkMode, ...]] = ()
    """What a sink may do with it; empty if it can only be read."""
    has_folders: ClassVar[bool] = False
    """Whether a sink may name `partition_by` and `files`."""
    table_format: ClassVar[TableFormat | None] = None
    """What runs on some versions of Spark only; None if every Spark has it."""
    has_own_partitions: ClassVar[bool] = False
    """Whether its target knows its partitions, so that a sink that replaces some names none."""
    when_read_twice: ClassVar[WhenReadTwice] = WhenReadTwice.FIXED
    """How a source's rows stay the same while they are read."""
    arrives_as: ClassVar[str | None] = None
    """What arrives, if a source may never end, in words: files."""
    source_hooks: ClassVar[tuple[MasterHook, ...]] = ()
    sink_hooks: ClassVar[tuple[MasterHook, ...]] = ()
    """What the driver does before any data moves, if it is a source or a sink."""
    is_published_last: ClassVar[bool] = False
    """Whether a sink is published after those of other kinds in its region."""
    delivery: ClassVar[str | None] = None
    """What a sink promises less than to publish the rows of a run once; None if it promises that."""
    pairs: ClassVar[tuple[str, ...]] = ("options",)
    """Fields that are pairs of text (`as_pairs`), if it has them."""
    never_rendered: ClassVar[tuple[str, ...]] = ("schema", "on_schema_change")
    """Text fields in which Jinja is not rendered."""
    hints: ClassVar[Mapping[str, str]] = {
        "on_misfit": f"{_TYPED}; on_schema_change says what happens if a type differs from schema=",
        "rejects": f'{_TYPED}; to set rows aside, add filter("condition", rejects="tag")',
        **dict.fromkeys(
            ("only_new", "lag"), 'it belongs to the source: from_source(Json(path, schema=…), "orders", only_new=True)'
        ),
        "if_missing": "it is for sources that are files",
        "single_file": "it belongs to the sink: sink_to(Csv(path), single_file=True)",
    }
    """Hints for parameters that only other connectors have."""
    schema: str | None = field(default=None, kw_only=True)
    on_schema_change: str | None = field(default=None, kw_only=True)

    @property
    def place(self) -> str | None:
        """Return the place that is read or written, in the same form for sources and sinks; None without one."""
        return None

    def place_key(self) -> tuple[object, ...] | None:
        """Return the place as names from the outermost to the innermost one; None without a place."""
        return None if self.place is None else (self.place,)

    def meets(self, other: Connector) -> bool:
        """Whether a place is, contains, or is in the other one, so that only one of them may be written."""
        mine, theirs = self.place_key(), other.place_key()
        if mine is None or theirs is None:
            return False
        return mine[: len(theirs)] == theirs[: len(mine)]

    def each_place(self) -> tuple[Self, ...]:
        """Return it once for each place that it reads; most have one, or none."""
        return (self,)

    def asset_uri(self, fill: Callable[[str], str]) -> str | None:  # noqa: ARG002  # most have none
        """Return the place as a URI that is the same in every run; None if no other pipeline can use it.

        `fill` replaces parameters in a text by their defaults, and every other template by UNKNOWN
        (`file_uris.py` has more).
        """
        return None

    def output_tags(self) -> tuple[str, ...]:
        """Return the tags of the side outputs of a source that reads it."""
        return ()

    def create_input_splits(self, parallelism: int) -> tuple[InputSplit, ...] | None:  # noqa: ARG002  # most do not know theirs
        """Return the parts in which a source is read, None if Spark determines them (as for files)."""
        return None

    def problems(self) -> Iterator[Problem]:
        """Yield its problems; the caller adds the operator (`problems_at`)."""
        yield from ()

    def what_arrives(self) -> Connector:
        """Return it without what may change while a stream of it continues: how much a batch has, and the like."""
        return self

    def bounded_problems(self) -> Iterator[Problem]:
        """Yield why it cannot be a source that ends."""
        yield from ()

    def unbounded_problems(self) -> Iterator[Problem]:
        """Yield why it cannot be a source that never ends."""
        yield from self._never_arrives()

    def _never_arrives(self) -> Iterator[Problem]:
        """Yield that it is not read as a stream."""
        yield Problem(
            message=f"it never ends, and {getattr(self, 'format', type(self).__name__)} is not read as a stream",
            allowed="files that arrive: Csv, Json, Parquet, Orc, Text, Files of these; Kafka, Iceberg, Delta, Rate; "
            "FunctionSource, for other formats of spark.readStream",
            hint="only_new reads what is new, run by run, also from databases",
        )

    def why_not_writable(self) -> str | None:
        """Return why it cannot be a sink, None if it can."""
        return None if self.sink_modes else f"{type(self).__name__} can only be read"

    def why_not_readable(self) -> str | None:
        """Return why it cannot be a source, None if it can."""
        return None

    def why_one_writer(self) -> str | None:
        """Return why only one driver at a time may write its target, None if several may."""
        return None

    def texts(self) -> dict[str, str]:
        """Return every text that may contain Jinja, by its field: `{"path": "/in", "options.sep": ";"}`."""
        named = {f.name: getattr(self, f.name) for f in fields(self) if f.name not in self.never_rendered}
        return {key: value for key, value in (named | self._pairs()).items() if isinstance(value, str) and value}

    def rendering_problems(self, rendered: Mapping[str, str]) -> Iterator[Problem]:  # noqa: ARG002  # most take any text
        """Yield the problems of rendered texts, compared with the declared ones; `rendered` has the keys of `texts`."""
        yield from ()

    def with_texts(self, rendered: Mapping[str, str]) -> Self:
        """Return the same connector with rendered texts; `rendered` has the keys of `texts`."""
        own = self._pairs()
        changes: dict[str, object] = {key: text for key, text in rendered.items() if key not in own}
        for name in self.pairs:
            if given := as_pairs(getattr(self, name, ())):
                changes[name] = tuple((key, rendered.get(f"{name}.{key}", value)) for key, value in given)
        return replace(self, **changes)  # type: ignore[arg-type]  # by name

    def secrets(self) -> dict[str, Secret]:
        """Return every secret it holds, by its field: `{"password": Secret(…)}`."""
        named = {f.name: getattr(self, f.name) for f in fields(self)}
        return {key: value for key, value in (named | self._pairs()).items() if isinstance(value, Secret)}

    def _pairs(self) -> dict[str, SecretText]:
        return {f"{name}.{key}": value for name in self.pairs for key, value in as_pairs(getattr(self, name, ()))}


def as_pairs(options: Options) -> tuple[tuple[str, SecretText], ...]:
    """Return options as pairs of text, as Spark expects them: `{"multiLine": True}` → `(("multiLine", "true"),)`.

    Other values are kept as they are, and the compiler refuses them.
    """
    if not isinstance(options, Mapping):
        return options
    return tuple((key, value if isinstance(value, Secret) else _as_text(value)) for key, value in options.items())


def as_columns(given: object) -> tuple[object, ...]:
    """Return names of columns as a tuple; the connector's problems say what is no name."""
    return tuple(given) if isinstance(given, list | tuple) else (given,)


def _as_text(value: str | int | float | bool) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def other_partitions(
    place: str | None, mode: SinkMode, *, there: Sequence[str], declared: Sequence[str]
) -> Problem | None:
    """Return the problem of a table that is not partitioned as declared, or has no partitions to replace; else None."""
    if declared and [each.lower() for each in declared] != [each.lower() for each in there]:
        message = f"{place} is partitioned by {listing(there)}, and partitioned_by is {listing(declared)}"
        return Problem(message=message, hint="leave partitioned_by out: it is for a table that is created")
    if mode is SinkMode.OVERWRITE_PARTITIONS and not there:
        return Problem(
            message=f"{place} has no partitions, so '{mode}' would replace all of it",
            allowed=f"a table with partitions, or mode='{SinkMode.OVERWRITE}'",
        )
    return None


NO_COMMIT = "graph_compiler: before the first commit"
"""The version of a source that reads only what is new, if the table had no commit; a declaration never has it."""


def read_by(connector: Connector) -> list[str]:
    """Return the names of the settings by which a source determines what it reads of a table that has commits."""
    given = ((name, getattr(connector, name, None)) for name in ("version", "timestamp", "since", "changes"))
    return [name for name, value in given if value is not None and value is not False]


def table_as_stream(connector: Connector) -> Iterator[Problem]:
    """Yield why a table of a format cannot be a stream."""
    columns = [name for name in ("schema", "on_schema_change") if getattr(connector, name) is not None]
    if given := [*read_by(connector), *columns]:
        yield Problem(
            message=f"it never ends, and has {listing(given)}",
            allowed="on a stream: the rows of all commits, with the columns of the table",
            hint="without unbounded=True it ends, and has that part",
        )
    if "{{" in str(connector.place) or "{%" in str(connector.place):
        yield Problem(
            message=f"it never ends, and is {connector.place}: each run could have another one",
            allowed="a name or a path without templates",
        )


def why_only_read(connector: Connector, published: str) -> str | None:
    """Return why a table that is declared to be read by a commit cannot be a sink, None if it can."""
    read = read_by(connector)
    are = "is" if len(read) == 1 else "are"
    return f"{listing(read)} {are} for sources; a sink {published}" if read else None
