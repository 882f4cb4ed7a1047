"""Everything that follows from a declaration, as one value."""

from __future__ import annotations

from dataclasses import dataclass

from graph_compiler.declaration.pipeline import Pipeline
from graph_compiler.graphs.execution_graph import ExecutionGraph
from graph_compiler.graphs.job_graph import JobGraph
from graph_compiler.graphs.regions import Deployment, LogicalPipelinedRegion
from graph_compiler.graphs.stream_graph import StreamGraph
from graph_compiler.options.deployment_options import DeploymentOptions
from graph_compiler.options.model import PipelineOptions


@dataclass(frozen=True, slots=True, kw_only=True)
class CompiledPipeline:
    """Every graph of one pipeline; backends, `explain` and the web view read this and derive nothing twice.

    `options` are the pipeline's over `deployment_options` over what is built in.
    """

    pipeline: Pipeline
    options: PipelineOptions
    deployment_options: DeploymentOptions
    stream_graph: StreamGraph
    job_graph: JobGraph
    execution_graph: ExecutionGraph | None
    logical_regions: tuple[LogicalPipelinedRegion, ...]
    deployment: Deployment
