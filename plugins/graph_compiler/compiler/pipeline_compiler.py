"""The whole way as one call: Pipeline → every graph, each made once and from the one before."""

from __future__ import annotations

from graph_compiler.compiler.deployment_regions import deployment_regions
from graph_compiler.compiler.execution_graph_builder import build_execution_graph
from graph_compiler.compiler.job_graph_generator import generate_job_graph
from graph_compiler.compiler.pipelined_regions import logical_pipelined_regions
from graph_compiler.compiler.stream_graph_generator import generate_stream_graph
from graph_compiler.declaration.options import read_options
from graph_compiler.declaration.pipeline import Pipeline
from graph_compiler.graphs.compiled_pipeline import CompiledPipeline


def compile_pipeline(pipeline: Pipeline) -> CompiledPipeline:
    """Compile a declaration; raises InvalidPipelineError with every problem found."""
    stream_graph = generate_stream_graph(pipeline)
    options, _ = read_options(pipeline.config)
    job_graph = generate_job_graph(stream_graph, options)
    return CompiledPipeline(
        pipeline=pipeline,
        options=options,
        stream_graph=stream_graph,
        job_graph=job_graph,
        execution_graph=build_execution_graph(job_graph),
        logical_regions=logical_pipelined_regions(job_graph),
        deployment=deployment_regions(stream_graph, job_graph, options),
    )
