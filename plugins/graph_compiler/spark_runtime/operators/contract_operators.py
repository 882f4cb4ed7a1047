"""Data contracts as DataFrames: a column that says which rows violate one, or an aggregate of all rows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import date
from decimal import Decimal
from functools import partial

from pyspark.sql import Column, DataFrame, Observation
from pyspark.sql.functions import count, count_if, expr
from pyspark.sql.types import (
    DataType,
    DateType,
    DoubleType,
    FloatType,
    NullType,
    NumericType,
    TimestampNTZType,
    TimestampType,
)

from graph_compiler.declaration.operators import (
    ContractOperator,
    Expect,
    ExpectFresh,
    ExpectIn,
    ExpectRows,
    ExpectSame,
    ExpectUnique,
    OnViolation,
    RowContract,
)
from graph_compiler.declaration.operators.column_uses import HOW_TO_MAKE_TIMES
from graph_compiler.declaration.operators.contracts import wrong_age
from graph_compiler.declaration.parameters.parameter import RUN_DATE, ParameterReference, ParameterValue, python_value
from graph_compiler.deployment.documents.manifest import ContractCount
from graph_compiler.identifiers import quoted
from graph_compiler.spark_runtime.columns.declared_schema import type_words
from graph_compiler.spark_runtime.columns.exact_casts import share_a_type
from graph_compiler.spark_runtime.operators.columns import ColumnsError, require_columns, require_comparable
from graph_compiler.spark_runtime.operators.contracts import Contract, Values
from graph_compiler.spark_runtime.operators.decisions import DECIDED, kept_rows
from graph_compiler.spark_runtime.operators.scope import Scope, all_outputs, listed, main_output
from graph_compiler.spark_runtime.spark_internals.java import lit
from graph_compiler.spark_runtime.spark_internals.versions import counts_sampled_rows_twice

_LEFT, _RIGHT = "graph_compiler_left", "graph_compiler_right"
_SHOWN = (NumericType, DateType, TimestampType, TimestampNTZType, NullType)
"""Types of totals whose values reports show. A text may be of one row, which fewer people may see than the report."""


@main_output.register(Expect)
@main_output.register(ExpectUnique)
@main_output.register(ExpectIn)
def _(operator: RowContract, inputs: list[DataFrame], scope: Scope) -> DataFrame:
    counted = _with_violations(operator, inputs, scope)
    if operator.outcome() in (OnViolation.WARN, OnViolation.FAIL):
        return counted.drop(DECIDED)
    return kept_rows(counted, "NOT")


@all_outputs.register(Expect)
@all_outputs.register(ExpectUnique)
@all_outputs.register(ExpectIn)
def _(operator: RowContract, inputs: list[DataFrame], scope: Scope) -> dict[str | None, DataFrame]:
    counted = _with_violations(operator, inputs, scope)  # Spark moves no condition below `observe`
    if scope.varies(counted):
        counted = scope.materialize("decided", counted)
    return {None: kept_rows(counted, "NOT"), operator.side_output(): kept_rows(counted)}


def _with_violations(operator: RowContract, inputs: list[DataFrame], scope: Scope) -> DataFrame:
    """Add a column that is true if a row violates the contract, and count with it."""
    decided = _decided(operator, inputs, scope)
    share = _value(operator.max_share, scope)
    if share is not None and not 0 <= float(share) < 1:
        raise ColumnsError(f"its max_share is {share} in this run", "give the parameter a value from 0 to below 1")
    columns = [count(lit(1)).alias("rows"), count_if(decided[DECIDED]).alias("violations")]

    def verdict(values: Values) -> ContractCount:
        rows, violations = _number(values, "rows"), _number(values, "violations")
        return ContractCount(
            contract=operator.contract,
            on_violation=operator.outcome().value,
            rows=rows,
            violations=violations,
            allowed=None if share is None else f"at most {float(share):.10%}".rstrip("0%").rstrip(".") + " %",
            holds=None if share is None else violations <= Decimal(str(share)) * rows,
        )

    return _counting(operator, decided, columns, verdict, scope)


def _decided(operator: RowContract, inputs: list[DataFrame], scope: Scope) -> DataFrame:
    match operator:
        case Expect():
            violates = f"NOT coalesce({scope.expression(operator.condition)}, false)"
        case ExpectUnique():
            require_columns(inputs[0], operator.columns)
            group = f"count(1) OVER (PARTITION BY {listed(operator.columns)})"
            violates = f"{_known(operator.columns)} AND {group} > 1"
        case ExpectIn():
            return _without_partner(operator, inputs, scope)
        case _:
            raise AssertionError(f"no violations of {type(operator).__name__}")
    return scope.select(f"*, {violates} AS {DECIDED}", inputs[0])


def _known(columns: Sequence[str]) -> str:
    return " AND ".join(f"{quoted(name)} IS NOT NULL" for name in columns)


def _without_partner(operator: ExpectIn, inputs: list[DataFrame], scope: Scope) -> DataFrame:
    """Decide by a join that returns each row once, however many partners it has."""
    left, right = inputs
    require_columns(left, [name for name, _ in operator.on])
    require_columns(right, [name for _, name in operator.on], "the other stream")
    require_comparable(left, right, operator.on)
    equal = [f"{_LEFT}.{quoted(one)} = {_RIGHT}.{quoted(other)}" for one, other in operator.on]
    known = [f"{_LEFT}.{quoted(one)} IS NOT NULL" for one, _ in operator.on]
    found = f"EXISTS (SELECT 1 FROM {_RIGHT} WHERE {' AND '.join(equal)})"
    query = f"SELECT {_LEFT}.*, {' AND '.join(known)} AND NOT {found} AS {DECIDED} FROM {_LEFT}"
    return scope.any_query(query, {_LEFT: left, _RIGHT: right})


@main_output.register
def _(operator: ExpectRows, inputs: list[DataFrame], scope: Scope) -> DataFrame:
    least, most = (_value(limit, scope) for limit in (operator.at_least, operator.at_most))
    limits = (("at least", least), ("at most", most))
    allowed = " and ".join(f"{words} {int(limit):,}" for words, limit in limits if limit is not None)

    def verdict(values: Values) -> ContractCount:
        rows = _number(values, "rows")
        holds = (least is None or rows >= int(least)) and (most is None or rows <= int(most))
        return _total(operator, rows, f"{rows:,} rows", f"{allowed} rows", holds=holds)

    return _counting(operator, inputs[0], [count(lit(1)).alias("rows")], verdict, scope)


@main_output.register
def _(operator: ExpectFresh, inputs: list[DataFrame], scope: Scope) -> DataFrame:
    rows, within, today = inputs[0], str(_value(operator.within, scope)), str(scope.parameters.get(RUN_DATE, ""))
    require_columns(rows, (operator.column,))
    if allowed := wrong_age(within):
        raise ColumnsError(f"its within is '{within}' in this run\n  allowed: {allowed}")
    kind = next(field.dataType for field in rows.schema if field.name.lower() == operator.column.lower())
    if not isinstance(kind, DateType | TimestampType | TimestampNTZType):
        raise ColumnsError(
            f"its column '{operator.column}' is {type_words(kind)}, and only a date or a time can be fresh",
            HOW_TO_MAKE_TIMES,
        )
    time = "TIMESTAMP_NTZ" if isinstance(kind, TimestampNTZType) else "TIMESTAMP"
    newest = f"max({quoted(operator.column)})"
    bound = f"CAST('{date.fromisoformat(today).isoformat()}' AS {time}) - INTERVAL '{within}'"
    columns = [
        count(lit(1)).alias("rows"),
        expr(f"CAST({newest} AS STRING)").alias("newest"),
        expr(f"coalesce(CAST({newest} AS {time}) >= {bound}, false)").alias("holds"),
    ]

    def verdict(values: Values) -> ContractCount:
        found = values.get("newest")
        total = f"no value of '{operator.column}'" if found is None else f"the newest '{operator.column}' is {found}"
        limit = f"not older than {within} before {today}"
        return _total(operator, _number(values, "rows"), total, limit, holds=bool(values.get("holds")))

    return _counting(operator, rows, columns, verdict, scope)


@main_output.register
def _(operator: ExpectSame, inputs: list[DataFrame], scope: Scope) -> DataFrame:
    texts = (operator.total, operator.total if operator.other_total is None else operator.other_total)
    words = [" ".join(text.split()) for text in texts]
    # With a count beside it, Spark refuses an expression that is no aggregate.
    one, other = (
        scope.select(f"count(1) AS `rows`, {scope.expression(text)} AS total", rows)
        for text, rows in zip(texts, inputs, strict=True)
    )
    kinds = (one.schema["total"].dataType, other.schema["total"].dataType)
    _require_exact(words, kinds)
    are_shown = all(isinstance(kind, _SHOWN) for kind in kinds)
    columns = (
        f"{_LEFT}.`rows`, CAST({_LEFT}.total AS STRING) AS one, CAST({_RIGHT}.total AS STRING) AS other, "
        f"{_LEFT}.total <=> {_RIGHT}.total AS holds"
    )
    both = scope.query(
        f"SELECT {columns} FROM {_LEFT} AS {_LEFT} CROSS JOIN {_RIGHT} AS {_RIGHT}", {_LEFT: one, _RIGHT: other}
    )

    def verdict(values: Values) -> ContractCount:
        holds, found = bool(values.get("holds")), [values.get(name) for name in ("one", "other")]
        shown = ["NULL" if value is None else value for value in found]
        total = f"{words[0]} is {shown[0]}, and {words[1]} of the other stream is {shown[1]}"
        if not are_shown:
            total = f"{words[0]} {'equals' if holds else 'differs from'} {words[1]} of the other stream"
        return _total(operator, _number(values, "rows"), total, "equal totals", holds=holds)

    _count_apart(operator, partial(_row, both, scope), verdict, scope)
    return inputs[0]


def _require_exact(texts: list[str], kinds: tuple[DataType, DataType]) -> None:
    for text, kind in zip(texts, kinds, strict=True):
        if isinstance(kind, FloatType | DoubleType):
            raise ColumnsError(
                f"{text} is {type_words(kind)}: the order of rows changes its last digits, so equal rows may have "
                "different totals",
                "compare decimals: sum(CAST(amount AS DECIMAL(20, 4)))",
            )
    if not share_a_type(*kinds):
        raise ColumnsError(
            f"{texts[0]} is {type_words(kinds[0])}, and {texts[1]} of the other stream is {type_words(kinds[1])}",
            'cast one of them in its expression: other_total="CAST(sum(amount) AS …)"',
        )


# A contract's counts: attached to the action that computes its rows, or counted at once by a job of its own.


def _counting(
    operator: ContractOperator,
    rows: DataFrame,
    columns: list[Column],
    verdict: Callable[[Values], ContractCount],
    scope: Scope,
) -> DataFrame:
    """Return rows whose action counts these aggregates of all rows; or the rows, counted by a job of its own."""
    apart = partial(_row, rows.agg(*columns), scope)
    if scope.counts_apart:
        _count_apart(operator, apart, verdict, scope)
        return rows
    observation = Observation()
    contract = Contract(
        operator=operator,
        verdict=verdict,
        count_apart=apart,
        observation=observation,
        varies=operator.needs_exact_counts() and (scope.inputs_vary or scope.varies(rows)),
        counts_samples=counts_sampled_rows_twice(scope.spark),
    )
    scope.contracts.append(contract)
    return rows.observe(observation, *columns)


def _count_apart(
    operator: ContractOperator, apart: Callable[[], Values], verdict: Callable[[Values], ContractCount], scope: Scope
) -> None:
    known: Values | None = None if scope.is_dry else apart()
    scope.contracts.append(Contract(operator=operator, verdict=verdict, count_apart=apart, known=known))


def _row(totals: DataFrame, scope: Scope) -> Values:
    (row,) = scope.stop_clock(totals).collect()
    return dict(row.asDict())


def _value(limit: ParameterValue | ParameterReference | None, scope: Scope) -> str | int | float | Decimal | None:
    """Return a limit in this run, None if there is none; raises ColumnsError for a parameter that is NULL or a list."""
    if limit is None:
        return None
    given = python_value(scope.parameters[limit.name] if isinstance(limit, ParameterReference) else limit)
    if not isinstance(given, str | int | float | Decimal):
        raise ColumnsError(f"its limit is {given} in this run", "give the parameter one value")
    return given


def _number(values: Values, name: str) -> int:
    found = values.get(name)
    return found if isinstance(found, int) else 0


def _total(operator: ContractOperator, rows: int, total: str, allowed: str, *, holds: bool) -> ContractCount:
    return ContractCount(
        contract=operator.contract,
        on_violation=operator.outcome().value,
        rows=rows,
        violations=0 if holds else 1,
        total=total,
        allowed=allowed,
        holds=holds,
    )
