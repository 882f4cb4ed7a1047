"""What a table is like now: the question, and the answers that cross to the process that asks (`table_process.py`).

TableWanted(Iceberg("lake.shop.sold"), properties)   →   TableState(id=…, commit=…, columns="id BIGINT, …")
NoTable()
NotLookedAt("its catalog did not answer within 10 s")
"""

from __future__ import annotations

from dataclasses import dataclass

from graph_compiler.declaration.connectors.connector import Connector
from graph_compiler.errors import GraphCompilerError


@dataclass(frozen=True, slots=True)
class TableAnswer:
    """What is known of a table."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TableState(TableAnswer):
    """A table that is there. Columns are DDL, as a declared schema; partitions are SQL, as `partitioned_by`.

    `commit` is the id of the snapshot, or the number of the version, that readers see; None if there is none. `read` is
    what the source reads: that of its `version`, None if the table does not have it, or if it is not known which one
    that is. `versions` are names that Iceberg has for versions, or the first and the last number of Delta's.
    `computed` are columns whose values Delta computes.
    """

    id: str
    commit: int | None
    columns: str
    read: str | None
    partitions: tuple[str, ...] = ()
    versions: tuple[str, ...] = ()
    missing_version: str | None = None
    """The version, or the one in `since`, that was asked for, and that the table does not have."""
    numbers_commits: bool = True
    records_changes: bool = True
    computed: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class NoTable(TableAnswer):
    """There is no table of this name, or in this folder."""


@dataclass(frozen=True, slots=True)
class NotLookedAt(TableAnswer):
    """The table could not be asked, which says nothing about it; `why` contains no secret."""

    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class TableWanted:
    """A table that is asked; `properties` are those of its catalog, by Iceberg's names, with the values of secrets.

    It is never shown or logged: the process gets it on its standard input.
    """

    connector: Connector
    properties: tuple[tuple[str, str], ...] = ()

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.connector.place})"


class NotAskedError(GraphCompilerError):
    """A table cannot be asked; the message says why, and contains no secret."""
