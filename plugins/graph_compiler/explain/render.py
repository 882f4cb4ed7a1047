"""All renderings of a compiled pipeline: which graph, and in which format."""

from __future__ import annotations

from enum import StrEnum
from typing import assert_never

from graph_compiler.deployment.describe.region_descriptors import PipelineDescriptor, describe_pipeline
from graph_compiler.deployment.documents.wire import Json, to_json
from graph_compiler.errors import InvalidPipelineError
from graph_compiler.explain.documents.graph_json import (
    ExecutionGraphJson,
    job_graph_json,
    job_plan,
    stream_graph_json,
    streaming_plan,
)
from graph_compiler.explain.documents.page import plan_page
from graph_compiler.explain.documents.plan_json import deployment_json
from graph_compiler.explain.pictures.graph_pictures import (
    execution_picture,
    job_picture,
    no_execution_graph,
    stream_picture,
)
from graph_compiler.explain.pictures.picture import dot, mermaid, picture_text
from graph_compiler.explain.plan.plan_writer import plan_of
from graph_compiler.explain.text.plan_text import explain_text
from graph_compiler.graphs.compiled_pipeline import CompiledPipeline


class Graph(StrEnum):
    """The graph to show: one of Flink's."""

    STREAM = "stream"
    JOB = "job"
    EXECUTION = "execution"


class Format(StrEnum):
    """The format; FLINK is for Flink's plan visualizer, HTML a page with all graphs."""

    TEXT = "text"
    JSON = "json"
    MERMAID = "mermaid"
    DOT = "dot"
    FLINK = "flink"
    HTML = "html"


_PICTURES = {Graph.STREAM: stream_picture, Graph.JOB: job_picture, Graph.EXECUTION: execution_picture}


def render(compiled: CompiledPipeline, graph: Graph | None, format: Format, page: str = "") -> str:
    """Return a graph as text, or the tasks if none is named (a picture of the job graph, a plan of the stream graph).

    `page` is the view's file, for HTML. Raises InvalidPipelineError for an execution graph that is not known yet,
    PageNotBuiltError if there is no page.
    """
    match format:
        case Format.TEXT:
            plan = plan_of(compiled)
            return picture_text(_PICTURES[graph](plan)) if graph else explain_text(plan)
        case Format.JSON:
            return to_json(_flinks_graph(compiled, graph) if graph else deployment_json(plan_of(compiled)))
        case Format.MERMAID:
            return mermaid(_PICTURES[graph or Graph.JOB](plan_of(compiled)))
        case Format.DOT:
            return dot(_PICTURES[graph or Graph.JOB](plan_of(compiled)))
        case Format.FLINK:
            assert has_flink_plan(graph), "the caller asks first"
            is_job = graph is Graph.JOB
            return to_json(job_plan(compiled.job_graph) if is_job else streaming_plan(compiled.stream_graph))
        case Format.HTML:
            return plan_page(plan_of(compiled, _described(compiled)), page)
        case _:
            assert_never(format)


def has_flink_plan(graph: Graph | None) -> bool:
    """Whether Flink has a plan document for a graph: there is none for subtasks."""
    return graph is not Graph.EXECUTION


def _described(compiled: CompiledPipeline) -> PipelineDescriptor | None:
    try:
        return describe_pipeline(compiled)
    except InvalidPipelineError:  # it can be shown, although it cannot be deployed
        return None


def _flinks_graph(compiled: CompiledPipeline, graph: Graph) -> dict[str, Json]:
    match graph:
        case Graph.STREAM:
            return stream_graph_json(compiled.stream_graph, compiled.options)
        case Graph.JOB:
            return job_graph_json(compiled.job_graph)
        case Graph.EXECUTION:
            if compiled.execution_graph is None:
                raise no_execution_graph(compiled.pipeline.name)
            return {"vertices": ExecutionGraphJson(compiled.execution_graph).vertices()}
        case _:
            assert_never(graph)
