"""The progress of an execution, written by its driver while it runs. Its report replaces it at the end.

An execution whose driver died has no report, only its last progress.
"""

from __future__ import annotations

from dataclasses import dataclass

from graph_compiler.deployment.documents.report import ActionMetrics, Phase, VertexMetrics
from graph_compiler.deployment.documents.wire import from_json

VERSION = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class CurrentStep:
    """What is running, and `since` when (seconds since the epoch)."""

    operator: str
    phase: Phase
    since: float


@dataclass(frozen=True, slots=True, kw_only=True)
class ExecutionProgress:
    """`current` None: nothing is running for an operator at the moment. `ui_url`: Spark's UI, None if that is off.

    The other fields are as in ExecutionReport, so far.
    """

    version: int
    application_id: str
    ui_url: str | None
    current: CurrentStep | None
    vertices: tuple[VertexMetrics, ...]
    actions: tuple[ActionMetrics, ...]

    @classmethod
    def from_json(cls, text: str) -> ExecutionProgress:
        """Decode; raises DescriptorError if the form or the version is a different one."""
        return from_json(cls, text, version=VERSION)
