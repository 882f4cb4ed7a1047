"""The fluent API: each call adds one transformation to the environment and gives the stream behind it.

A stream is the environment and one id, nothing else; settings (`name`, `uid`, …) apply to the operator that
made the stream, as in PyFlink.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Literal

from graph_compiler.declaration.connectors import Connector, SinkMode
from graph_compiler.declaration.declared import Declared
from graph_compiler.declaration.functions import IMPORTABLE, WHERE_TO_MOVE, FunctionRef
from graph_compiler.declaration.locations import caller_location
from graph_compiler.declaration.operators import (
    Aggregate,
    Filter,
    Join,
    JoinType,
    Operator,
    Select,
    Sink,
    Transform,
    WithColumns,
)
from graph_compiler.declaration.partitioners import (
    BroadcastPartitioner,
    CustomPartitioner,
    ForwardPartitioner,
    GlobalPartitioner,
    HashPartitioner,
    Partitioner,
    RebalancePartitioner,
    RescalePartitioner,
    ShufflePartitioner,
)
from graph_compiler.declaration.transformations import (
    OneInputTransformation,
    PartitionTransformation,
    SideOutputTransformation,
    SinkTransformation,
    TwoInputTransformation,
    UnionTransformation,
)
from graph_compiler.errors import FunctionNotImportableError
from graph_compiler.identifiers import listing

if TYPE_CHECKING:
    from graph_compiler.declaration.environment import StreamExecutionEnvironment


_NO_MERGE = "to merge rows by key, join them with what is there and overwrite it: no connector replaces single rows"


class DataStreamSink(Declared):
    """The end of a stream."""


class DataStream(Declared):
    """Rows with named columns."""

    def filter(self, condition: str, *, rejects: str | None = None) -> DataStream:
        """Keep the rows for which `condition` is true; the others can be had as `get_side_output(rejects)`."""
        return self._one_input(Filter(condition, rejects))

    def select(self, *columns: str, **expressions: str) -> DataStream:
        """Keep these columns, then give each named expression: `select("carrier", late="arr_delay > 15")`."""
        named = tuple((column, f"`{column}`") for column in columns)
        return self._one_input(Select(named + tuple(expressions.items())))

    def with_columns(
        self, columns: Mapping[str, str] | None = None, /, **expressions: str
    ) -> DataStream:
        """Add or replace columns: `with_columns(late="arr_delay > 15")`; a mapping for names Python cannot write."""
        return self._one_input(WithColumns((*(columns or {}).items(), *expressions.items())))

    def transform(self, function: Callable[..., object]) -> DataStream:
        """Apply an importable function from DataFrame to DataFrame; raises InvalidPipelineError for a lambda."""
        try:
            return self._one_input(Transform(FunctionRef.of(function)))
        except FunctionNotImportableError as error:
            self.refuse(
                f"transform cannot take this function: {error}",
                allowed=IMPORTABLE,
                hint=WHERE_TO_MOVE,
            )

    def key_by(self, *columns: str) -> KeyedStream:
        """Bring rows with equal values of `columns` together."""
        if not columns or not all(isinstance(column, str) for column in columns):
            self.refuse(
                f"key_by was given {listing(map(repr, columns))}",
                allowed='names of columns: key_by("a", "b")',
            )
        id = self.environment.next_id()
        self._partition(HashPartitioner(columns, id), id=id)
        return KeyedStream(self.environment, id, columns)

    def join(
        self,
        other: DataStream,
        on: str | Sequence[str],
        *,
        how: Literal["inner", "left", "right", "full", "semi", "anti"] = "inner",
    ) -> DataStream:
        """Join where the columns `on` are equal.

        A side that went through `broadcast()` is sent whole to every partition of the other, and nothing is shuffled.
        """
        keys = (on,) if isinstance(on, str) else tuple(on)
        if how not in set(JoinType):
            self.refuse(f"there is no join '{how}'", allowed=listing(JoinType))
        self._check_streams(other)
        inputs = (self, other)
        # A broadcast side meets every key wherever it is: then neither side needs to be partitioned by key.
        if not any(stream._is_broadcast() for stream in inputs):
            inputs = (self.key_by(*keys), other.key_by(*keys))
        operator = Join(keys, JoinType(how))
        return self.environment.add(
            TwoInputTransformation(
                id=self.environment.next_id(),
                inputs=tuple(stream.id for stream in inputs),
                name=operator.default_name,
                operator=operator,
                chaining_strategy=operator.chaining_strategy,
                state_keys=() if inputs == (self, other) else keys,
                declared_at=caller_location(),
            )
        )

    def union(self, *others: DataStream) -> DataStream:
        """Put the rows of several streams with the same columns together; duplicates stay."""
        self._check_streams(*others)
        inputs = (self.id, *(other.id for other in others))
        transformation = UnionTransformation(
            id=self.environment.next_id(), inputs=inputs, declared_at=caller_location()
        )
        return self.environment.add(transformation)

    def get_side_output(self, tag: str) -> DataStream:
        """Give the rows the operator put aside under `tag`."""
        transformation = SideOutputTransformation(
            id=self.environment.next_id(), inputs=(self.id,), tag=tag, declared_at=caller_location()
        )
        return self.environment.add(transformation)

    def stage(self, reason: str) -> DataStream:
        """Commit these rows to durable storage before anything reads them: a cut between two Airflow tasks.

        `reason` is shown wherever the cut is. Only ALL_EXCHANGES_PIPELINED, which asks for one task, overrides it.
        """
        if not reason.strip():
            self.refuse(
                "stage() was given no reason", allowed="words for whoever asks why the cut is there"
            )
        return self._partition(None, staging_reason=reason)

    def rebalance(self) -> DataStream:
        """Spread the rows evenly over all partitions of the next operator."""
        return self._partition(RebalancePartitioner())

    def shuffle(self) -> DataStream:
        """Spread the rows at random over all partitions of the next operator."""
        return self._partition(ShufflePartitioner())

    def global_(self) -> DataStream:
        """Send every row to the first partition of the next operator."""
        return self._partition(GlobalPartitioner())

    def partition_custom(self, expression: str) -> DataStream:
        """Send each row to the partition an integer expression gives, modulo the next operator's partitions."""
        id = self.environment.next_id()
        return self._partition(CustomPartitioner(expression, id), id=id)

    def rescale(self) -> DataStream:
        """Spread each partition's rows over a share of the next operator's partitions."""
        return self._partition(RescalePartitioner())

    def forward(self) -> DataStream:
        """Keep every partition as it is; the next operator must have the same parallelism."""
        return self._partition(ForwardPartitioner())

    def broadcast(self) -> DataStream:
        """Send every row to every partition of the next operator."""
        return self._partition(BroadcastPartitioner())

    def sink_to(
        self,
        sink: Connector,
        *,
        mode: Literal[
            "append", "overwrite", "overwrite-partitions", "error-if-exists"
        ] = "overwrite",
        partition_by: str | Sequence[str] = (),
        files: int | None = None,
    ) -> DataStreamSink:
        """Write the rows, once the whole task has succeeded: `SinkMode` says what becomes of what is there.

        Columns of `partition_by` become folders; `files` is how many files are written (see `Sink`).
        """
        if mode not in set(SinkMode):
            self.refuse(f"there is no mode '{mode}'", allowed=listing(SinkMode), hint=_NO_MERGE)
        folders = (partition_by,) if isinstance(partition_by, str) else tuple(partition_by)
        operator = Sink(sink, mode=SinkMode(mode), partition_by=folders, files=files)
        id = self.environment.next_id()
        self.environment.add(
            SinkTransformation(
                id=id,
                inputs=(self.id,),
                name=operator.default_name,
                operator=operator,
                chaining_strategy=operator.chaining_strategy,
                declared_at=caller_location(),
            )
        )
        return DataStreamSink(self.environment, id)

    def _check_streams(self, *others: DataStream) -> None:
        for other in others:
            if other.environment is not self.environment:
                self.refuse(
                    f"it was given a stream of another environment, '{other.environment.name}'",
                    hint="ids count anew in each environment: declare both streams in one",
                )

    def _one_input(self, operator: Operator, state_keys: tuple[str, ...] = ()) -> DataStream:
        return self.environment.add(
            OneInputTransformation(
                id=self.environment.next_id(),
                inputs=(self.id,),
                name=operator.default_name,
                operator=operator,
                chaining_strategy=operator.chaining_strategy,
                state_keys=state_keys,
                declared_at=caller_location(),
            )
        )

    def _partition(
        self,
        partitioner: Partitioner | None,
        *,
        staging_reason: str | None = None,
        id: int | None = None,
    ) -> DataStream:
        return self.environment.add(
            PartitionTransformation(
                id=self.environment.next_id() if id is None else id,
                inputs=(self.id,),
                partitioner=partitioner,
                staging_reason=staging_reason,
                declared_at=caller_location(),
            )
        )

    def _is_broadcast(self) -> bool:
        """Say whether rows from here are broadcast: follow partitions upward, the nearest partitioner decides."""
        transformation = self.environment.transformation(self.id)
        while isinstance(transformation, PartitionTransformation):
            if transformation.partitioner is not None:
                return transformation.partitioner.is_broadcast
            transformation = self.environment.transformation(transformation.inputs[0])
        return False


class KeyedStream(DataStream):
    """Rows that are together by key."""

    def __init__(
        self, environment: StreamExecutionEnvironment, id: int, keys: tuple[str, ...]
    ) -> None:
        super().__init__(environment, id)
        self._keys = keys

    def aggregate(
        self, aggregates: Mapping[str, str] | None = None, /, **expressions: str
    ) -> DataStream:
        """Give one row for each key: `aggregate(flights="count(*)", mean_delay="avg(arr_delay)")`."""
        columns = (*(aggregates or {}).items(), *expressions.items())
        return self._one_input(Aggregate(self._keys, columns), state_keys=self._keys)
