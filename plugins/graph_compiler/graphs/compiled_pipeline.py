"""Everything that is derived from a declaration, as one value."""

from __future__ import annotations

from dataclasses import dataclass

from graph_compiler.declaration.pipeline import Pipeline
from graph_compiler.graphs.execution_graph import ExecutionGraph
from graph_compiler.graphs.job_graph import JobEdge, JobGraph
from graph_compiler.graphs.regions import Deployment
from graph_compiler.graphs.stream_graph import StreamGraph
from graph_compiler.options.model import PipelineOptions
from graph_compiler.options.modes import DeploymentOptions


@dataclass(frozen=True, slots=True, kw_only=True)
class CompiledPipeline:
    """Every graph of one pipeline; backends, `explain` and the web view read it, so that nothing is derived twice.

    `options` are the pipeline's, then `deployment_options`, then the defaults. `job_graph` is the one that is mapped
    to tasks: Flink's, with every staged edge BLOCKING.
    """

    pipeline: Pipeline
    options: PipelineOptions
    deployment_options: DeploymentOptions
    stream_graph: StreamGraph
    job_graph: JobGraph
    execution_graph: ExecutionGraph | None
    deployment: Deployment

    def task_edges(self) -> tuple[JobEdge, ...]:
        """Return the job edges between two tasks: the task dependencies."""
        return tuple(edge for edge in self.job_graph.edges if self.deployment.crosses_tasks(edge))
