"""The progress of an execution, written by its driver while it runs. Its report replaces it at the end.

An execution whose driver died has no report, but its last progress.
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
    """`current` None: nothing runs for an operator at the moment. `ui_url`: Spark's UI, None if that is off.

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
