"""Pipeline → StreamGraph: translate what was declared, inputs first, each transformation once.

sink(5) → filter(2) → source(1)       roots are walked in declaration order, their inputs before them
"""

from __future__ import annotations

from graph_compiler.compiler.stream_graph_draft import StreamGraphDraft
from graph_compiler.compiler.translators import TRANSLATORS
from graph_compiler.compiler.validation import find_problems
from graph_compiler.declaration.options import RuntimeMode, read_options
from graph_compiler.declaration.pipeline import Pipeline
from graph_compiler.errors import InvalidPipelineError
from graph_compiler.graphs.stream_graph import JobType, StreamGraph
from graph_compiler.graphs.topology import post_order


def generate_stream_graph(pipeline: Pipeline) -> StreamGraph:
    """Translate a pipeline; raises InvalidPipelineError with every problem found."""
    options, option_problems = read_options(pipeline.config)
    problems = [*option_problems, *find_problems(pipeline)]
    if problems:
        raise InvalidPipelineError(pipeline.name, problems)

    by_id = {transformation.id: transformation for transformation in pipeline.transformations}
    roots = [
        transformation.id for transformation in pipeline.transformations if transformation.is_root
    ]
    is_batch = options.runtime_mode is RuntimeMode.BATCH
    draft = StreamGraphDraft(options=options, last_id=max(by_id))
    for id in post_order(roots, lambda id: by_id[id].inputs):
        translator = TRANSLATORS[type(by_id[id])]
        translate = translator.for_batch if is_batch else translator.for_streaming
        draft.translated[id] = translate(draft, by_id[id])
    if draft.problems:
        raise InvalidPipelineError(pipeline.name, draft.problems)
    return StreamGraph(
        job_name=pipeline.name,
        job_type=JobType.BATCH if is_batch else JobType.STREAMING,
        nodes=tuple(draft.nodes.values()),
        edges=tuple(draft.edges),
    )
