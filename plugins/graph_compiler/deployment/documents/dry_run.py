"""What a dry run is asked, and what it answers: two documents beside each other."""

from __future__ import annotations

from dataclasses import dataclass

from graph_compiler.deployment.documents.descriptor import TaskDeploymentDescriptor
from graph_compiler.deployment.documents.report import Failure
from graph_compiler.identifiers import RegionId

REQUEST, ANSWER = "request.json", "answer.json"


@dataclass(frozen=True, slots=True, kw_only=True)
class DryRunRequest:
    """The regions of a pipeline, places rendered. `shows_plans`: also give Spark's physical plans."""

    tasks: tuple[TaskDeploymentDescriptor, ...]
    shows_plans: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class VertexPlan:
    """Spark's physical plan up to and with the last operator of a job vertex."""

    region_id: RegionId
    vertex: str
    plan: str


@dataclass(frozen=True, slots=True, kw_only=True)
class DryRunAnswer:
    """Everything that was found, in the order of the operators. `warnings`: what may fail on some rows only."""

    findings: tuple[Failure, ...]
    warnings: tuple[Failure, ...]
    plans: tuple[VertexPlan, ...]
