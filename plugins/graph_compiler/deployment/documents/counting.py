"""What `replay --count-by` asks of a session with an execution's operators, and its answer."""

from __future__ import annotations

from dataclasses import dataclass

from graph_compiler.deployment.documents.in_process_run import Preview

REQUEST, COUNTED = "counting.json", "counted.json"
"""Names of both documents, in a replay's folder."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CountRequest:
    """Count the rows of an operator by these columns; `limit`: the number of values that are returned."""

    operator: str
    columns: tuple[str, ...]
    limit: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Counted:
    """The most frequent values, each with its rows; the total is that of different values. Or why they are unknown."""

    values: Preview | None = None
    problem: str | None = None
