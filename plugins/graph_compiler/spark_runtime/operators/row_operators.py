"""Operators that process one row at a time."""

from __future__ import annotations

from pyspark import StorageLevel
from pyspark.sql import DataFrame

from graph_compiler.declaration.operators import (
    Cache,
    Cast,
    Drop,
    Filter,
    FlatMap,
    Limit,
    PreviousVersion,
    Rename,
    Sample,
    Select,
    Sort,
    Source,
    TimestampsAndWatermarks,
    TopN,
    WithColumns,
)
from graph_compiler.declaration.sql_types.spark_types import longest_text
from graph_compiler.identifiers import counted, quoted
from graph_compiler.spark_runtime.columns.strict_values import sql_literal
from graph_compiler.spark_runtime.connectors.source import MISFIT, REJECTS
from graph_compiler.spark_runtime.operators.columns import require_columns, require_new_columns
from graph_compiler.spark_runtime.operators.decisions import (
    DECIDED,
    fix_decision,
    kept_rows,
    may_pass_watermark,
    must_decide_once,
)
from graph_compiler.spark_runtime.operators.scope import Scope, all_outputs, listed, main_output
from graph_compiler.spark_runtime.spark_internals.parsed_queries import require_expression, require_type

_MADE = "graph_compiler_made"


@main_output.register
def _(operator: Source | PreviousVersion, inputs: list[DataFrame], scope: Scope) -> DataFrame:
    rows = scope.read(operator.connector, scope.parallelism)
    return rows.where(f"{MISFIT} IS NULL").drop(MISFIT) if MISFIT in rows.columns else rows


@main_output.register
def _(operator: Filter, inputs: list[DataFrame], scope: Scope) -> DataFrame:
    condition, rows = scope.expression(operator.condition), inputs[0]
    if may_pass_watermark(rows):
        return kept_rows(fix_decision(_decided(condition, rows, scope), scope))
    return scope.select("*", rows, f"WHERE {condition}")


@main_output.register
def _(operator: Select, inputs: list[DataFrame], scope: Scope) -> DataFrame:
    return scope.select(scope.named(operator.columns), inputs[0])


@main_output.register
def _(operator: WithColumns, inputs: list[DataFrame], scope: Scope) -> DataFrame:
    new = {name.lower(): (name, expression) for name, expression in operator.columns}
    # Spark treats names that differ only in case as the same; a replaced column keeps its place
    kept = [
        scope.named((new.pop(name.lower()),)) if name.lower() in new else quoted(name) for name in inputs[0].columns
    ]
    added = [scope.named((column,)) for column in new.values()]
    return scope.select(", ".join([*kept, *added]), inputs[0])


@main_output.register
def _(operator: TimestampsAndWatermarks, inputs: list[DataFrame], scope: Scope) -> DataFrame:
    require_columns(inputs[0], (operator.time,))
    marked = inputs[0].withWatermark(quoted(operator.time), operator.max_out_of_orderness)
    return marked if inputs[0].isStreaming else inputs[0]  # nothing of a batch is late, nor is a stream that joins it


@main_output.register
def _(operator: Drop, inputs: list[DataFrame], scope: Scope) -> DataFrame:
    require_columns(inputs[0], operator.columns)
    return scope.select(f"* EXCEPT ({listed(operator.columns)})", inputs[0])


@main_output.register
def _(operator: Rename, inputs: list[DataFrame], scope: Scope) -> DataFrame:
    require_columns(inputs[0], [old for old, _ in operator.names])
    new = {old.lower(): name for old, name in operator.names}
    kept = [name for name in inputs[0].columns if name.lower() not in new]
    require_new_columns(kept, new.values(), "renames a column to")
    columns = [f"{quoted(name)} AS {quoted(new.get(name.lower(), name))}" for name in inputs[0].columns]
    return scope.select(", ".join(columns), inputs[0])


@main_output.register
def _(operator: Cast, inputs: list[DataFrame], scope: Scope) -> DataFrame:
    require_columns(inputs[0], [name for name, _ in operator.types])
    types = {name.lower(): type for name, type in operator.types}
    for type in types.values():
        require_type(type, scope.parameters, scope.spark)
    columns = [
        f"{_cast(name, types[name.lower()])} AS {quoted(name)}" if name.lower() in types else quoted(name)
        for name in inputs[0].columns
    ]
    return scope.select(", ".join(columns), inputs[0])


def _cast(name: str, type: str) -> str:
    """Return the cast of a column. Spark casts to CHAR and VARCHAR as to STRING, of whatever length."""
    column, most = quoted(name), longest_text(type)
    if most is None:
        return f"CAST({column} AS {type}\n)"
    text = f"CAST({column} AS STRING)"
    words = sql_literal(f"a value of '{name}' has more than {counted(most, 'character')}")
    return f"CASE WHEN char_length({text}) > {most} THEN raise_error({words}) ELSE {text} END"


@main_output.register
def _(operator: FlatMap, inputs: list[DataFrame], scope: Scope) -> DataFrame:
    require_new_columns(inputs[0].columns, operator.columns, "adds a column")
    require_expression(operator.generator, scope.parameters, scope.spark)
    outer = "OUTER" if operator.outer else ""
    view = f"LATERAL VIEW {outer} {operator.generator}\n {_MADE} AS {listed(operator.columns)}"
    return scope.select("*", inputs[0], view)


@main_output.register
def _(operator: Sample, inputs: list[DataFrame], scope: Scope) -> DataFrame:
    return inputs[0].sample(withReplacement=False, fraction=operator.fraction, seed=operator.seed)


@main_output.register
def _(operator: Cache, inputs: list[DataFrame], scope: Scope) -> DataFrame:
    return inputs[0] if scope.is_dry else inputs[0].persist(getattr(StorageLevel, operator.level.value))


@all_outputs.register
def _(operator: Source, inputs: list[DataFrame], scope: Scope) -> dict[str | None, DataFrame]:
    rows = scope.read(operator.connector, scope.parallelism)
    (tag,) = operator.connector.output_tags()
    if MISFIT not in rows.columns:  # a test's rows, or a dry run's
        return {None: rows, tag: scope.spark.createDataFrame([], REJECTS)}
    rejected = rows.where(f"{MISFIT} IS NOT NULL").selectExpr(f"{MISFIT}.*")
    return {None: rows.where(f"{MISFIT} IS NULL").drop(MISFIT), tag: rejected}


@all_outputs.register
def _(operator: Filter, inputs: list[DataFrame], scope: Scope) -> dict[str | None, DataFrame]:
    condition, rows = scope.expression(operator.condition), inputs[0]
    kept = scope.select("*", rows, f"WHERE {condition}")
    varies = scope.varies(kept)
    if not varies and not must_decide_once(rows):  # two conditions, which Spark can move
        return {None: kept, operator.rejects: scope.select("*", rows, f"WHERE NOT coalesce({condition}, false)")}
    decided = _decided(condition, rows, scope)
    fixed = scope.materialize("decided", decided) if varies else fix_decision(decided, scope)
    return {None: kept_rows(fixed), operator.rejects: kept_rows(fixed, "NOT")}


def _decided(condition: str, rows: DataFrame, scope: Scope) -> DataFrame:
    return scope.select(f"*, coalesce({condition}, false) AS {DECIDED}", rows)


@main_output.register
def _(operator: Sort, inputs: list[DataFrame], scope: Scope) -> DataFrame:
    return scope.select("*", inputs[0], f"ORDER BY {scope.order(operator.order_by)}")


@main_output.register
def _(operator: TopN, inputs: list[DataFrame], scope: Scope) -> DataFrame:
    return scope.select("*", inputs[0], f"ORDER BY {scope.order(operator.order_by)} LIMIT {operator.n}")


@main_output.register
def _(operator: Limit, inputs: list[DataFrame], scope: Scope) -> DataFrame:
    return inputs[0].limit(operator.n)
