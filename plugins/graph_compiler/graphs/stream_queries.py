"""What a streaming job is as queries of Spark: which operators keep state, and what Spark cannot do on a stream.

Spark runs the whole of a deployment region as one query, with one checkpoint. In each batch, operators that see single
rows mean what they mean in a batch job. Others need state, which Spark keeps for aggregates by key (decision 88).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence, Set
from dataclasses import replace
from functools import cached_property
from itertools import takewhile

from graph_compiler.declaration.connectors import SinkMode
from graph_compiler.declaration.operators import (
    Aggregate,
    Cast,
    ContractOperator,
    Deduplicate,
    Drop,
    Expect,
    IntervalJoin,
    Join,
    JoinType,
    KeyedProcess,
    OnViolation,
    Operator,
    Rename,
    Select,
    Sink,
    Source,
    TimestampsAndWatermarks,
    WindowAggregate,
)
from graph_compiler.declaration.operators.rows import ColumnOperator
from graph_compiler.declaration.row_order import columns_of
from graph_compiler.declaration.windows import EventTimeSessionWindows, wrong_interval
from graph_compiler.errors import Problem
from graph_compiler.graphs.stream_graph import StreamGraph, StreamNode

_INCREMENTS = "a batch pipeline of what is new: only_new=True in place of unbounded=True"
_ALLOWED = (
    "operators on single rows, contracts on them, joins with bounded streams, aggregates by key, windows, deduplicate, "
    "interval_join, process by key"
)
_MODES = (SinkMode.APPEND, SinkMode.MERGE)


class StreamQueries:
    """The part of a stream graph that never ends: what reads unbounded sources, directly or not."""

    def __init__(self, graph: StreamGraph) -> None:
        self._graph = graph

    @cached_property
    def unbounded(self) -> frozenset[int]:
        """Nodes whose rows never end."""
        sources = (n.id for n in self._graph.nodes if isinstance(n.operator, Source) and not n.operator.is_bounded)
        return self._behind(sources)

    @cached_property
    def stateful(self) -> tuple[StreamNode, ...]:
        """Nodes for which Spark keeps state, in the graph's order."""
        return tuple(each for each in self._graph.nodes if self._keeps_state(each))

    def sources(self, nodes: Set[int]) -> tuple[StreamNode, ...]:
        """Return the unbounded sources among nodes."""
        own = nodes & self.unbounded
        return tuple(n for n in self._graph.nodes if n.id in own and isinstance(n.operator, Source))

    def updates(self, nodes: Set[int]) -> bool:
        """Whether a query emits the new value of a key whenever it changes, and not only what is final."""
        return any(n.id in nodes and isinstance(n.operator, Aggregate) for n in self.stateful)

    def waits(self, nodes: Set[int]) -> bool:
        """Whether the states of a query wait for a watermark."""
        has_watermark = self._watermarks(each for each in self._graph.nodes if each.id in nodes)
        return bool(has_watermark) and any(each.id in nodes for each in self.stateful)

    def _keeps_state(self, node: StreamNode) -> bool:
        """Whether Spark keeps state for a node: for a join, if both its sides never end."""
        if node.id not in self.unbounded or not node.operator.keeps_state:
            return False
        return not isinstance(node.operator, IntervalJoin) or all(self._never_end(node.id))

    def _never_end(self, id: int) -> tuple[bool, bool]:
        """Return which sides of a join never end: the left and the right one."""
        edges = [each for each in self._graph.in_edges[id] if each.source_id in self.unbounded]
        return any(each.type_number == 1 for each in edges), any(each.type_number == 2 for each in edges)

    def _behind(self, ids: Iterable[int]) -> frozenset[int]:
        """Return nodes, and all that read them, directly or not."""
        found: set[int] = set()
        pending = list(ids)
        while pending:
            if (id := pending.pop()) not in found:
                found.add(id)
                pending += (edge.target_id for edge in self._graph.out_edges[id])
        return frozenset(found)

    def before(self, id: int) -> Iterator[StreamNode]:
        """Yield the nodes that a node reads, directly or not, each once, the nearest first."""
        found: set[int] = set()
        pending = [id]
        while pending:
            for edge in self._graph.in_edges[pending.pop(0)]:
                if edge.source_id not in found:
                    found.add(edge.source_id)
                    pending.append(edge.source_id)
                    yield self._graph.node[edge.source_id]

    def _watermarks(self, nodes: Iterable[StreamNode]) -> list[TimestampsAndWatermarks]:
        """Return the watermarks of rows that never end."""
        found = (each.operator for each in nodes if each.id in self.unbounded)
        return [operator for operator in found if isinstance(operator, TimestampsAndWatermarks)]

    def problems(self) -> Iterator[Problem]:
        """Yield what Spark cannot do on the streams of a job, each with its operator and a way out."""
        for node in self._graph.nodes:
            if node.id in self.unbounded:
                yield from self._problems(node)

    def _problems(self, node: StreamNode) -> Iterator[Problem]:
        yield from self._changing_problems(node)
        yield from self._problems_behind_contracts(node)
        yield from self._union_problems(node)
        if any(edge.staging_text is not None for edge in self._graph.out_edges[node.id]):
            yield _at(
                node,
                "its rows are staged, and they never end",
                allowed="results of bounded sources; on a stream, all of it is one application",
                hint="leave out stage()",
            )
        yield from self._problems_of_kind(node)

    def _problems_of_kind(self, node: StreamNode) -> Iterator[Problem]:
        operator = node.operator
        if isinstance(operator, Source):
            yield from _source_problems(node, operator)
        elif isinstance(operator, Sink):
            yield from self._sink_problems(node, operator)
        elif isinstance(operator, Join):
            yield from self._join_problems(node, operator)
        elif self._keeps_state(node):
            yield from self._state_problems(node)
        elif isinstance(operator, IntervalJoin | Expect):
            return  # the join is inner, and one of its sides ends; the contract is about single rows
        elif not operator.sees_single_rows:
            is_contract = isinstance(operator, ContractOperator)
            yield _at(
                node,
                f"it {'is about' if is_contract else 'needs'} all rows of a run, and those of a stream never end",
                allowed="expect, which is about single rows" if is_contract else _ALLOWED,
                hint=_INCREMENTS,
            )

    def _problems_behind_contracts(self, node: StreamNode) -> Iterator[Problem]:
        """Yield what cannot be computed batch by batch, behind the query: contracts count the rows of each batch."""
        operator = node.operator
        if isinstance(operator, ContractOperator | Sink):
            return
        before = (n for n in self.before(node.id) if isinstance(n.operator, ContractOperator))
        contract = next((n for n in before if n.id in self.unbounded), None)
        if contract is not None and (_has_sides(operator) or operator.keeps_state or not operator.sees_single_rows):
            yield _at(
                node,
                f"it reads rows that '{contract.declared_name}' has checked, each batch by itself",
                allowed="operators on single rows, other contracts and sinks behind a contract of a stream",
                hint="move the contract behind it",
            )

    def _union_problems(self, node: StreamNode) -> Iterator[Problem]:
        """Yield a union with rows that end: Spark has none, and each batch would have them again."""
        sides: dict[int, list[int]] = {}
        for edge in self._graph.in_edges[node.id]:
            sides.setdefault(edge.type_number if _has_sides(node.operator) else 0, []).append(edge.source_id)
        for ids in sides.values():
            if (bounded := [id for id in ids if id not in self.unbounded]) and len(bounded) < len(ids):
                other = self._graph.node[bounded[0]].declared_name
                yield _at(
                    node,
                    f"it reads a stream together with the rows of '{other}', which end",
                    allowed="a union of streams; a union of rows that end",
                    hint="publish rows that end by a pipeline of their own, or let them arrive: unbounded=True",
                )

    def _changing_problems(self, node: StreamNode) -> Iterator[Problem]:
        """Yield what does not follow the values of an aggregate: the old ones of a key would stay in the target."""
        total = self._aggregate_before(node.id)
        if total is None or self._keeps_state(node):
            return
        operator = node.operator
        keeps_rows = isinstance(operator, Sink | ColumnOperator | Drop | Rename | Cast) or (
            isinstance(operator, Expect) and operator.outcome() in (OnViolation.WARN, OnViolation.FAIL)
        )
        if not keeps_rows or len(self._graph.in_edges[node.id]) > 1:
            does = "has other rows beside those" if keeps_rows else "may leave out rows"
            yield _at(
                node,
                f"it {does} of '{total.declared_name}', whose values change: those that it had before would stay",
                allowed="select, with_columns, drop, rename and cast behind an aggregate",
                hint="filter and combine the rows before the aggregate, or those of the target when it is read",
            )

    def _aggregate_before(self, id: int) -> StreamNode | None:
        found = (n for n in self.before(id) if isinstance(n.operator, Aggregate) and n.id in self.unbounded)
        return next(found, None)

    def _join_problems(self, node: StreamNode, join: Join) -> Iterator[Problem]:
        left, right = self._never_end(node.id)
        if left and right:
            message, allowed = "both its sides never end", "one side of bounded sources"
            hint = (
                'rows that are close in time: interval_join(…, times=("at", "paid"), lower="-1 hour", upper="1 hour")'
            )
            yield _at(node, message, allowed=allowed, hint=hint)
            return
        if join.how in ((JoinType.INNER,) if right else (JoinType.INNER, JoinType.LEFT, JoinType.SEMI, JoinType.ANTI)):
            return
        else:
            message = f"its type is {join.how.value}, and the {'left' if left else 'right'} side never ends"
            allowed = "inner; left, semi and anti if the left side never ends"
        yield _at(node, message, allowed=allowed, hint=_INCREMENTS)

    def _state_problems(self, node: StreamNode) -> Iterator[Problem]:
        operator = node.operator
        before = list(self.before(node.id))
        if other := next((each for each in before if self._keeps_state(each)), None):
            yield _at(
                node,
                f"it reads what '{other.declared_name}' computes, and both keep state",
                allowed="one operator with state between a source and a sink",
                hint="publish the first one's rows, and read these by another pipeline",
            )
        if isinstance(operator, Aggregate):
            yield from self._total_problems(node, operator)
        elif isinstance(operator, WindowAggregate):
            yield from self._window_problems(node, operator, before)
        elif isinstance(operator, IntervalJoin):
            yield from self._interval_problems(node, operator)
        elif isinstance(operator, Deduplicate):
            yield from _deduplicate_problems(node, operator, self._watermarks(before))
        elif isinstance(operator, KeyedProcess):
            yield from self._process_problems(node, operator, before)

    def _process_problems(
        self, node: StreamNode, operator: KeyedProcess, before: list[StreamNode]
    ) -> Iterator[Problem]:
        other = next((each for each in self.stateful if each.id != node.id), None)
        if operator.has_time_to_live and other is not None:
            yield _at(
                node,
                f"a state of it has a time to live, and '{other.declared_name}' keeps state, too: its last rows would "
                "wait for the next run",
                allowed="a time to live of states of the only operator with state in its pipeline",
                hint="declare the other one in a pipeline of its own",
            )
        if operator.time is not None:
            yield from _timer_problems(node, operator.time, self._watermarks(before))
            if other is not None:
                yield _at(
                    node,
                    f"it has timers, and '{other.declared_name}' keeps state, too: Spark would fire timers too late",
                    allowed="timers of an operator that is the only one with state in its pipeline",
                    hint="declare the other one in a pipeline of its own",
                )

    def _total_problems(self, node: StreamNode, total: Aggregate) -> Iterator[Problem]:
        if total.grouping_sets is not None:
            yield _at(node, "it has grouping sets, for which Spark keeps no state", allowed="one set of keys")
        final = (n for n in self.stateful if isinstance(n.operator, WindowAggregate | KeyedProcess))
        if other := next(final, None):
            rows = "those of the windows" if isinstance(other.operator, WindowAggregate) else "the rows"
            yield _at(
                node,
                f"its values change all the time, and {rows} of '{other.declared_name}' are final",
                allowed="one of both in a pipeline",
            )

    def _window_problems(
        self, node: StreamNode, operator: WindowAggregate, before: list[StreamNode]
    ) -> Iterator[Problem]:
        time = operator.window.time
        marks = self._watermarks(before)
        if not marks:
            yield _at(node, "nothing says when its windows are complete", hint=f"before it: .{_marked(time)}")
        elif len(marks) > 1 or marks[0].time != time:
            yield _at(
                node,
                f"its windows are over '{time}', and the event time is {_times(marks)}",
                allowed="one event time",
                hint=_marked(time),
            )
        if isinstance(operator.window, EventTimeSessionWindows) and not operator.keys:
            yield _at(node, "its windows are sessions of all rows", allowed="sessions by key: key_by(…).window(…)")

    def _interval_problems(self, node: StreamNode, operator: IntervalJoin) -> Iterator[Problem]:
        for number, side, time in ((1, "left", operator.left_time), (2, "right", operator.right_time)):
            sources = [edge.source_id for edge in self._graph.in_edges[node.id] if edge.type_number == number]
            nodes = {each.id: each for id in sources for each in (self._graph.node[id], *self.before(id))}
            marks = self._watermarks(nodes.values())
            if not marks:
                message = f"nothing says when it may forget rows of its {side} side"
                yield _at(node, message, hint=f"before it, on the {side} side: .{_marked(time)}")
            elif len(marks) > 1 or marks[0].time != time:
                yield _at(
                    node,
                    f"its {side} side is joined by '{time}', and the event time is {_times(marks)}",
                    allowed="one event time for each side",
                    hint=_marked(time),
                )
        for name, bound in (("lower", operator.lower), ("upper", operator.upper)):
            if allowed := wrong_interval(bound):
                yield _at(
                    node,
                    f"its {name} bound is {bound!r}, whose length varies, so that rows would never be forgotten",
                    allowed=allowed,
                )

    def _sink_problems(self, node: StreamNode, sink: Sink) -> Iterator[Problem]:
        if sink.mode not in _MODES or sink.single_file:
            what = "one file" if sink.single_file else f"mode='{sink.mode}'"
            is_first = sink.mode is SinkMode.ERROR_IF_EXISTS
            follows = "it would take the first batch only" if is_first else "each batch would replace those before"
            yield _at(
                node,
                f"it has {what}, and its rows never end: {follows}",
                allowed="mode='append'; mode='merge' with keys",
            )
        elif sink.mode is SinkMode.APPEND and (total := self._aggregate_before(node.id)) is not None:
            yield _at(
                node,
                f"it appends, and '{total.declared_name}' emits a key again whenever its values change",
                allowed="mode='merge', with the keys of the aggregate",
                hint="windows of event time emit each key once: key_by(…).window(TumblingEventTimeWindows(…))",
            )
        elif sink.mode is SinkMode.MERGE:
            yield from self._merge_problems(node, sink)
        if "{{" in (place := sink.connector.place or "") or "{%" in place:
            yield _at(
                node,
                f"its target is '{place}': what one run has begun of a batch, another run finishes elsewhere",
                allowed="a target without templates",
            )
        if sink.partitions:
            yield _at(node, "it has partitions, which are those of a run", allowed="partition_by alone")

    def _merge_problems(self, node: StreamNode, sink: Sink) -> Iterator[Problem]:
        """Yield keys of a sink that several keys of a total share: which of its rows stays would depend on batches."""
        total = self._aggregate_before(node.id)
        if total is None or not isinstance(total.operator, Aggregate) or not sink.keys:
            return
        behind = [each.operator for each in takewhile(lambda each: each is not total, self.before(node.id))]
        merged, keys = {key.lower() for key in sink.keys}, total.operator.keys
        missing = [key for key in keys if merged.isdisjoint(_made_of(key, reversed(behind)))]
        if missing:
            yield _at(
                node,
                f"it merges by {', '.join(sink.keys)}, and '{total.declared_name}' has rows by {', '.join(keys)}: "
                f"of those that differ in {', '.join(missing)} only, one would stay, which depends on the batches",
                allowed="mode='merge', with all keys of the aggregate",
                hint=f"keys=[{', '.join(map(repr, keys))}], if the sink has these columns; or other keys before the "
                "aggregate",
            )


def _made_of(key: str, operators: Iterable[Operator]) -> set[str]:
    """Return the columns behind operators that may have a key's values, in lower case: more than have, never fewer."""
    names = {key.lower()}
    for operator in operators:
        if isinstance(operator, ColumnOperator):
            new = {name.lower() for name, _ in operator.columns}
            kept = set() if isinstance(operator, Select) else names - new
            for name, expression in operator.columns:  # which may use those before it
                if not (names | kept).isdisjoint(each.lower() for each in columns_of(expression)):
                    kept.add(name.lower())
            names = kept
        elif isinstance(operator, Rename):
            renamed = {old.lower(): name.lower() for old, name in operator.names}
            names = {renamed.get(name, name) for name in names}
        elif isinstance(operator, Drop):
            names -= {name.lower() for name in operator.columns}
    return names


def _has_sides(operator: Operator) -> bool:
    """Whether one of its inputs may end and the other not."""
    return isinstance(operator, Join | IntervalJoin)


def _deduplicate_problems(
    node: StreamNode, operator: Deduplicate, marks: Sequence[TimestampsAndWatermarks]
) -> Iterator[Problem]:
    if operator.order_by:
        yield _at(
            node,
            f"it keeps the first row of a key by {', '.join(operator.order_by)}, and a stream may have it later",
            allowed="no order_by: the row that arrives first is kept",
            hint=_INCREMENTS,
        )
    if not marks:
        message = "nothing says when it may forget a key"
        yield _at(node, message, hint=f"before it, with a column of times: .{_marked('at')}")
    elif len(marks) > 1:
        yield _at(node, f"the event time of its rows is {_times(marks)}", allowed="one event time")


def _timer_problems(node: StreamNode, time: str, marks: Sequence[TimestampsAndWatermarks]) -> Iterator[Problem]:
    if not marks:
        yield _at(node, "nothing says when its timers fire", hint=f"before it: .{_marked(time)}")
    elif len(marks) > 1 or marks[0].time != time:
        yield _at(
            node,
            f"its timers are by '{time}', and the event time is {_times(marks)}",
            allowed="one event time",
            hint=_marked(time),
        )


def _marked(time: str) -> str:
    return f'assign_timestamps_and_watermarks("{time}", max_out_of_orderness="5 minutes")'


def _times(marks: Sequence[TimestampsAndWatermarks]) -> str:
    return " and ".join(f"'{mark.time}'" for mark in marks)


def _source_problems(node: StreamNode, source: Source) -> Iterator[Problem]:
    if node.settings.uid is None:
        yield _at(
            node,
            "it never ends, and has no uid: a change of the pipeline could lose its checkpoint",
            allowed='.uid("orders"); in YAML, uid: orders',
        )
    if source.has_position:
        yield _at(
            node,
            "unbounded and only_new are set: the first is a stream, the second a batch of what is new",
            allowed="one of them",
        )
    for problem in source.connector.unbounded_problems():
        yield replace(problem, operator=node.declared_name, declared_at=node.declared_at)
    if node.operator.output_tags():
        yield _at(node, "it sets records aside, and that is not possible on a stream", allowed="on_misfit='fail'")


def _at(node: StreamNode, message: str, *, allowed: str | None = None, hint: str | None = None) -> Problem:
    return Problem(
        operator=node.declared_name, message=message, allowed=allowed, hint=hint, declared_at=node.declared_at
    )
