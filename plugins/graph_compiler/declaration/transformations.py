"""The user's declaration: frozen values that refer to their inputs by id.

    source(1) ← filter(2) ← key_by(3) ← aggregate(4) ← sink(5)

Ids are counted by the environment, one for each call that makes a transformation, as in Flink. Virtual transformations
(union, partition, side output) do not become operators; the compiler resolves them into edges.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

from graph_compiler.declaration.operators import ChainingStrategy, Operator, OperatorSettings
from graph_compiler.declaration.partitioners import ExchangeMode, Partitioner
from graph_compiler.errors import Problem, SourceLocation


@dataclass(frozen=True, slots=True, kw_only=True)
class Transformation:
    """The base class; its subclasses are the kinds."""

    is_root: ClassVar[bool] = False
    """Whether it is translated even if nothing reads it (in Flink: registered with the environment)."""

    id: int
    inputs: tuple[int, ...] = ()
    declared_at: SourceLocation | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class PhysicalTransformation(Transformation):
    """A transformation that becomes a stream node."""

    is_root: ClassVar[bool] = True

    name: str
    operator: Operator
    settings: OperatorSettings = field(default=OperatorSettings())
    chaining_strategy: ChainingStrategy


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceTransformation(PhysicalTransformation):
    """No input."""

    is_root: ClassVar[bool] = False


@dataclass(frozen=True, slots=True, kw_only=True)
class OneInputTransformation(PhysicalTransformation):
    """One input; keyed by `state_keys` if there are any.

    `inherits_parallelism`: if none is set, it has its input's, not the pipeline's.
    """

    state_keys: tuple[str, ...] = ()
    inherits_parallelism: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class TwoInputTransformation(PhysicalTransformation):
    """Two inputs, left and right; keyed by `state_keys` if there are any.

    `state_keys` belong to every input that is partitioned by key.
    """

    state_keys: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class MultipleInputTransformation(PhysicalTransformation):
    """Any number of separate inputs; with HEAD_WITH_SOURCES, sources join its chain."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FeedbackTransformation(Transformation):
    """Virtual: its input, and the rows that flow back from `feedback` (iteration), which must have at least one.

    Of the settings, head and tail take the resources and both parallelisms. If no parallelism is set, they have their
    input's. A chaining strategy is refused, since neither is ever chained.
    """

    feedback: tuple[int, ...] = ()
    settings: OperatorSettings = field(default=OperatorSettings())
    chaining_strategy: ChainingStrategy | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SinkOperator:
    """An operator that a sink adds. If its operator is a sink with a writer, that sink is expanded, too."""

    name: str
    operator: Operator
    uid: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SinkTopology:
    """What a sink adds around its writer (Flink's Sink V2): its own partitions and operators, and a committer.

    `pre_commit` is between writer and committer, `post_commit` after the committer.
    """

    pre_write: tuple[Partitioner | SinkOperator, ...] = ()
    has_committer: bool = False
    pre_commit: tuple[Partitioner | SinkOperator, ...] = ()
    post_commit: tuple[Partitioner | SinkOperator, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class SinkTransformation(PhysicalTransformation):
    """One input, no output; keyed by `state_keys` if there are any. A sink without a writer has no `topology`."""

    state_keys: tuple[str, ...] = ()
    topology: SinkTopology = field(default=SinkTopology())


@dataclass(frozen=True, slots=True, kw_only=True)
class UnionTransformation(Transformation):
    """Virtual: the rows of all inputs."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SideOutputTransformation(Transformation):
    """Virtual: the rows of its input's side output `tag`."""

    tag: str


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionTransformation(Transformation):
    """Virtual: how rows move from here. `partitioner` None leaves the choice to the compiler.

    If `exchange_mode` is BATCH, the rows are staged in every shuffle mode, as in Flink; with a `staging_text`, the
    user's from `.stage(reason, same_task)`, in all but ALL_EXCHANGES_PIPELINED. A `pipelining_text`, from
    `.pipelined(reason)`, makes an edge PIPELINED, whatever the partitions before it require.
    """

    partitioner: Partitioner | None
    exchange_mode: ExchangeMode = ExchangeMode.UNDEFINED
    staging_text: str | None = None
    same_task: bool = False
    pipelining_text: str | None = None


def label(transformation: Transformation) -> str:
    """Return the name of a transformation, or its kind if it has none."""
    if isinstance(transformation, PhysicalTransformation):
        return transformation.name
    return type(transformation).__name__.removesuffix("Transformation").lower()


def problem_at(
    transformation: Transformation, message: str, *, allowed: str | None = None, hint: str | None = None
) -> Problem:
    """Return a problem of a transformation, with its name and the line that declared it."""
    return Problem(
        operator=label(transformation),
        message=message,
        allowed=allowed,
        hint=hint,
        declared_at=transformation.declared_at,
    )
