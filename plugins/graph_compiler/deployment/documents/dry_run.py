"""The request of a dry run and its answer: two documents in one folder."""

from __future__ import annotations

from dataclasses import dataclass

from graph_compiler.deployment.documents.descriptor import TaskDeploymentDescriptor
from graph_compiler.deployment.documents.report import Failure
from graph_compiler.errors import SourceLocation
from graph_compiler.identifiers import RegionId

REQUEST, ANSWER = "request.json", "answer.json"


@dataclass(frozen=True, slots=True, kw_only=True)
class DryRunRequest:
    """The regions of a pipeline, with rendered places. `shows_plans`: also return Spark's physical plans.

    `infers`: also read the files of sources without a declared schema, and return their columns.
    """

    tasks: tuple[TaskDeploymentDescriptor, ...]
    shows_plans: bool
    infers: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class VertexPlan:
    """Spark's physical plan up to and including the last operator of a job vertex."""

    region_id: RegionId
    vertex: str
    plan: str


@dataclass(frozen=True, slots=True, kw_only=True)
class InferredSchema:
    """The columns of a source's files as Spark DDL: what its declaration could say."""

    operator: str
    declared_at: SourceLocation | None
    schema: str


@dataclass(frozen=True, slots=True, kw_only=True)
class DryRunAnswer:
    """All findings, in the order of the operators. `warnings` are those that may fail only for some rows."""

    findings: tuple[Failure, ...]
    warnings: tuple[Failure, ...]
    plans: tuple[VertexPlan, ...]
    schemas: tuple[InferredSchema, ...] = ()
