"""How an execution ended, as its Airflow task saw it: kept beside what its Spark driver says of itself."""

from __future__ import annotations

from dataclasses import dataclass

from graph_compiler.graphs.execution import ExecutionState


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """A terminal state, when it was reached (seconds since the epoch), and why, unless all went well."""

    state: ExecutionState
    ended: float
    reason: str | None
