"""Rows that a command shows as a table, or prints as JSON."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass

from graph_compiler.deployment.documents.in_process_run import Preview


@dataclass(frozen=True, slots=True, kw_only=True)
class FirstRows:
    """Rows of an operator or a sink; `total` is None if not counted, `order` is the column they are sorted by.

    `is_glance`: types and decimals are left out, since the rows only give an impression.
    """

    name: str
    columns: tuple[tuple[str, str], ...]
    rows: Sequence[Sequence[object]]
    total: int | None
    order: str | None = None
    is_glance: bool = False

    @classmethod
    def of(cls, name: str, found: Preview, order: str | None = None) -> FirstRows:
        """Return the rows that a driver has written."""
        return cls(
            name=name,
            columns=tuple((column.name, column.data_type) for column in found.columns),
            # Two columns may have one name, so a row is no dict.
            rows=[[value for _, value in json.loads(row, object_pairs_hook=list)] for row in found.rows],
            total=found.total,
            order=order,
        )

    def to_json(self) -> dict[str, object]:
        """Return rows as arrays in the order of the columns, since two columns may have one name."""
        return {
            "of": self.name,
            "columns": [{"name": name, "type": kind} for name, kind in self.columns],
            "rows": [list(row) for row in self.rows],
            "total": self.total,
        }
