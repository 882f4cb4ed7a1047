"""Operators as the calls that made them: what `calls.py` reads, the other way round."""

from __future__ import annotations

from functools import singledispatch
from typing import Any

from graph_compiler.declaration.connectors import SinkMode
from graph_compiler.declaration.operators import (
    Aggregate,
    AggregateAll,
    ApplyInPandas,
    Cache,
    Cast,
    Deduplicate,
    Drop,
    Except,
    Expect,
    Filter,
    FlatMap,
    FunctionOperator,
    Intersect,
    IntervalJoin,
    Iterate,
    Join,
    JoinType,
    Limit,
    MapPartitions,
    OnViolation,
    Operator,
    Process,
    Rename,
    Sample,
    Select,
    Sink,
    Sort,
    Sql,
    TopN,
    Transform,
    UnionByName,
    WindowAggregate,
    WithColumns,
)
from graph_compiler.identifiers import quoted
from graph_compiler.projects.yaml.writing.written_values import Step, written_value


@singledispatch
def written_operator(operator: Operator, others: list[Any]) -> Step:
    """Write an operator's call; `others` are the names of the streams it reads beside the first."""
    raise NotImplementedError(f"{type(operator).__name__} has no call in YAML")


def _without(step: Step) -> Step:
    """Leave out what is as it would be."""
    return {key: written_value(value) for key, value in step.items() if value is not None}


@written_operator.register
def _(operator: Filter, others: list[Any]) -> Step:
    return _without({"filter": operator.condition, "rejects": operator.rejects})


@written_operator.register
def _(operator: Select, others: list[Any]) -> Step:
    return {
        "select": [
            name if text == quoted(name) else {name: text} for name, text in operator.columns
        ]
    }


@written_operator.register
def _(operator: WithColumns, others: list[Any]) -> Step:
    return {"with_columns": dict(operator.columns)}


@written_operator.register
def _(operator: Drop, others: list[Any]) -> Step:
    return {"drop": list(operator.columns)}


@written_operator.register
def _(operator: Rename, others: list[Any]) -> Step:
    return {"rename": dict(operator.names)}


@written_operator.register
def _(operator: Cast, others: list[Any]) -> Step:
    return {"cast": dict(operator.types)}


@written_operator.register
def _(operator: FlatMap, others: list[Any]) -> Step:
    return _without(
        {
            "flat_map": operator.generator,
            "columns": operator.columns,
            "outer": operator.outer or None,
        }
    )


@written_operator.register
def _(operator: Sample, others: list[Any]) -> Step:
    return _without({"sample": operator.fraction, "seed": operator.seed})


@written_operator.register
def _(operator: Cache, others: list[Any]) -> Step:
    return {"cache": operator.level.value}


@written_operator.register
def _(operator: Expect, others: list[Any]) -> Step:
    is_own = operator.on_violation in (OnViolation.TO, OnViolation.WARN)
    violation = None if is_own else operator.on_violation
    return _without(
        {
            "expect": operator.contract,
            "condition": operator.condition,
            "on_violation": violation,
            "to": operator.tag,
        }
    )


@written_operator.register
def _(operator: Sort, others: list[Any]) -> Step:
    return {"sort": list(operator.order_by)}


@written_operator.register
def _(operator: TopN, others: list[Any]) -> Step:
    return {"top_n": operator.n, "order_by": list(operator.order_by)}


@written_operator.register
def _(operator: Limit, others: list[Any]) -> Step:
    return {"limit": operator.n}


@written_operator.register
def _(operator: AggregateAll, others: list[Any]) -> Step:
    return {"aggregate": dict(operator.aggregates)}


@written_operator.register
def _(operator: Aggregate, others: list[Any]) -> Step:
    return _without(
        {"grouping_sets": operator.grouping_sets, "aggregate": dict(operator.aggregates)}
    )


@written_operator.register
def _(operator: WindowAggregate, others: list[Any]) -> Step:
    key = "window" if operator.keys else "window_all"
    return {key: written_value(operator.window), "aggregate": dict(operator.aggregates)}


@written_operator.register
def _(operator: Deduplicate, others: list[Any]) -> Step:
    return _without({"deduplicate": operator.keys, "order_by": operator.order_by or None})


@written_operator.register
def _(operator: Join, others: list[Any]) -> Step:
    return _without(
        {
            "join": others[0],
            "on": _on(operator.on) or None,
            "how": None if operator.how is JoinType.INNER else operator.how,
            "condition": operator.condition,
        }
    )


@written_operator.register
def _(operator: IntervalJoin, others: list[Any]) -> Step:
    return {
        "interval_join": others[0],
        "on": _on(operator.on),
        "times": [operator.left_time, operator.right_time],
        "lower": operator.lower,
        "upper": operator.upper,
    }


@written_operator.register
def _(operator: UnionByName, others: list[Any]) -> Step:
    return {"union_by_name": others, "allow_missing_columns": True}


@written_operator.register
def _(operator: Intersect, others: list[Any]) -> Step:
    return _without({"intersect": others[0], "all": operator.all or None})


@written_operator.register
def _(operator: Except, others: list[Any]) -> Step:
    return _without({"except": others[0], "all": operator.all or None})


@written_operator.register
def _(operator: Sql, others: list[Any]) -> Step:
    return {"sql": operator.query}


@written_operator.register
def _(operator: Transform, others: list[Any]) -> Step:
    return _without(
        {"connect": others or None, "transform": operator.function, **_function(operator)}
    )


@written_operator.register
def _(operator: MapPartitions, others: list[Any]) -> Step:
    own = {"schema": operator.schema, "batches": operator.batches}
    return _without({"map_partitions": operator.function, **own, **_function(operator)})


@written_operator.register
def _(operator: ApplyInPandas, others: list[Any]) -> Step:
    own = {"schema": operator.schema, **_function(operator)}
    return _without({"apply_in_pandas": operator.function, **own})


@written_operator.register
def _(operator: Process, others: list[Any]) -> Step:
    return _without({"process": operator.function, "outputs": operator.tags, **_function(operator)})


@written_operator.register
def _(operator: Iterate, others: list[Any]) -> Step:
    rounds = {"max_iterations": operator.max_iterations, "until": operator.until}
    step = {"iterate": operator.function, "others": others or None, **rounds}
    return _without({**step, **_function(operator)})


@written_operator.register
def _(operator: Sink, others: list[Any]) -> Step:
    return _without(
        {
            "sink_to": operator.connector,
            "mode": None if operator.mode is SinkMode.OVERWRITE else operator.mode,
            "keys": operator.keys or None,
            "partition_by": operator.partition_by or None,
            "files": operator.files,
        }
    )


def _function(operator: FunctionOperator) -> Step:
    return {"deterministic_function": None if operator.deterministic else False}


def _on(pairs: tuple[tuple[str, str], ...]) -> list[str] | dict[str, str]:
    same = all(left == right for left, right in pairs)
    return [left for left, _ in pairs] if same else dict(pairs)
