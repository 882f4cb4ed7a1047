"""A table of Spark's catalog."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

from graph_compiler.declaration.connectors.connector import Connector, Options, SinkMode, as_pairs
from graph_compiler.declaration.connectors.secret import SecretText
from graph_compiler.errors import Problem


@dataclass(frozen=True, slots=True)
class Table(Connector):
    """A table by its name, `database.table`, in the catalog the cluster's settings name (a metastore).

    As a sink: rows are prepared in the staging root, then Spark inserts them, which no other system makes atomic: a
    reader may see a part, and a driver that dies inside the insert may have inserted (at least once). Append counts a
    run once, as in `Jdbc`; overwrite keeps the table's definition.
    """

    sink_modes: ClassVar[tuple[SinkMode, ...]] = (
        SinkMode.APPEND,
        SinkMode.OVERWRITE,
        SinkMode.ERROR_IF_EXISTS,
    )
    name: str
    options: Options = field(default=(), kw_only=True)

    def __post_init__(self) -> None:
        """Keep the options as pairs."""
        object.__setattr__(self, "options", as_pairs(self.options))

    @property
    def place(self) -> str | None:
        """Give the name."""
        return f"table {self.name}"

    def spark_options(self) -> dict[str, SecretText]:
        """Give Spark's options."""
        return dict(as_pairs(self.options))

    def mistakes(self) -> tuple[Problem, ...]:
        """Refuse an empty name."""
        return (
            ()
            if self.name.strip()
            else (Problem(message="its name is empty", allowed="database.table"),)
        )
