"""The whole compilation in one call, from a Pipeline to all graphs, each built once from the previous one."""

from __future__ import annotations

from graph_compiler.compiler.checks.validation import STREAM_GRAPH_CHECKS, validated_options
from graph_compiler.compiler.execution_graph.execution_graph_builder import build_execution_graph
from graph_compiler.compiler.job_graph.job_graph_generator import generate_job_graph
from graph_compiler.compiler.regions.cuts import cut_job_graph
from graph_compiler.compiler.regions.deployment_checks import check_deployment, check_named_files
from graph_compiler.compiler.regions.deployment_regions import deployment_regions
from graph_compiler.compiler.stream_graph.stream_graph_generator import generate_stream_graph
from graph_compiler.compiler.tasks.deployment_tasks import deployment_tasks
from graph_compiler.compiler.tasks.sources_read_again import read_sources_again
from graph_compiler.declaration.pipeline import Pipeline
from graph_compiler.errors import InvalidPipelineError
from graph_compiler.graphs.compiled_pipeline import CompiledPipeline
from graph_compiler.graphs.stream_graph import StreamGraph
from graph_compiler.options.modes import NO_DEPLOYMENT_OPTIONS, DeploymentOptions


def compile_pipeline(pipeline: Pipeline, deployment: DeploymentOptions = NO_DEPLOYMENT_OPTIONS) -> CompiledPipeline:
    """Compile a declaration with its deployment's options; raises InvalidPipelineError with every problem found."""
    try:
        return _compile(pipeline, deployment)
    except InvalidPipelineError as error:
        raise pipeline.placed(error) from None


def _compile(pipeline: Pipeline, deployment: DeploymentOptions) -> CompiledPipeline:
    options = validated_options(pipeline, deployment)
    stream_graph = generate_stream_graph(pipeline, options)
    job_graph = cut_job_graph(stream_graph, generate_job_graph(stream_graph, options), options)
    regions = deployment_regions(stream_graph, job_graph)
    deployment_of_regions = deployment_tasks(regions, job_graph, options)
    check_deployment(pipeline, stream_graph, job_graph)
    job_graph = read_sources_again(stream_graph, job_graph, deployment_of_regions)
    check_named_files(pipeline, stream_graph, job_graph)
    return CompiledPipeline(
        pipeline=pipeline,
        options=options,
        deployment_options=deployment,
        stream_graph=stream_graph,
        job_graph=job_graph,
        execution_graph=build_execution_graph(job_graph),
        deployment=deployment_of_regions,
    )


def compile_stream_graph(pipeline: Pipeline) -> StreamGraph:
    """Compile to the first graph only; raises InvalidPipelineError with every problem found."""
    options = validated_options(pipeline, checks=STREAM_GRAPH_CHECKS)
    return generate_stream_graph(pipeline, options)
