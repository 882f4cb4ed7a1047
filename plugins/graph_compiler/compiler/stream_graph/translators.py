"""One translator for each kind of transformation, with a streaming and a batch side.

A translator adds nodes, virtual nodes and edges to the draft, and returns the ids that represent its transformation:
that of a stream node, or those of virtual nodes. To add one: a function, and its row in `TRANSLATORS`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import TypeAlias

from graph_compiler.compiler.stream_graph.sink_expansion import SinkExpansion
from graph_compiler.compiler.stream_graph.stream_graph_draft import StreamGraphDraft
from graph_compiler.declaration.operators import ChainingStrategy, Sink
from graph_compiler.declaration.partitioners import ExchangeMode
from graph_compiler.declaration.transformations import (
    FeedbackTransformation,
    MultipleInputTransformation,
    OneInputTransformation,
    PartitionTransformation,
    SideOutputTransformation,
    SinkTransformation,
    SourceTransformation,
    Transformation,
    TwoInputTransformation,
    UnionTransformation,
)

Keyed: TypeAlias = OneInputTransformation | TwoInputTransformation | SinkTransformation
Translate = Callable[[StreamGraphDraft, Transformation], tuple[int, ...]]


@dataclass(frozen=True, slots=True, kw_only=True)
class TransformationTranslator:
    """How one kind of transformation is translated (Flink's TransformationTranslator)."""

    for_batch: Translate
    for_streaming: Translate


def _source(draft: StreamGraphDraft, transformation: Transformation) -> tuple[int, ...]:
    assert isinstance(transformation, SourceTransformation)
    draft.source_ids.append(transformation.id)
    return draft.add_node(transformation, name=f"Source: {transformation.name}")


def _one_input(draft: StreamGraphDraft, transformation: Transformation) -> tuple[int, ...]:
    assert isinstance(transformation, OneInputTransformation)
    ids = draft.add_node(transformation, name=transformation.name, keys=transformation.state_keys)
    draft.add_input(transformation.id, transformation.inputs[0], type_number=0)
    return ids


def _several_inputs(draft: StreamGraphDraft, transformation: Transformation) -> tuple[int, ...]:
    assert isinstance(transformation, TwoInputTransformation | MultipleInputTransformation)
    keys = transformation.state_keys if isinstance(transformation, TwoInputTransformation) else ()
    ids = draft.add_node(transformation, name=transformation.name, keys=keys)
    for number, input_id in enumerate(transformation.inputs, start=1):
        draft.add_input(transformation.id, input_id, type_number=number)
    return ids


def _sink(draft: StreamGraphDraft, transformation: Transformation) -> tuple[int, ...]:
    assert isinstance(transformation, SinkTransformation)
    ids = draft.add_node(transformation, name=f"Sink: {transformation.name}", keys=transformation.state_keys)
    draft.sink_ids.append(transformation.id)
    draft.add_input(transformation.id, transformation.inputs[0], type_number=0)
    return ids


def _expanding(side: Callable[[TransformationTranslator], Translate], legacy: Translate) -> Translate:
    """Expand sinks with a writer during translation, as Flink does: ids of what they add come after all existing ones.

    `side` chooses how the parts are translated. Their results are committed in BATCH between writer and committer, and
    after the committer. No operator reads a sink.
    """

    def translate_sink(draft: StreamGraphDraft, transformation: Transformation) -> tuple[int, ...]:
        assert isinstance(transformation, SinkTransformation)
        assert isinstance(transformation.operator, Sink)
        if not transformation.operator.has_writer:
            return legacy(draft, transformation)
        for part in SinkExpansion(draft, transformation).parts():
            draft.translated[part.id] = side(TRANSLATORS[type(part)])(draft, part)
        return ()

    return translate_sink


def _starting_a_chain(translate: Translate, applies: Callable[[Keyed], bool]) -> Translate:
    """Start a chain with a keyed operator: Flink sorts its input, so it cannot be chained to the operator before."""

    def translate_head(draft: StreamGraphDraft, transformation: Transformation) -> tuple[int, ...]:
        assert isinstance(transformation, Keyed)
        lowered = (ChainingStrategy.ALWAYS, ChainingStrategy.HEAD_WITH_SOURCES)
        if transformation.state_keys and applies(transformation) and transformation.chaining_strategy in lowered:
            transformation = replace(transformation, chaining_strategy=ChainingStrategy.HEAD)
        return translate(draft, transformation)

    return translate_head


def _keyed(translate: Translate) -> TransformationTranslator:
    """Start a chain: in batch, unless the operator sorts its input; in streaming, if it waits for the end anyway."""
    return TransformationTranslator(
        for_batch=_starting_a_chain(translate, lambda keyed: not keyed.operator.attributes.sorts_input),
        for_streaming=_starting_a_chain(translate, lambda keyed: keyed.operator.attributes.outputs_only_after_end),
    )


def _union(draft: StreamGraphDraft, transformation: Transformation) -> tuple[int, ...]:
    return tuple(id for input_id in transformation.inputs for id in draft.translated[input_id])


def _side_output(draft: StreamGraphDraft, transformation: Transformation) -> tuple[int, ...]:
    assert isinstance(transformation, SideOutputTransformation)
    return tuple(
        draft.add_virtual_side_output(id, transformation.tag) for id in draft.translated[transformation.inputs[0]]
    )


def _partition(draft: StreamGraphDraft, transformation: Transformation) -> tuple[int, ...]:
    assert isinstance(transformation, PartitionTransformation)
    return tuple(draft.add_virtual_partition(id, transformation) for id in draft.translated[transformation.inputs[0]])


def _partition_in_streaming(draft: StreamGraphDraft, transformation: Transformation) -> tuple[int, ...]:
    assert isinstance(transformation, PartitionTransformation)
    if transformation.exchange_mode is ExchangeMode.BATCH:
        transformation = replace(transformation, exchange_mode=ExchangeMode.UNDEFINED)
    return _partition(draft, transformation)


def _feedback(draft: StreamGraphDraft, transformation: Transformation) -> tuple[int, ...]:
    """Return the inputs and the iteration's head; the generator closes the iteration after translating its feedback."""
    assert isinstance(transformation, FeedbackTransformation)
    return (*draft.translated[transformation.inputs[0]], draft.add_iteration(transformation))


def _either(translate: Translate) -> TransformationTranslator:
    return TransformationTranslator(for_batch=translate, for_streaming=translate)


TRANSLATORS: Mapping[type[Transformation], TransformationTranslator] = {
    SourceTransformation: _either(_source),
    OneInputTransformation: _keyed(_one_input),
    TwoInputTransformation: _keyed(_several_inputs),
    MultipleInputTransformation: _either(_several_inputs),
    SinkTransformation: TransformationTranslator(
        for_batch=_expanding(lambda translator: translator.for_batch, _keyed(_sink).for_batch),
        for_streaming=_expanding(lambda translator: translator.for_streaming, _keyed(_sink).for_streaming),
    ),
    UnionTransformation: _either(_union),
    SideOutputTransformation: _either(_side_output),
    PartitionTransformation: TransformationTranslator(for_batch=_partition, for_streaming=_partition_in_streaming),
    FeedbackTransformation: _either(_feedback),
}
