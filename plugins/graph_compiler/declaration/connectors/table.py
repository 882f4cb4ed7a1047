"""A table of Spark's catalog."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import ClassVar
from urllib.parse import quote

from graph_compiler.declaration.connectors.connector import Connector, Options, SinkMode, as_pairs
from graph_compiler.declaration.connectors.file_uris import lasting
from graph_compiler.declaration.connectors.jdbc_templates import TEMPLATE
from graph_compiler.declaration.connectors.secret import SecretText
from graph_compiler.errors import Problem
from graph_compiler.identifiers import shown

_NAME = re.compile(r"[\w$-]+(\.[\w$-]+){0,3}")


@dataclass(frozen=True, slots=True)
class Table(Connector):
    """A table by its name, `database.table`, in the catalog of the cluster's settings (a metastore).

    As a sink: rows are prepared in the staging root, then Spark inserts them. This is not atomic: a reader may see some
    of the rows, and a driver that dies during the insert may have inserted some (at least once). Append counts a run
    once, as in `Jdbc`; overwrite keeps the table's definition.

    `run_column` and `attempt_column` (STRING, both or none) let readers recognize rows that were inserted twice. They
    contain `pipeline/run id` and the time of the insert; only the greatest attempt of a run counts.
    """

    spark_modules: ClassVar[tuple[str, ...]] = ("graph_compiler.spark_runtime.connectors.table",)
    sink_modes: ClassVar[tuple[SinkMode, ...]] = (SinkMode.APPEND, SinkMode.OVERWRITE, SinkMode.ERROR_IF_EXISTS)
    delivery: ClassVar[str | None] = "at least once: if its driver dies during the insert, rows may be inserted twice"
    never_rendered: ClassVar[tuple[str, ...]] = (*("schema", "on_schema_change"), *("run_column", "attempt_column"))
    name: str
    run_column: str | None = field(default=None, kw_only=True)
    attempt_column: str | None = field(default=None, kw_only=True)
    options: Options = field(default=(), kw_only=True)

    def __post_init__(self) -> None:
        """Keep the options as pairs."""
        object.__setattr__(self, "options", as_pairs(self.options))

    @property
    def place(self) -> str | None:
        return f"table {self.name}"

    def asset_uri(self, fill: Callable[[str], str]) -> str | None:
        name = lasting(fill(self.name.replace(".", "/")))
        return f"x-spark-table:///{quote(name)}" if name else None

    @property
    def attempt_columns(self) -> tuple[str, ...]:
        """Return the column of the run and that of the attempt, or nothing."""
        return tuple(name for name in (self.run_column, self.attempt_column) if name is not None)

    def spark_options(self) -> dict[str, SecretText]:
        """Return Spark's options."""
        return dict(as_pairs(self.options))

    def rendering_problems(self, rendered: Mapping[str, str]) -> Iterator[Problem]:
        """Yield a rendered text that is not a table name: Spark would also accept a format and a path."""
        name = rendered.get("name", self.name)
        if TEMPLATE.search(self.name) and not _NAME.fullmatch(name):
            message = f"its name is rendered as {shown(name)}, which is not the name of one table"
            yield Problem(message=message, allowed="letters, digits and '_' between dots")

    def problems(self) -> Iterator[Problem]:
        """Yield an empty name, and one of the two attempt columns without the other."""
        if not self.name.strip():
            yield Problem(message="its name is empty", allowed="database.table")
        given = [name for name in (self.run_column, self.attempt_column) if name is not None]
        if given and (len({name.lower() for name in given}) < 2 or not all(map(str.strip, given))):
            yield Problem(
                message=f"run_column is {self.run_column!r}, and attempt_column {self.attempt_column!r}",
                allowed="names of two columns, or neither",
            )
