"""Operators of other packages with each chaining strategy, in each place: deployed, or refused with the place."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graph_compiler import Csv, DataStream, InvalidPipelineError, Parquet, StreamExecutionEnvironment
from graph_compiler.compiler.pipeline_compiler import compile_pipeline
from graph_compiler.declaration.operators import ChainingStrategy, Operator, OperatorAttributes
from graph_compiler.deployment.describe.region_descriptors import describe_regions
from graph_compiler.explain.render import Format, Graph, render
from tests.harness.registered_kinds import register

FLAGS: dict[str, dict[str, object]] = {
    "Plain": {},
    "Gathering": {"gathers": True},
    "Single": {"is_non_parallel": True},
    "WithoutFactory": {"has_factory": False},
    "ByKey": {"distributes_itself": False},
}


def kind_of(name: str, strategy: ChainingStrategy, flags: dict[str, object]) -> type[Operator]:
    """Return an operator of another package, which a document finds by its name in this module."""
    fields = {"chaining_strategy": strategy, "default_name": "Foreign", "__module__": __name__, **flags}
    kind: type[Operator] = dataclass(frozen=True)(type(f"{name}_{strategy.name}", (Operator,), fields))
    globals()[kind.__name__] = kind
    return kind


KINDS = tuple(kind_of(name, strategy, flags) for name, flags in FLAGS.items() for strategy in ChainingStrategy)
ATTRIBUTES = (
    OperatorAttributes(),
    OperatorAttributes(is_yielding=True),
    OperatorAttributes(outputs_only_after_end=True),
    OperatorAttributes(sorts_input=True),
    OperatorAttributes(output_tags=("rest",)),
)
BEFORE: dict[str, Callable[[DataStream], DataStream]] = {
    "a source": lambda s: s,
    "an operator": lambda s: s.filter("x > 1"),
    "an exchange": lambda s: s.rebalance(),
    "keys": lambda s: s.key_by("x"),
    "a cut": lambda s: s.stage("expensive"),
    "an edge in memory": lambda s: s.pipelined("small"),
    "a side output": lambda s: s.filter("x > 1", rejects="rest").get_side_output("rest"),
    "a union": lambda s: s.union(s.filter("x > 2")),
    "another operator of a package": lambda s: s.apply(KINDS[0]()),
    "a source with its own parallelism": lambda s: s.set_parallelism(3),
    "another slot sharing group": lambda s: s.slot_sharing_group("big"),
}
INPUTS = (1, 2, 3)
AFTER: dict[str, Callable[[DataStream, DataStream], DataStream]] = {
    "a sink": lambda s, _: s,
    "an operator": lambda s, _: s.filter("x > 3"),
    "a join with a source": lambda s, o: s.join(o, on="x"),
    "a cut": lambda s, _: s.stage("expensive").filter("x > 3"),
    "another reader of its source": lambda s, o: s.union(o),
}
CONFIGS: tuple[dict[str, str], ...] = (
    {},
    {"execution.batch-shuffle-mode": "ALL_EXCHANGES_BLOCKING"},
    {"execution.batch-shuffle-mode": "ALL_EXCHANGES_PIPELINED"},
    {"pipeline.operator-chaining.enabled": "false"},
    {"parallelism.default": "4"},
)


@contextmanager
def registered() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        register(patch, *KINDS)
        yield


def declare(operator: Operator, before: str, inputs: int, after: str, config: dict[str, str]) -> DataStream:
    env = StreamExecutionEnvironment("p", config=config)
    sources = [env.from_source(Csv(f"/in/{n}", schema="x INT"), f"in_{n}") for n in range(inputs)]
    streams = [BEFORE[before](source) for source in sources]
    foreign = streams[0].apply(operator, *streams[1:]).name("foreign")
    AFTER[after](foreign, sources[0]).sink_to(Parquet("/out")).name("out")
    return foreign


@given(
    st.sampled_from(KINDS),
    st.sampled_from(ATTRIBUTES),
    st.sampled_from(sorted(BEFORE)),
    st.sampled_from(INPUTS),
    st.sampled_from(sorted(AFTER)),
    st.sampled_from(CONFIGS),
)
def test_a_strategy_is_deployed_or_refused_with_its_place_and_every_graph_is_shown(
    kind: type[Operator], attributes: OperatorAttributes, before: str, inputs: int, after: str, config: dict[str, str]
) -> None:
    with registered():
        # An operator with one subtask reads one stream.
        number = 1 if kind.is_non_parallel else inputs
        env = declare(kind(attributes=attributes), before, number, after, config).environment
        compiled = compile_pipeline(env.pipeline())
        for graph in (None, *Graph):
            for format in (Format.TEXT, Format.JSON):
                assert render(compiled, graph, format)
        if kind.chaining_strategy is not ChainingStrategy.HEAD_WITH_SOURCES:
            names = [one.name for region in describe_regions(compiled) for one in region.operators]
            assert "foreign" in names
            return
        with pytest.raises(InvalidPipelineError) as caught:
            describe_regions(compiled)
    (problem,) = caught.value.problems
    assert problem.operator == "foreign"
    assert "HEAD_WITH_SOURCES" in problem.message
    assert problem.allowed == "ALWAYS, NEVER, HEAD"
    assert problem.declared_at is not None
