"""Checks for missing and duplicate columns."""

from __future__ import annotations

from collections.abc import Iterable

from pyspark.sql import DataFrame

from graph_compiler.errors import GraphCompilerError
from graph_compiler.identifiers import did_you_mean


class ColumnsError(GraphCompilerError):
    """An operator's inputs have columns that do not match, or lack columns that it names."""

    def __init__(self, message: str, hint: str | None = None) -> None:
        super().__init__(message, hint)
        self.message = message
        self.hint = hint

    def __str__(self) -> str:
        """Return the message, with the hint on a separate line."""
        return f"{self.message}\n  hint: {self.hint}" if self.hint else self.message


def require_columns(rows: DataFrame, names: Iterable[str], of: str = "its input") -> None:
    """Raise ColumnsError if a column is missing; names that differ only in case are the same."""
    known = {name.lower() for name in rows.columns}
    missing = [name for name in names if name.lower() not in known]
    if missing:
        raise ColumnsError(
            f"{of} has no column '{missing[0]}'", did_you_mean(missing[0], rows.columns)
        )


def require_new_columns(known: Iterable[str], new: Iterable[str], verb: str) -> None:
    """Raise ColumnsError if a column that an operator adds already exists; names ignore case."""
    there = {name.lower() for name in known}
    for name in new:
        if name.lower() in there:
            raise ColumnsError(
                f"it {verb} '{name}', and its input already has a column '{name}'",
                f'choose another name, or drop("{name}") first',
            )


def has_column(rows: DataFrame, name: str) -> bool:
    """Whether a column exists, ignoring case."""
    return name.lower() in (column.lower() for column in rows.columns)
