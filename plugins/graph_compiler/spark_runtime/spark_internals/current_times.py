"""Replace Spark's current time by the run's: `current_timestamp()` becomes a value in the plan before anything runs.

Spark's optimizer computes the current time again for every action (`ComputeCurrentTime`), so two sinks of one operator
would see two times, and a row could pass a filter in one action and its negation in the next. Here the expressions are
replaced in the analyzed plan, each by the literal that Spark's own rule would insert at that time. The attributes of
the plan stay the same, so that `rows["x"]` in a function still refers to the same column.

    current_timestamp() now() localtimestamp() current_date() curdate() current_time()     found by class
    unix_timestamp() date_diff(now(), x) (SELECT now()) VALUES (now())                      contain one of these
    CAST(TIME '12:00' AS TIMESTAMP)                                                         a time on the current day
    CAST('now' AS TIMESTAMP), to_date('today')                                              Spark's special strings

Catalyst's `transform` takes a partial function. A Scala Map of expressions to literals is one, so no class of this
project has to run in the JVM. The classes of Catalyst named here: 4.3; `CurrentTime` and TIME came in 4.1.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from pyspark.sql import DataFrame, SparkSession

from graph_compiler.spark_runtime.spark_internals.java import java_class, java_class_name, scala_map, scala_object
from graph_compiler.spark_runtime.spark_internals.plans import analyzed_plan, children_of, pattern, rows_of_plan
from graph_compiler.spark_runtime.spark_internals.versions import time_to_timestamp

_CATALYST = "org.apache.spark.sql.catalyst"
_SPECIAL = re.compile(r"\s*(now|today|tomorrow|yesterday)\s*", re.IGNORECASE)
_DAYS = {"today": 0, "tomorrow": 1, "yesterday": -1}


@dataclass(frozen=True, slots=True)
class StoppedClock:
    """Spark's clock, stopped. `now` is called only if an expression needs it, and always returns the same value."""

    spark: SparkSession
    now: Callable[[], datetime]

    def stop_in(self, rows: DataFrame, *, may_be_special: bool = False) -> DataFrame:
        """Return the rows with every current time in their plan replaced by the run's."""
        plan = analyzed_plan(rows)
        found = list(self._current_times(plan))
        if may_be_special:
            plan = scala_object(self.spark, f"{_CATALYST}.optimizer.ReplaceExpressions").apply(plan)
            found += self._special_casts(plan)
        if not found:
            return rows
        values = java_class(self.spark, "java.util.HashMap")()
        for expression in found:
            values.put(expression, self._value(expression))
        as_function = scala_map(self.spark, values)
        return rows_of_plan(self.spark, plan.transformAllExpressionsWithSubqueries(as_function))

    def holds_special_strings(self, rows: DataFrame) -> bool:
        """Whether Spark's optimizer would replace a string in these rows' plan by the current time."""
        optimizer, plan = f"{_CATALYST}.optimizer", analyzed_plan(rows)
        replaced = scala_object(self.spark, f"{optimizer}.ReplaceExpressions").apply(plan)
        special = scala_object(self.spark, f"{optimizer}.SpecialDatetimeValues").apply(replaced)
        return not special.fastEquals(replaced)

    def _current_times(self, plan: Any) -> Iterator[Any]:
        of_day = time_to_timestamp(self.spark)
        likes = [pattern(self.spark, "CURRENT_LIKE"), *([] if of_day is None else [of_day])]
        for expression in _expressions(plan, likes):
            if java_class_name(expression) in _VALUES or (
                of_day is not None and self._is_on_the_current_day(expression)
            ):
                yield expression

    def _is_on_the_current_day(self, expression: Any) -> bool:
        if java_class_name(expression) != "Cast":
            return False
        cast = java_class(self.spark, f"{_CATALYST}.expressions.Cast")
        types = expression.child().dataType(), expression.dataType()
        return bool(cast.isTimeToTimestampNTZ(*types) or cast.isTimeToTimestampLTZ(*types))

    def _special_casts(self, plan: Any) -> Iterator[Any]:
        for expression in _expressions(plan, [pattern(self.spark, "CAST")]):
            is_time = java_class_name(expression) == "Cast" and (
                expression.dataType().typeName() in ("date", "timestamp", "timestamp_ntz")
            )
            if is_time and _special_word(expression) is not None:
                yield expression

    def _value(self, expression: Any) -> Any:
        """Return the literal for an expression, as Spark would compute it at the run's time."""
        made = _VALUES.get(java_class_name(expression))
        if made is not None:
            return made(self, expression)
        if word := _special_word(expression):
            return self._special_value(word, expression)
        return self._time_of_day(expression)

    def _special_value(self, word: str, cast: Any) -> Any:
        name = str(cast.dataType().typeName())
        if word == "now" and name == "timestamp":
            return self._literal(self._instant())
        if word == "now" and name == "timestamp_ntz":
            return self._literal(self._local(cast.zoneId()))
        day = self._local(cast.zoneId()).toLocalDate().plusDays(_DAYS.get(word, 0))
        if name == "date":
            return self._literal(day)
        start = day.atStartOfDay()
        is_local = name == "timestamp_ntz"
        return self._literal(start if is_local else start.atZone(cast.zoneId()).toInstant())

    def _time_of_day(self, cast: Any) -> Any:
        """Return a time as a timestamp on the run's day; its operands may contain the current time."""
        day = self._literal(self._local(cast.zoneId()).toLocalDate())
        expressions = f"{_CATALYST}.expressions"
        if cast.dataType().typeName() == "timestamp_ntz":
            return java_class(self.spark, f"{expressions}.MakeTimestampNTZ")(day, cast.child()).replacement()
        return java_class(self.spark, f"{expressions}.MakeTimestampLTZ")(
            day, cast.child(), cast.timeZoneId()
        ).replacement()

    def _time(self, current: Any) -> Any:
        digits = int(current.precision())
        nanos = self._local(current.zoneId()).toLocalTime().toNanoOfDay()
        whole = nanos - nanos % 10 ** (9 - digits)
        time = java_class(self.spark, "java.time.LocalTime").ofNanoOfDay(whole)
        kind = java_class(self.spark, "org.apache.spark.sql.types.TimeType")(digits)
        return scala_object(self.spark, f"{_CATALYST}.expressions.Literal").create(time, kind)

    def _instant(self) -> Any:
        text = self.now().strftime("%Y-%m-%dT%H:%M:%S.%fZ")
        return java_class(self.spark, "java.time.Instant").parse(text)

    def _local(self, zone: Any) -> Any:
        return java_class(self.spark, "java.time.LocalDateTime").ofInstant(self._instant(), zone)

    def _literal(self, value: Any) -> Any:
        return scala_object(self.spark, f"{_CATALYST}.expressions.Literal").apply(value)


def _current_timestamp(clock: StoppedClock, _: Any) -> Any:
    return clock._literal(clock._instant())


def _current_date(clock: StoppedClock, current: Any) -> Any:
    return clock._literal(clock._local(current.zoneId()).toLocalDate())


def _local_timestamp(clock: StoppedClock, current: Any) -> Any:
    return clock._literal(clock._local(current.zoneId()))


_VALUES: dict[str, Callable[[StoppedClock, Any], Any]] = {
    "CurrentTimestamp": _current_timestamp,
    "Now": _current_timestamp,
    "CurrentDate": _current_date,
    "LocalTimestamp": _local_timestamp,
    "CurrentTime": StoppedClock._time,
}


def _special_word(cast: Any) -> str | None:
    """Return the special string that is cast; None for other strings, and for expressions that are not constant."""
    child = cast.child()
    if java_class_name(child) != "Literal" or child.dataType().typeName() != "string":
        return None
    found = _SPECIAL.fullmatch(str(child.value()))
    return found[1].lower() if found else None


def _expressions(plan: Any, patterns: list[Any]) -> Iterator[Any]:
    """Yield a plan's expressions with these patterns, also in subqueries; Catalyst skips nodes without any."""
    waiting = [plan]
    while waiting:
        node = waiting.pop()
        if any(node.containsPattern(each) for each in patterns):
            yield node
            waiting += children_of(node)
