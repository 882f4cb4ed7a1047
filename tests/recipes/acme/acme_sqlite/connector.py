"""What users declare: nothing here imports pyspark."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import ClassVar

from graph_compiler.extending import Connector, Problem, SinkMode, lasting


@dataclass(frozen=True, slots=True)
class Sqlite(Connector):
    """A table of a SQLite file."""

    spark_modules: ClassVar[tuple[str, ...]] = ("acme_sqlite.spark",)
    sink_modes: ClassVar[tuple[SinkMode, ...]] = (SinkMode.OVERWRITE,)
    never_rendered: ClassVar[tuple[str, ...]] = ("schema", "on_schema_change", "table")
    path: str
    table: str

    @property
    def place(self) -> str | None:
        """Return the table and its file."""
        return f"{self.table} in {self.path}"

    def asset_uri(self, fill: Callable[[str], str]) -> str | None:
        """Return the URI of the table, below that of its file."""
        path = lasting(fill(self.path))
        return f"sqlite://{path}/{self.table}" if path else None

    def problems(self) -> Iterator[Problem]:
        """Yield an invalid table name, and a missing schema."""
        if not self.table.isidentifier():
            yield Problem(message=f"its table is '{self.table}'", allowed="letters, digits and '_'")
