"""A table of Delta Lake."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import ClassVar
from urllib.parse import quote

from graph_compiler.declaration.connectors.connector import (
    Connector,
    SinkMode,
    WhenReadTwice,
    as_columns,
    read_by,
    table_as_stream,
    why_only_read,
)
from graph_compiler.declaration.connectors.file_uris import RELATIVE, lasting, place_uri, why_not_local
from graph_compiler.declaration.connectors.files import folder_key, plain_place
from graph_compiler.declaration.connectors.jdbc_templates import TEMPLATE
from graph_compiler.errors import Problem
from graph_compiler.extensions import UNSAID
from graph_compiler.identifiers import listing, quoted, shown
from graph_compiler.tested_versions import DELTA, TableFormat

COMPUTED = ("delta.generationExpression", "delta.identity.start")
"""What Delta notes of columns whose values it computes."""
CHANGE_FEED = "delta.enableChangeDataFeed"
"""The property of a table that records its changes."""
_NAME = re.compile(r"[^\W\d]\w*(\.[^\W\d]\w*){1,2}")
_OBJECT_STORE = re.compile(r"(s3[an]?|gs|abfss?|wasbs?|oss|cosn?)://", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Delta(Connector):
    """A table by the path of its folder: an absolute path, a `file:` URI, or `hdfs://host:port/path`.

    Or by its name in Spark's catalog (`shop.orders`, `catalog.shop.orders`), which then is a table already: only who
    made it has decided where its folder is.

    As a source: it reads one version, which is determined when the attempt begins to read: the current one, or
    `version` (its number) or that of `timestamp` (ISO, UTC if it has no zone). With `since` (the number of a version
    before it), it reads the rows that were added after that; other changes in between are refused, unless `changes`:
    then it reads all that changed, with the columns `_change_type` and `_commit_version`, of a table whose change data
    feed is enabled. With `unbounded=True` it never ends: the rows that are there, and those of the commits to come.

    As a sink: rows are prepared in the staging root, and committed by one commit, which Delta makes only once. A
    missing table is created, with the columns of the rows and folders for `partitioned_by`.
    """

    spark_modules: ClassVar[tuple[str, ...]] = ("graph_compiler.spark_runtime.connectors.lake.delta",)
    sink_modes: ClassVar[tuple[SinkMode, ...]] = tuple(SinkMode)
    table_format: ClassVar[TableFormat | None] = DELTA
    has_own_partitions: ClassVar[bool] = True
    when_read_twice: ClassVar[WhenReadTwice] = WhenReadTwice.SNAPSHOT
    arrives_as: ClassVar[str | None] = "the rows of commits"
    path: str
    version: int | None = field(default=None, kw_only=True)
    timestamp: str | None = field(default=None, kw_only=True)
    since: int | None = field(default=None, kw_only=True, metadata={UNSAID: True})
    changes: bool = field(default=False, kw_only=True, metadata={UNSAID: True})
    partitioned_by: tuple[str, ...] = field(default=(), kw_only=True)

    def __post_init__(self) -> None:
        """Keep the partitions as a tuple."""
        object.__setattr__(self, "partitioned_by", as_columns(self.partitioned_by))

    @property
    def place(self) -> str | None:
        return self.path

    @property
    def folder(self) -> str:
        """Return its path, in one form for all ways to write it."""
        return plain_place(self.path)

    @property
    def is_named(self) -> bool:
        """Whether Spark's catalog knows its folder; a template is neither."""
        return _NAME.fullmatch(self.path) is not None

    def place_key(self) -> tuple[object, ...] | None:
        return (Delta, self.path.casefold()) if self.is_named else folder_key(self.path)

    def asset_uri(self, fill: Callable[[str], str]) -> str | None:
        if _NAME.fullmatch(name := fill(self.path)):
            return f"x-delta-table:///{quote(name.replace('.', '/'))}"
        return place_uri(place) if (place := lasting(fill(self.path))) else None

    def unbounded_problems(self) -> Iterator[Problem]:
        """Yield what chooses a part of the table: a stream has the rows of all commits."""
        yield from table_as_stream(self)

    def why_not_writable(self) -> str | None:
        return why_only_read(self, "commits the next version")

    def why_not_readable(self) -> str | None:
        return "partitioned_by is for sinks; this is a source" if self.partitioned_by else None

    def why_one_writer(self) -> str | None:
        if why_not_local(self.path) is not None:
            return None
        return "Delta's log on a disk keeps commits apart within one process only"

    def rendering_problems(self, rendered: Mapping[str, str]) -> Iterator[Problem]:
        """Yield a rendered path that no run could use."""
        if TEMPLATE.search(self.path):
            yield from self._place(rendered.get("path", self.path))

    def problems(self) -> Iterator[Problem]:
        """Yield what no run could read or write."""
        if not TEMPLATE.search(self.path):
            yield from self._place(self.path)
        if self.version is not None and self.timestamp is not None:
            yield Problem(message="it has version and timestamp", allowed="one of them, or neither")
        elif self.timestamp is not None and (others := [name for name in read_by(self) if name != "timestamp"]):
            yield Problem(message=f"it has timestamp and {listing(others)}", allowed="version, and no timestamp")
        for name in ("version", "since"):
            value = getattr(self, name)
            if value is not None and (not isinstance(value, int) or value < 0):
                yield Problem(message=f"{name} is {shown(value)}", allowed="a whole number from 0")
        if isinstance(self.since, int) and isinstance(self.version, int) and self.since > self.version:
            yield Problem(message=f"since is {self.since}, and version is {self.version}", allowed="since <= version")
        columns: tuple[object, ...] = self.partitioned_by
        if wrong := [one for one in columns if not (isinstance(one, str) and one.strip())]:
            yield Problem(message=f"partitioned_by has {listing(map(shown, wrong))}", allowed="names of columns")

    @staticmethod
    def _place(path: str) -> Iterator[Problem]:
        if _OBJECT_STORE.match(path):
            yield Problem(
                message=f"its path is '{path}': Delta's log in an object store is safe for one driver only, so one of "
                "two commits would be lost",
                allowed="HDFS; a local disk, for one writer at a time",
                hint="Iceberg, with a catalog of type jdbc or rest",
            )
        elif why_not_local(path) == RELATIVE and not _NAME.fullmatch(path):
            yield Problem(
                message=f"its path is '{path}': {RELATIVE}",
                allowed="an absolute path, a URI, or a table's name with its schema (shop.orders)",
            )


def no_change_feed(connector: Delta) -> Problem:
    """Return the problem of a source that reads changes of a table that does not record them."""
    alter = f"ALTER TABLE delta.{quoted(connector.path)} SET TBLPROPERTIES ({CHANGE_FEED} = true)"
    return Problem(
        message=f"{connector.place} does not record its changes", hint=f"{alter}; it records those that come after"
    )


def computed_columns(connector: Delta, names: Sequence[str]) -> Problem:
    """Return the problem of a sink whose table computes columns."""
    return Problem(
        message=f"{connector.place} computes {listing(names)} itself: rows of a sink have all columns",
        allowed="tables without generated and identity columns",
    )
