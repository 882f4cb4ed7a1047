"""Problems of the connections between transformations."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping

from graph_compiler.compiler.checks.operator_checks import declared_parallelism, job_type, reached
from graph_compiler.declaration.operators import ContractOperator, Sink
from graph_compiler.declaration.operators.combining import INSTEAD_OF_ITERATIONS
from graph_compiler.declaration.partitioners import Partitioner
from graph_compiler.declaration.pipeline import Pipeline
from graph_compiler.declaration.transformations import (
    FeedbackTransformation,
    PartitionTransformation,
    PhysicalTransformation,
    SideOutputTransformation,
    Transformation,
    label,
    problem_at,
)
from graph_compiler.errors import Problem
from graph_compiler.graphs.stream_graph import JobType
from graph_compiler.graphs.topology import CycleError, post_order
from graph_compiler.identifiers import did_you_mean, listing
from graph_compiler.options.model import PipelineOptions


def unknown_inputs(pipeline: Pipeline) -> Iterator[Problem]:
    """Find inputs that are not transformations of the pipeline."""
    known = {transformation.id for transformation in pipeline.transformations}
    for transformation in pipeline.transformations:
        for unknown in sorted(set(transformation.inputs) - known):
            yield problem_at(transformation, f"its input {unknown} is not a transformation of this pipeline")


def unknown_partitioners(pipeline: Pipeline) -> Iterator[Problem]:
    """Find values that are not partitioners."""
    for transformation in pipeline.transformations:
        if isinstance(transformation, PartitionTransformation):
            partitioner = transformation.partitioner
            if partitioner is not None and not isinstance(partitioner, Partitioner):
                yield problem_at(
                    transformation,
                    f"{partitioner!r} is not a partitioner",
                    allowed="a value of declaration.partitioners",
                )


def cycles(pipeline: Pipeline) -> Iterator[Problem]:
    """Find a cycle that does not go through an iteration."""
    by_id = {transformation.id: transformation for transformation in pipeline.transformations}
    try:
        post_order(by_id, lambda id: [input for input in by_id[id].inputs if input in by_id])
    except CycleError as error:
        cycle = [by_id[id] for id in reversed(error.cycle) if isinstance(id, int)]
        path = " → ".join(label(transformation) for transformation in cycle)
        hint = "a dataflow has no cycles; remove one of these inputs"
        yield problem_at(cycle[0], f"it reads its own output: {path}", hint=hint)


def iterations(pipeline: Pipeline, options: PipelineOptions) -> Iterator[Problem]:
    """Find iterations that Flink refuses: in a batch job, without feedback, or with a chaining strategy."""
    if not (found := _iterations(pipeline)):
        return
    kind, read = job_type(pipeline, options), reached(pipeline)
    for iteration in found:
        if iteration.id in read and kind is JobType.BATCH:
            yield problem_at(
                iteration,
                "rows flow back into it, but the job is BATCH: as in Flink, iterations need STREAMING",
                hint=INSTEAD_OF_ITERATIONS,
            )
        if iteration.id in read and not iteration.feedback:
            yield problem_at(iteration, "nothing flows back into it", hint=INSTEAD_OF_ITERATIONS)
        if iteration.chaining_strategy is not None:
            message = (
                f"its chaining strategy is {iteration.chaining_strategy}, but the ends of a loop are never chained"
            )
            yield problem_at(iteration, message, allowed="none; set it on an operator of the loop")


def feedback(pipeline: Pipeline, options: PipelineOptions) -> Iterator[Problem]:
    """Find rows that flow back into an iteration, and do not come from it or have another parallelism."""
    if not (found := _iterations(pipeline)):
        return
    by_id = {transformation.id: transformation for transformation in pipeline.transformations}
    before = _iterations_before(by_id)
    for iteration in found:
        size = declared_parallelism(iteration, by_id, options.parallelism)
        for back in (by_id[id] for id in iteration.feedback if id in by_id):
            if before and not before[back.id] >> (before[iteration.id].bit_length() - 1) & 1:
                yield problem_at(
                    iteration,
                    f"the rows of '{label(back)}' flow back into it, but do not come from it",
                    allowed="rows that an operator of the iteration returns",
                )
            own = declared_parallelism(back, by_id, options.parallelism)
            if own != size:
                yield problem_at(
                    iteration,
                    f"its parallelism is {size}, but '{label(back)}', which flows back into it, has {own}",
                    hint="set the same parallelism on its input and on what flows back",
                )


def _iterations(pipeline: Pipeline) -> list[FeedbackTransformation]:
    return [one for one in pipeline.transformations if isinstance(one, FeedbackTransformation)]


def _iterations_before(by_id: Mapping[int, Transformation]) -> Mapping[int, int]:
    """Return the iterations that each transformation gets rows of: a bit for each, which the iteration itself sets too.

    The highest bit of an iteration is its own. Empty if there is a cycle, which another check finds.
    """
    found: dict[int, int] = {}
    own = 1
    try:
        order = post_order(by_id, lambda id: [input for input in by_id[id].inputs if input in by_id])
    except CycleError:
        return found
    for id in order:
        found[id] = 0
        for input in by_id[id].inputs:
            found[id] |= found.get(input, 0)
        if isinstance(by_id[id], FeedbackTransformation):
            found[id] |= own
            own <<= 1
    return found


def side_outputs(pipeline: Pipeline) -> Iterator[Problem]:
    """Find side outputs that their operator does not have."""
    by_id = {transformation.id: transformation for transformation in pipeline.transformations}
    for transformation in pipeline.transformations:
        if not isinstance(transformation, SideOutputTransformation):
            continue
        producer = by_id.get(transformation.inputs[0])
        if producer is None:
            continue
        tags = producer.operator.output_tags() if isinstance(producer, PhysicalTransformation) else ()
        if transformation.tag not in tags:
            yield Problem(
                operator=label(producer),
                message=f"it has no side output '{transformation.tag}'",
                allowed=listing(tags) if tags else None,
                hint=did_you_mean(transformation.tag, tags) or 'filter(…, rejects="tag") creates one',
                declared_at=transformation.declared_at,
            )


def unread_streams(pipeline: Pipeline) -> Iterator[Problem]:
    """Find sources and operators whose rows nothing reads, directly or through a virtual transformation.

    A contract is checked all the same.
    """
    hint = "apply an operator or a sink to it, or remove it"
    for source in pipeline.unread_sources:
        yield problem_at(source, "nothing reads this source", hint=hint)
    readers = _readers(pipeline)
    for operator in pipeline.operators:
        if not isinstance(operator.operator, Sink | ContractOperator) and not _is_read(operator.id, readers):
            message = "nothing reads its rows, and no sink writes them"
            yield problem_at(operator, message, hint=hint)


def _readers(pipeline: Pipeline) -> Mapping[int, list[Transformation]]:
    """Return what reads each transformation; rows that flow back are read by their iteration."""
    found: defaultdict[int, list[Transformation]] = defaultdict(list)
    for reader in pipeline.transformations:
        feedback = reader.feedback if isinstance(reader, FeedbackTransformation) else ()
        for id in (*reader.inputs, *feedback):
            found[id].append(reader)
    return found


def _is_read(id: int, readers: Mapping[int, list[Transformation]]) -> bool:
    """Whether an operator reads these rows; a virtual transformation counts if it is read itself."""
    seen, waiting = {id}, [id]
    while waiting:
        for reader in readers.get(waiting.pop(), ()):
            if isinstance(reader, PhysicalTransformation):
                return True
            if reader.id not in seen:
                seen.add(reader.id)
                waiting.append(reader.id)
    return False
