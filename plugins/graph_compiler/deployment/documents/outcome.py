"""How an execution ended, according to its Airflow task; its Spark driver writes a separate report."""

from __future__ import annotations

from dataclasses import dataclass

from graph_compiler.graphs.execution import ExecutionState


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """A terminal state, when it was reached (seconds since the epoch), and why the task did not succeed.

    An execution may have finished in a try that failed: it has a reason, too.
    """

    state: ExecutionState
    ended: float
    reason: str | None
