"""Random well-formed pipelines, as plain plans that become declarations: the same plan can be declared again."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from hypothesis import strategies as st

from graph_compiler import Csv, DataStream, Parquet, StreamExecutionEnvironment

GROUPS = (None, None, None, "big", "small")


@dataclass(frozen=True)
class Step:
    """One operator: its kind, which earlier streams it reads, and its settings."""

    kind: str
    inputs: tuple[int, ...]
    parallelism: int | None
    group: str | None
    staged: bool
    expensive: bool
    chaining: str | None
    pipelined: bool = False
    same_task: bool = False
    pinned: bool = False


@st.composite
def plans(
    draw: st.DrawFn,
    *,
    groups: bool = True,
    stages: bool = True,
    pipelines: bool = False,
    same_tasks: bool = False,
    pins: bool = False,
) -> tuple[Step, ...]:
    """Draw 1 to 12 steps; each reads streams that come before it.

    `same_tasks` draws whether a staged step asks for one task, `pins` whether a sink pins its task id.
    """
    steps: list[Step] = []
    for number in range(draw(st.integers(1, 12))):
        kinds = ["source", "filter", *OPERATORS] if steps else ["source"]
        kind = draw(st.sampled_from(kinds))
        width = {"source": 0, "join": 2, "union": 2, "in": 2}.get(kind, 1)
        steps.append(
            Step(
                kind=kind,
                inputs=tuple(draw(st.integers(0, number - 1)) for _ in range(width)),
                parallelism=draw(st.sampled_from([None, None, 1, 2, 3])),
                group=draw(st.sampled_from(GROUPS)) if groups else None,
                staged=stages and draw(st.booleans()) and draw(st.booleans()),
                expensive=stages and draw(st.integers(0, 7)) == 0,
                chaining=draw(st.sampled_from([None, None, None, "disable", "new"])),
                pipelined=pipelines and draw(st.booleans()),
                same_task=same_tasks and draw(st.booleans()),
                pinned=pins and draw(st.integers(0, 3)) == 0,
            )
        )
    return tuple(steps)


def declare(plan: tuple[Step, ...], order: Sequence[int] | None = None, **config: str) -> StreamExecutionEnvironment:
    """Declare a plan; every stream nobody reads ends in a sink. `order` has each step behind those it reads."""
    keys = {
        "shuffle_mode": "execution.batch-shuffle-mode",
        "chaining": "pipeline.operator-chaining.enabled",
        "task_sharing": "execution.task-sharing",
    }
    env = StreamExecutionEnvironment("p", config={keys[key]: value for key, value in config.items()})
    streams: dict[int, DataStream] = {}
    for number in order or range(len(plan)):
        stream = _stream(plan[number], number, streams, env)
        if plan[number].staged:
            stream = stream.stage(f"step {number}", same_task=plan[number].same_task)
        elif plan[number].pipelined:
            stream = stream.pipelined(f"step {number}")
        streams[number] = stream
    read = {input for step in plan for input in step.inputs}
    for number, stream in streams.items():
        if number not in read:
            sink = stream.rescale().sink_to(Parquet(f"/out/{number}")).name(f"out_{number}")
            sink.uid(f"uid-out-{number}")
            if plan[number].pinned:
                sink.task_id(f"pinned_{number}")
    return env


OPERATORS: dict[str, Callable[[int, list[DataStream]], DataStream]] = {
    "filter": lambda _, inputs: inputs[0].rescale().filter("x > 0"),
    "aggregate": lambda _, inputs: inputs[0].key_by("x").aggregate(n="count(*)"),
    "join": lambda _, inputs: inputs[0].join(inputs[1], on="x"),
    "union": lambda _, inputs: inputs[0].union(inputs[1]).rebalance().filter("x > 1"),
    "side": lambda number, inputs: (
        inputs[0].rebalance().filter("x > 0", rejects="rest").name(f"kept_{number}").get_side_output("rest").rebalance()
    ).filter("x < 0"),
    "shuffle": lambda _, inputs: inputs[0].shuffle().filter("x > 2"),
    "total": lambda number, inputs: inputs[0].expect_rows(f"total_{number}", at_least=1, on_violation="fail"),
    "in": lambda number, inputs: inputs[0].expect_in(f"in_{number}", inputs[1], "x"),
    "expect": lambda number, inputs: inputs[0].rescale().expect(f"holds_{number}", "x > 3", on_violation="fail"),
}


def _stream(step: Step, number: int, streams: Mapping[int, DataStream], env: StreamExecutionEnvironment) -> DataStream:
    if step.kind == "source":
        stream = env.from_source(Csv(f"/in/{number}"), f"in_{number}")
    else:
        stream = OPERATORS[step.kind](number, [streams[index] for index in step.inputs])
    stream = stream.name(f"op_{number}").uid(f"uid-{number}")
    if step.parallelism is not None:
        stream.set_parallelism(step.parallelism)
    if step.group is not None:
        stream.slot_sharing_group(step.group)
    if step.expensive:
        stream.expensive()
    if step.chaining is not None:
        stream.disable_chaining() if step.chaining == "disable" else stream.start_new_chain()
    return stream
