"""The progress of an execution, written by its driver while it runs. Its report replaces it at the end.

An execution whose driver died has no report, only its last progress.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from graph_compiler.deployment.documents.report import ActionMetrics, Phase, VertexMetrics
from graph_compiler.deployment.documents.stream import PublishedBatch
from graph_compiler.deployment.documents.wire import from_json
from graph_compiler.extensions import UNSAID

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

    `batches` are the last ones that a stream has published. The other fields are as in ExecutionReport, so far.
    """

    version: int
    application_id: str
    ui_url: str | None
    current: CurrentStep | None
    vertices: tuple[VertexMetrics, ...]
    actions: tuple[ActionMetrics, ...]
    batches: tuple[PublishedBatch, ...] = field(default=(), metadata={UNSAID: True})

    @classmethod
    def from_json(cls, text: str) -> ExecutionProgress:
        """Decode; raises DescriptorError if the form or the version is a different one."""
        return from_json(cls, text, version=VERSION)
