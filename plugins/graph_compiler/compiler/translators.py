"""One translator for each kind of transformation, with a streaming and a batch side.

A translator writes nodes, virtual nodes and edges into the draft and gives the ids that stand for its
transformation: a stream node's, or those of virtual nodes. To add one: a function, and its row in `TRANSLATORS`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from graph_compiler.compiler.stream_graph_draft import StreamGraphDraft
from graph_compiler.declaration.operators import ChainingStrategy
from graph_compiler.declaration.partitioners import ExchangeMode
from graph_compiler.declaration.transformations import (
    OneInputTransformation,
    PartitionTransformation,
    SideOutputTransformation,
    SinkTransformation,
    SourceTransformation,
    Transformation,
    TwoInputTransformation,
    UnionTransformation,
)

Translate = Callable[[StreamGraphDraft, Transformation], tuple[int, ...]]


@dataclass(frozen=True, slots=True, kw_only=True)
class TransformationTranslator:
    """How one kind of transformation is translated (Flink's TransformationTranslator)."""

    for_batch: Translate
    for_streaming: Translate


def _source(draft: StreamGraphDraft, transformation: Transformation) -> tuple[int, ...]:
    assert isinstance(transformation, SourceTransformation)
    return draft.add_node(transformation, name=f"Source: {transformation.name}")


def _one_input(draft: StreamGraphDraft, transformation: Transformation) -> tuple[int, ...]:
    assert isinstance(transformation, OneInputTransformation)
    ids = draft.add_node(transformation, name=transformation.name, keys=transformation.state_keys)
    draft.add_input(transformation, transformation.inputs[0], type_number=0)
    return ids


def _two_input(draft: StreamGraphDraft, transformation: Transformation) -> tuple[int, ...]:
    assert isinstance(transformation, TwoInputTransformation)
    ids = draft.add_node(transformation, name=transformation.name, keys=transformation.state_keys)
    for number, input_id in enumerate(transformation.inputs, start=1):
        draft.add_input(transformation, input_id, type_number=number)
    return ids


def _sink(draft: StreamGraphDraft, transformation: Transformation) -> tuple[int, ...]:
    assert isinstance(transformation, SinkTransformation)
    ids = draft.add_node(transformation, name=f"Sink: {transformation.name}")
    draft.add_input(transformation, transformation.inputs[0], type_number=0)
    return ids


def _keyed_starts_a_chain(translate: Translate) -> Translate:
    """Let a keyed operator of a batch job start a chain: Flink sorts its input, so nothing may run into it."""

    def translate_in_batch(
        draft: StreamGraphDraft, transformation: Transformation
    ) -> tuple[int, ...]:
        assert isinstance(transformation, OneInputTransformation | TwoInputTransformation)
        lowered = (ChainingStrategy.ALWAYS, ChainingStrategy.HEAD_WITH_SOURCES)
        if transformation.state_keys and transformation.chaining_strategy in lowered:
            transformation = replace(transformation, chaining_strategy=ChainingStrategy.HEAD)
        return translate(draft, transformation)

    return translate_in_batch


def _union(draft: StreamGraphDraft, transformation: Transformation) -> tuple[int, ...]:
    return tuple(id for input_id in transformation.inputs for id in draft.translated[input_id])


def _side_output(draft: StreamGraphDraft, transformation: Transformation) -> tuple[int, ...]:
    assert isinstance(transformation, SideOutputTransformation)
    return tuple(
        draft.add_virtual_side_output(id, transformation.tag)
        for id in draft.translated[transformation.inputs[0]]
    )


def _partition(draft: StreamGraphDraft, transformation: Transformation) -> tuple[int, ...]:
    assert isinstance(transformation, PartitionTransformation)
    return tuple(
        draft.add_virtual_partition(id, transformation)
        for id in draft.translated[transformation.inputs[0]]
    )


def _partition_in_streaming(
    draft: StreamGraphDraft, transformation: Transformation
) -> tuple[int, ...]:
    assert isinstance(transformation, PartitionTransformation)
    if transformation.exchange_mode is ExchangeMode.BATCH:
        transformation = replace(transformation, exchange_mode=ExchangeMode.UNDEFINED)
    return _partition(draft, transformation)


def _either(translate: Translate) -> TransformationTranslator:
    return TransformationTranslator(for_batch=translate, for_streaming=translate)


TRANSLATORS: Mapping[type[Transformation], TransformationTranslator] = {
    SourceTransformation: _either(_source),
    OneInputTransformation: TransformationTranslator(
        for_batch=_keyed_starts_a_chain(_one_input), for_streaming=_one_input
    ),
    TwoInputTransformation: TransformationTranslator(
        for_batch=_keyed_starts_a_chain(_two_input), for_streaming=_two_input
    ),
    SinkTransformation: _either(_sink),
    UnionTransformation: _either(_union),
    SideOutputTransformation: _either(_side_output),
    PartitionTransformation: TransformationTranslator(
        for_batch=_partition, for_streaming=_partition_in_streaming
    ),
}
