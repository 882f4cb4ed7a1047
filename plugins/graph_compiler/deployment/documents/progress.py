"""What an execution has done so far, told by its driver while it runs. Its report, once it is there, says all of it.

An execution whose driver died has left no report, but this: what it was at.
"""

from __future__ import annotations

from dataclasses import dataclass

from graph_compiler.deployment.documents.report import ActionMetrics, Phase, VertexMetrics
from graph_compiler.deployment.documents.wire import from_json

VERSION = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class CurrentStep:
    """What runs now, `since` when (seconds since the epoch)."""

    operator: str
    phase: Phase
    since: float


@dataclass(frozen=True, slots=True, kw_only=True)
class ExecutionProgress:
    """`current` None: nothing is run for an operator at the moment. `ui_url`: Spark's own UI, None where that is off.

    The rest is as in ExecutionReport, up to now.
    """

    version: int
    application_id: str
    ui_url: str | None
    current: CurrentStep | None
    vertices: tuple[VertexMetrics, ...]
    actions: tuple[ActionMetrics, ...]

    @classmethod
    def from_json(cls, text: str) -> ExecutionProgress:
        """Decode; raises DescriptorError where form or version differ."""
        return from_json(cls, text, version=VERSION)
