"""A table of an Iceberg catalog."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import ClassVar
from urllib.parse import quote

from graph_compiler.declaration.connectors.connector import (
    Connector,
    Options,
    SinkMode,
    WhenReadTwice,
    as_columns,
    as_pairs,
    table_as_stream,
    why_only_read,
)
from graph_compiler.declaration.connectors.file_uris import lasting, why_not_local
from graph_compiler.declaration.connectors.jdbc_templates import TEMPLATE
from graph_compiler.declaration.connectors.jdbc_url import is_in_url
from graph_compiler.declaration.connectors.secret import Secret, SecretText
from graph_compiler.errors import Problem
from graph_compiler.extensions import UNSAID
from graph_compiler.identifiers import listing, quoted, shown
from graph_compiler.tested_versions import ICEBERG, TableFormat

CATALOG_SETTINGS = "spark.sql.catalog."
"""The prefix of the settings in which Spark has a catalog's properties."""
_NAME = re.compile(r"[^\W\d][\w-]*(\.[\w$-]+){2,}")
_PARTITION = re.compile(r"[\w.$-]+|(years|months|days|hours)\([\w.$-]+\)|(bucket|truncate)\([1-9]\d*, ?[\w.$-]+\)")
_PARTITIONS = "a column, years(at), months(at), days(at), hours(at), bucket(16, id), truncate(4, name)"
_HIDDEN = re.compile(r"secret|password|token|credential|access[.-]?key", re.IGNORECASE)
"""Names of properties whose values are secrets. Spark's own pattern does not have `credential`."""
_LOCAL = re.compile(r"(file:/*)?/|hdfs:", re.IGNORECASE)
_TRANSFORMS = {"year": "years", "month": "months", "day": "days", "hour": "hours"}
"""SQL's names of Iceberg's transforms."""


def partition_words(transform: str, column: str) -> str:
    """Return a partition as SQL has it, by Iceberg's transform of a column: `bucket[16]` of id is `bucket(16, id)`."""
    name, _, number = transform.rstrip("]").partition("[")
    if name == "identity":
        return column
    return f"{name}({number}, {column})" if number else f"{_TRANSFORMS.get(name, name)}({column})"


def partitions_words(fields: Iterable[tuple[str, str]]) -> tuple[str, ...]:
    """Return the partitions of a table as SQL has them, by the transforms and columns of its fields.

    A field that was dropped stays in a table of format-version 1, as `void`, and parts no rows.
    """
    return tuple(partition_words(transform, column) for transform, column in fields if transform != "void")


@dataclass(frozen=True, slots=True)
class Iceberg(Connector):
    """A table by its name, `catalog.namespace.table`, in a catalog of Iceberg.

    `catalog` are properties of the catalog, as in Iceberg's documentation: `{"type": "jdbc", "uri":
    "jdbc:postgresql://…", "jdbc.password": Secret("lake")}`. What the deployment's Spark settings have
    (`spark.sql.catalog.<name>.<property>`) is left out here, and only here is a place for secrets.

    As a source: it reads one snapshot, which is determined when the attempt begins: the current one, or that of
    `version` (the id of a snapshot, or the name of a tag or branch) or `timestamp` (ISO, UTC if it has no zone). With
    `since` (a snapshot, tag or branch before it), it reads the rows that were added after that; other changes in
    between are refused, unless `changes`: then it reads all that changed, with the columns `_change_type` and
    `_commit_version`. With `unbounded=True` it never ends: the rows of all commits, and of those to come.

    As a sink: rows are written to a branch of the table, where no reader looks, and published by one commit, which also
    removes the branch. `create_if_missing` creates a table that is missing, with the columns of the rows, and
    `partitioned_by` (columns and Iceberg's transforms: `days(at)`, `bucket(16, id)`).
    """

    spark_modules: ClassVar[tuple[str, ...]] = (
        "graph_compiler.spark_runtime.connectors.lake.iceberg_source",
        "graph_compiler.spark_runtime.connectors.lake.iceberg_sink",
    )
    sink_modes: ClassVar[tuple[SinkMode, ...]] = tuple(SinkMode)
    table_format: ClassVar[TableFormat | None] = ICEBERG
    has_own_partitions: ClassVar[bool] = True
    when_read_twice: ClassVar[WhenReadTwice] = WhenReadTwice.SNAPSHOT
    arrives_as: ClassVar[str | None] = "the rows of commits"
    pairs: ClassVar[tuple[str, ...]] = ("catalog",)
    never_rendered: ClassVar[tuple[str, ...]] = ("schema", "on_schema_change")
    name: str
    catalog: Options = field(default=(), kw_only=True)
    version: str | int | None = field(default=None, kw_only=True)
    timestamp: str | None = field(default=None, kw_only=True)
    since: str | int | None = field(default=None, kw_only=True, metadata={UNSAID: True})
    changes: bool = field(default=False, kw_only=True, metadata={UNSAID: True})
    partitioned_by: tuple[str, ...] = field(default=(), kw_only=True)
    create_if_missing: bool = field(default=False, kw_only=True)

    def __post_init__(self) -> None:
        """Keep the properties as pairs, and the partitions as a tuple."""
        object.__setattr__(self, "catalog", as_pairs(self.catalog))
        object.__setattr__(self, "partitioned_by", as_columns(self.partitioned_by))

    @property
    def place(self) -> str | None:
        return f"Iceberg table {self.name}"

    @property
    def catalog_name(self) -> str:
        """Return the name of its catalog, the first part of its own name."""
        return self.name.partition(".")[0]

    @property
    def sql_name(self) -> str:
        """Return its name as SQL has it, each part in quotes."""
        return ".".join(map(quoted, self.name.split(".")))

    def asset_uri(self, fill: Callable[[str], str]) -> str | None:
        name = lasting(fill(self.name.replace(".", "/")))
        return f"x-iceberg-table:///{quote(name)}" if name else None

    @property
    def partitions(self) -> tuple[str, ...]:
        """Return the declared partitions as `partition_words` does."""
        return tuple(re.sub(r", ?", ", ", each) for each in self.partitioned_by)

    def catalog_settings(self) -> dict[str, SecretText]:
        """Return Spark's settings for the declared properties of its catalog."""
        own = f"{CATALOG_SETTINGS}{self.catalog_name}"
        return {f"{own}.{key}": value for key, value in as_pairs(self.catalog)}

    def why_one_writer(self) -> str | None:
        properties = dict(as_pairs(self.catalog))
        place = properties.get("warehouse")
        if properties.get("type") != "hadoop" or not isinstance(place, str) or why_not_local(place) is not None:
            return None
        return "a catalog of type hadoop on a disk keeps commits apart within one process only"

    def rendering_problems(self, rendered: Mapping[str, str]) -> Iterator[Problem]:
        """Yield a rendered text that is not the name of one table, or of another catalog's."""
        name = rendered.get("name", self.name)
        if TEMPLATE.search(self.name) and not _NAME.fullmatch(name):
            message = f"its name is rendered as {shown(name)}, which is not the name of one table"
            yield Problem(message=message, allowed="catalog.namespace.table")

    def unbounded_problems(self) -> Iterator[Problem]:
        """Yield what chooses a part of the table: a stream has the rows of all commits."""
        yield from table_as_stream(self)

    def what_arrives(self) -> Iceberg:
        """Return it without the properties of its catalog: another server may have the table."""
        return replace(self, catalog=())

    def why_not_writable(self) -> str | None:
        return why_only_read(self, "publishes the next snapshot")

    def why_not_readable(self) -> str | None:
        given = [name for name in ("partitioned_by", "create_if_missing") if getattr(self, name)]
        return f"{listing(given)} is for sinks; this is a source" if given else None

    def problems(self) -> Iterator[Problem]:
        """Yield what no run could read or write, and secrets in plain text."""
        if not TEMPLATE.search(self.name) and not _NAME.fullmatch(self.name):
            yield Problem(message=f"its name is {shown(self.name)}", allowed="catalog.namespace.table")
        if self.version is not None and self.timestamp is not None:
            yield Problem(message="it has version and timestamp", allowed="one of them, or neither")
        columns: tuple[object, ...] = self.partitioned_by
        if wrong := [one for one in columns if not (isinstance(one, str) and _PARTITION.fullmatch(one))]:
            yield Problem(message=f"partitioned_by has {listing(map(shown, wrong))}", allowed=_PARTITIONS)
        if self.create_if_missing and self.schema is None:
            yield Problem(message="create_if_missing is set, and it has no schema", allowed="a schema of the new table")
        yield from self._catalog_problems()

    def _catalog_problems(self) -> Iterator[Problem]:
        properties = dict(as_pairs(self.catalog))
        for key, value in properties.items():
            if isinstance(value, str) and (_HIDDEN.search(key) or is_in_url(value)):
                yield Problem(
                    message=f"property '{key}' of its catalog holds a secret in plain text",
                    allowed=f"{Secret.__name__}('connection id', 'password')",
                    hint="anyone who can see the code, the task or its logs could read it; keep it in an Airflow "
                    "connection",
                )
        warehouse = properties.get("warehouse", "")
        if properties.get("type") == "hadoop" and isinstance(warehouse, str) and not self._is_local(warehouse):
            yield Problem(
                message=f"its catalog is of type hadoop, and its warehouse is {warehouse}: an object store cannot "
                "rename a file only if no other has its name, so one of two commits would be lost",
                allowed='"type": "rest" or "jdbc" for object stores',
            )

    @staticmethod
    def _is_local(warehouse: str) -> bool:
        return not warehouse or bool(TEMPLATE.search(warehouse) or _LOCAL.match(warehouse))


def no_target(connector: Iceberg) -> Problem:
    """Return the problem of a sink whose table does not exist."""
    message = f"its target {connector.place} does not exist"
    return Problem(message=message, hint="create it, or declare create_if_missing=True and schema=")


def unnumbered_commits(connector: Iceberg) -> Problem:
    """Return the problem of a source that reads changes of a table of format-version 1."""
    return Problem(
        message=f"{connector.place} has format-version 1, which does not number its commits, so changes have no order",
        hint=f"ALTER TABLE {connector.name} SET TBLPROPERTIES ('format-version'='2')",
    )
