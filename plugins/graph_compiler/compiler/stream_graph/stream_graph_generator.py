"""Pipeline → StreamGraph: translate the transformations, each once, after its inputs.

sink(5) → filter(2) → source(1)       roots are walked in declaration order, their inputs before them
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from graph_compiler.compiler.checks.operator_checks import job_type
from graph_compiler.compiler.checks.resource_profiles import profiles_in
from graph_compiler.compiler.stream_graph.staging_wishes import with_staging_wishes
from graph_compiler.compiler.stream_graph.stream_graph_draft import StreamGraphDraft
from graph_compiler.compiler.stream_graph.translators import TRANSLATORS
from graph_compiler.declaration.pipeline import Pipeline
from graph_compiler.declaration.transformations import FeedbackTransformation, Transformation
from graph_compiler.errors import InvalidPipelineError
from graph_compiler.graphs.stream_graph import JobType, StreamGraph
from graph_compiler.graphs.topology import post_order
from graph_compiler.options.model import PipelineOptions
from graph_compiler.options.modes import Scheduler


def generate_stream_graph(pipeline: Pipeline, options: PipelineOptions) -> StreamGraph:
    """Translate a validated pipeline; raises InvalidPipelineError with every problem that translation finds."""
    decided = job_type(pipeline, options)
    is_dynamic = decided is JobType.BATCH and options.scheduler is Scheduler.ADAPTIVE_BATCH
    by_id = {transformation.id: transformation for transformation in pipeline.transformations}
    roots = [
        transformation.id for transformation in pipeline.transformations if transformation.is_root
    ]
    draft = StreamGraphDraft(options=options, is_dynamic=is_dynamic, last_id=max(by_id))
    _translate(roots, by_id, draft, decided)
    if draft.problems:
        raise InvalidPipelineError(pipeline.name, draft.problems)
    graph = StreamGraph(
        job_name=pipeline.name,
        job_type=decided,
        is_dynamic=is_dynamic,
        nodes=tuple(draft.nodes.values()),
        edges=tuple(draft.edges),
        virtual_nodes=tuple(draft.virtual.values()),
        source_ids=tuple(sorted(draft.source_ids)),
        sink_ids=tuple(sorted(draft.sink_ids)),
        resource_profiles=profiles_in(pipeline),
    )
    return with_staging_wishes(graph)


def _translate(
    ids: Sequence[int],
    by_id: Mapping[int, Transformation],
    draft: StreamGraphDraft,
    kind: JobType,
) -> None:
    """Translate transformations and their inputs, each once.

    The feedback of an iteration is translated immediately after it, even if other consumers were declared earlier:
    Flink translates it with the iteration.
    """
    for id in post_order(ids, lambda id: by_id[id].inputs):
        if id in draft.translated:
            continue
        transformation = by_id[id]
        translator = TRANSLATORS[type(transformation)]
        translate = translator.for_batch if kind is JobType.BATCH else translator.for_streaming
        draft.translated[id] = translate(draft, transformation)
        if isinstance(transformation, FeedbackTransformation):
            head_id = draft.translated[id][-1]
            _translate(transformation.feedback, by_id, draft, kind)
            draft.close_iteration(transformation, head_id, tail_id=head_id - 1)
