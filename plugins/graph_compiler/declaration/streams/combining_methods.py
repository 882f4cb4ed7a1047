"""Methods that combine several streams."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Literal

from graph_compiler.declaration.call_checks import held_to_signatures
from graph_compiler.declaration.locations import caller_location
from graph_compiler.declaration.operators import Except, Intersect, IntervalJoin, Join, JoinType, Operator, UnionByName
from graph_compiler.declaration.operators.combining import join_type_meant
from graph_compiler.declaration.partitioners import HashPartitioner
from graph_compiler.declaration.streams.connected_streams import ConnectedStreams
from graph_compiler.declaration.streams.stream import Stream
from graph_compiler.declaration.transformations import SideOutputTransformation, UnionTransformation
from graph_compiler.identifiers import listing

if TYPE_CHECKING:
    from graph_compiler.declaration.streams.data_stream import DataStream

Keys = str | Sequence[str] | Mapping[str, str]


@held_to_signatures
class CombiningMethods(Stream):
    """Joins, unions and set operators."""

    def join(
        self,
        other: DataStream,
        on: Keys = (),
        *,
        how: Literal["inner", "left", "right", "full", "semi", "anti", "cross"] = "inner",
        condition: str | None = None,
    ) -> DataStream:
        """Join on equal columns: `on="carrier"`, several names, or {left name: right name}.

        `condition` must also be true; it calls the sides `left` and `right`. A side after `broadcast()` is sent whole
        to every partition of the other, and nothing is shuffled. `how="cross"` pairs all rows.
        """
        if how not in set(JoinType):
            self.refuse(f"there is no join type '{how}'", allowed=listing(JoinType), hint=join_type_meant(how))
        return self._join(other, Join(pairs_of(on), JoinType(how), condition), pairs_of(on))

    def interval_join(
        self, other: DataStream, on: Keys, *, times: tuple[str, str], lower: str, upper: str
    ) -> DataStream:
        """Join rows with the same key and close event times: `times=("left_time", "right_time")`.

        The right time is between left time + `lower` and left time + `upper`, inclusive: `lower="-5 minutes"`.
        """
        if not pairs_of(on):
            self.refuse("interval_join was given no key", allowed='names of columns: on="user"')
        return self._join(other, IntervalJoin(pairs_of(on), *times, lower, upper), pairs_of(on))

    def union(self, *others: DataStream) -> DataStream:
        """Combine the rows of several streams with the same columns, by name; duplicates are kept."""
        self._check_streams(*others)
        inputs = (self.id, *(other.id for other in others))
        transformation = UnionTransformation(
            id=self.environment.next_id(), inputs=inputs, declared_at=caller_location()
        )
        return self.environment.add(transformation)

    def union_by_name(self, *others: DataStream, allow_missing_columns: bool = False) -> DataStream:
        """Combine rows by the names of their columns; a missing column is NULL, if allowed."""
        if not allow_missing_columns:
            return self.union(*others)
        return self._several_inputs(UnionByName(), *others)

    def intersect(self, other: DataStream, *, all: bool = False) -> DataStream:
        """Keep rows that are in both streams, each once; with `all`, as often as in both."""
        return self._set_operator(Intersect(all), other)

    def except_(self, other: DataStream, *, all: bool = False) -> DataStream:
        """Keep rows that are not in the other stream, each once; with `all`, each row of the other removes one."""
        return self._set_operator(Except(all), other)

    def connect(self, *others: DataStream) -> ConnectedStreams:
        """Pass streams of different kinds to one function: `orders.connect(customers).transform(enrich)`.

        With `rules.broadcast()` on one side this is Flink's broadcast state pattern.
        """
        self._check_streams(*others)
        return ConnectedStreams(self, others)

    def get_side_output(self, tag: str) -> DataStream:
        """Return the rows of the operator's side output `tag`."""
        transformation = SideOutputTransformation(
            id=self.environment.next_id(), inputs=(self.id,), tag=tag, declared_at=caller_location()
        )
        return self.environment.add(transformation)

    def _join(
        self, other: DataStream, operator: Operator, on: tuple[tuple[str, str], ...], name: str | None = None
    ) -> DataStream:
        self._check_streams(other)
        # A broadcast side is in every partition, so neither side has to be partitioned by key.
        if not on or self._is_broadcast() or other._is_broadcast():
            return self._several_inputs(operator, other, name=name)
        left, right = (tuple(pair[side] for pair in on) for side in (0, 1))
        sides = self._hashed(left), other._hashed(right)
        return sides[0]._several_inputs(operator, sides[1], state_keys=left, name=name)

    def _set_operator(self, operator: Operator, other: DataStream) -> DataStream:
        self._check_streams(other)
        sides = self._hashed(()), other._hashed(())
        return sides[0]._several_inputs(operator, sides[1])

    def _hashed(self, keys: tuple[str, ...]) -> DataStream:
        """Partition by these columns, by all columns if none are given."""
        id = self.environment.next_id()
        return self._partition(HashPartitioner(keys, id), id=id)


def pairs_of(on: Keys) -> tuple[tuple[str, str], ...]:
    """Return names of columns as pairs: of this stream, and of the other."""
    if isinstance(on, Mapping):
        return tuple(on.items())
    return tuple((key, key) for key in ((on,) if isinstance(on, str) else on))
