"""How rows move along an edge: frozen values with what the compiler needs to know about each kind.

`name` is Flink's `toString()` (part of edge ids and plans); `distribution_pattern` determines which partitions a
subtask reads; `is_forward` whether it may connect two chained operators.
To add one: a value here, and its registration in `spark_runtime/exchange/distribution.py`.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import ClassVar

from graph_compiler.declaration.functions import FunctionRef


class DistributionPattern(StrEnum):
    """Which partitions a consumer subtask reads: some (POINTWISE) or all."""

    POINTWISE = "POINTWISE"
    ALL_TO_ALL = "ALL_TO_ALL"


class ExchangeMode(StrEnum):
    """The exchange that a declaration requests; UNDEFINED leaves it to the shuffle mode (StreamExchangeMode)."""

    UNDEFINED = "UNDEFINED"
    PIPELINED = "PIPELINED"
    BATCH = "BATCH"
    HYBRID_FULL = "HYBRID_FULL"
    HYBRID_SELECTIVE = "HYBRID_SELECTIVE"


@dataclass(frozen=True, slots=True)
class Partitioner:
    """The base class; its subclasses are the kinds."""

    name: ClassVar[str]
    distribution_pattern: ClassVar[DistributionPattern] = DistributionPattern.ALL_TO_ALL
    is_forward: ClassVar[bool] = False
    is_broadcast: ClassVar[bool] = False
    is_custom: ClassVar[bool] = False
    """Whether the user's own code picks the subtask, so that nothing is known about it."""

    @property
    def label(self) -> str:
        """The form for people: `hash(carrier, dest)`, `rebalance`."""
        return self.name.lower()

    @property
    def identity(self) -> str:
        """Its identity for fingerprints: equal if rows are distributed the same way."""
        return self.label

    def expressions(self) -> tuple[str, ...]:
        """Return its SQL texts that no operator has, in which `:name` is a parameter."""
        return ()


@dataclass(frozen=True, slots=True)
class ForwardPartitioner(Partitioner):
    """Subtask i to subtask i."""

    name: ClassVar[str] = "FORWARD"
    distribution_pattern: ClassVar[DistributionPattern] = DistributionPattern.POINTWISE
    is_forward: ClassVar[bool] = True


@dataclass(frozen=True, slots=True)
class RebalancePartitioner(Partitioner):
    """Evenly over all subtasks."""

    name: ClassVar[str] = "REBALANCE"


@dataclass(frozen=True, slots=True)
class RescalePartitioner(Partitioner):
    """Evenly over a local share of the subtasks."""

    name: ClassVar[str] = "RESCALE"
    distribution_pattern: ClassVar[DistributionPattern] = DistributionPattern.POINTWISE


@dataclass(frozen=True, slots=True)
class BroadcastPartitioner(Partitioner):
    """Every row to every subtask."""

    name: ClassVar[str] = "BROADCAST"
    is_broadcast: ClassVar[bool] = True


@dataclass(frozen=True, slots=True)
class HashPartitioner(Partitioner):
    """By the hash of the key columns; of all columns if none is named.

    It is equal to another one only if keys *and* `selector` are equal: in Flink, two `keyBy` calls are two selector
    objects, and whether two edges share a data set depends on that. `selector` is the id of `key_by`'s transformation.
    """

    name: ClassVar[str] = "HASH"
    keys: tuple[str, ...]
    selector: int

    @property
    def label(self) -> str:
        return f"hash({', '.join(self.keys) or 'all columns'})"


@dataclass(frozen=True, slots=True)
class RangePartitioner(Partitioner):
    """By ranges of an order, so that partition i comes before partition i + 1; not in Flink, for global sorts."""

    name: ClassVar[str] = "RANGE"
    order_by: tuple[str, ...]

    @property
    def label(self) -> str:
        return f"range({', '.join(self.order_by)})"


@dataclass(frozen=True, slots=True)
class ShufflePartitioner(Partitioner):
    """At random."""

    name: ClassVar[str] = "SHUFFLE"


@dataclass(frozen=True, slots=True)
class GlobalPartitioner(Partitioner):
    """Everything to the first subtask."""

    name: ClassVar[str] = "GLOBAL"


@dataclass(frozen=True, slots=True)
class CustomPartitioner(Partitioner):
    """By an expression that returns the partition number, modulo the parallelism.

    Two are equal only if expression and `selector` are, as for HashPartitioner.
    """

    name: ClassVar[str] = "CUSTOM"
    is_custom: ClassVar[bool] = True
    expression: str
    selector: int

    @property
    def label(self) -> str:
        return f"custom({self.expression})"

    def expressions(self) -> tuple[str, ...]:
        return (self.expression,)


@dataclass(frozen=True, slots=True)
class FunctionPartitioner(Partitioner):
    """By a function `(key, number of partitions) -> partition`: Flink's Partitioner. A number out of range is an error.

    The key is the value of the key column, or a tuple of several values. Equality is as for HashPartitioner.
    """

    name: ClassVar[str] = "CUSTOM"
    is_custom: ClassVar[bool] = True
    function: FunctionRef
    keys: tuple[str, ...]
    selector: int

    @property
    def label(self) -> str:
        return f"custom({self.function} of {', '.join(self.keys)})"

    @property
    def identity(self) -> str:
        return f"{self.label} {self.function.source_digest}"


@dataclass(frozen=True, slots=True)
class ForwardForConsecutiveHashPartitioner(ForwardPartitioner):
    """Forward between two operators with the same hash, if the graph is dynamic; otherwise `hash_partitioner`."""

    hash_partitioner: HashPartitioner


@dataclass(frozen=True, slots=True)
class ForwardForUnspecifiedPartitioner(ForwardPartitioner):
    """The default partitioner of a dynamic graph: forward inside a chain, rescale between chains."""
