"""Functions with state in memory, as a batch job calls them: order, timers, and values. No Spark is started."""

from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta, timezone
from decimal import Decimal
from typing import Any

import numpy
import pandas
import pytest
from hypothesis import given
from hypothesis import strategies as some
from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    BooleanType,
    ByteType,
    DataType,
    DateType,
    DecimalType,
    DoubleType,
    FloatType,
    IntegerType,
    LongType,
    MapType,
    StringType,
    StructField,
    StructType,
    TimestampNTZType,
    TimestampType,
)

from graph_compiler import (
    KeyedProcessFunction,
    ListStateDescriptor,
    MapStateDescriptor,
    StateTtlConfig,
    ValueStateDescriptor,
)
from graph_compiler.declaration.operators.process_functions import ProcessContext, Row, StateKind, declared_states
from graph_compiler.spark_runtime.operators import keyed_process
from graph_compiler.spark_runtime.operators.keyed_process import TIME, ProcessPlan, StateType, TimerError, in_memory
from graph_compiler.spark_runtime.operators.state_values import (
    StateValueError,
    checked,
    from_stored,
    is_key_type,
    is_value_type,
    to_stored,
)

pytestmark = pytest.mark.spark
RESULT = StructType([StructField("what", StringType()), StructField("at", LongType())])
TYPES: dict[str, DataType] = {
    "BIGINT": LongType(),
    "STRING": StringType(),
    "INT": IntegerType(),
    "ARRAY<STRING>": ArrayType(StringType()),
    "STRUCT<names: ARRAY<STRING>>": StructType([StructField("names", ArrayType(StringType()))]),
}


def run(function: type[KeyedProcessFunction], *rows: tuple[str, float | None], has_time: bool = True) -> list[Any]:
    """Return what a function makes of rows (name, time in milliseconds) of one key."""
    plan = ProcessPlan(
        name="tests:F",
        function=function,
        rows=StructType([StructField("name", StringType())]),
        key_types=(StringType(),),
        result=RESULT,
        states=tuple(
            StateType(
                declared=state,
                value=TYPES[state.value_type],
                key=None if state.key_type is None else TYPES[state.key_type],
            )
            for state in declared_states(function)
        ),
        has_time=has_time,
    )
    times = ((name, None if time is None else round(time * 1000)) for name, time in rows)
    groups = [(("k",), ({"name": name, TIME: time} for name, time in times))]
    return [(row["what"], row["at"]) for row in in_memory(plan, groups)]


class Names(KeyedProcessFunction):
    """Emits each row, and a timer 10 later."""

    def process_element(self, value: Row, ctx: ProcessContext) -> Iterator[Row]:
        at = ctx.timestamp()
        if at is not None:
            ctx.timer_service().register_event_time_timer(at + 10)
        yield {"what": value["name"], "at": at}

    def on_timer(self, timestamp: int, ctx: ProcessContext) -> Iterator[Row]:
        assert ctx.timestamp() == timestamp
        yield {"what": f"timer of {ctx.get_current_key()}", "at": timestamp}


def test_rows_come_by_time_and_then_all_timers_each_once() -> None:
    found = run(Names, ("b", 5), ("c", 7), ("a", 5), ("none", None))
    rows = [("none", None), ("a", 5), ("b", 5), ("c", 7)]
    assert found == [*rows, ("timer of k", 15), ("timer of k", 17)]


def test_rows_of_one_millisecond_come_by_time() -> None:
    found = run(Names, ("b", 5.1), ("a", 5.9), ("c", -0.5))
    assert found[:3] == [("c", -1), ("b", 5), ("a", 5)]


def test_timers_that_a_timer_adds_fire_between_the_others_and_deleted_ones_do_not() -> None:
    class Chain(Names):
        def on_timer(self, timestamp: int, ctx: ProcessContext) -> Iterator[Row]:
            if timestamp == 15:
                ctx.timer_service().register_event_time_timer(16)
                ctx.timer_service().delete_event_time_timer(17)
            yield {"what": "timer", "at": timestamp}

    fired = [at for what, at in run(Chain, ("a", 5), ("b", 7), ("c", 8)) if what == "timer"]
    assert fired == [15, 16, 18]


@pytest.mark.parametrize("at", [-1, 2**63, 1.5, True, None])
def test_a_timer_at_no_time_is_refused(at: Any) -> None:
    class Odd(Names):
        def process_element(self, value: Row, ctx: ProcessContext) -> Iterator[Row]:
            ctx.timer_service().register_event_time_timer(at)
            yield {"what": "", "at": 1}

    with pytest.raises(TimerError, match="allowed: whole milliseconds since 1970"):
        run(Odd, ("a", 5))


@pytest.mark.parametrize("step", [0, -1])
def test_a_timer_that_would_fire_at_once_is_refused(step: int) -> None:
    class Again(Names):
        def on_timer(self, timestamp: int, ctx: ProcessContext) -> Iterator[Row]:
            ctx.timer_service().register_event_time_timer(timestamp + step)
            yield {"what": "", "at": 1}

    with pytest.raises(TimerError, match="allowed: a later time"):
        run(Again, ("a", 5))


def test_timers_without_end_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    class Endless(Names):
        def on_timer(self, timestamp: int, ctx: ProcessContext) -> Iterator[Row]:
            ctx.timer_service().register_event_time_timer(timestamp + 1)
            yield {"what": "", "at": 1}

    monkeypatch.setattr(keyed_process, "MOST_TIMERS", 50)
    with pytest.raises(TimerError, match="a batch job would never end"):
        run(Endless, ("a", 5))


def test_timers_without_a_time_are_refused() -> None:
    with pytest.raises(TimerError, match=r'allowed: process\(…, time="at"\)'):
        run(Names, ("a", 5), has_time=False)


class Kept(KeyedProcessFunction):
    """Uses each kind of state."""

    total = ValueStateDescriptor("BIGINT")
    names = ListStateDescriptor("STRING")
    by_name = MapStateDescriptor("STRING", "INT", ttl=StateTtlConfig("1 day"))

    def process_element(self, value: Row, ctx: ProcessContext) -> Iterator[Row]:
        self.total.update((self.total.value() or 0) + 1)
        self.names.add(value["name"])
        self.names.get().append("not in the state")
        self.by_name.put(value["name"], len(self.names.get()))
        if value["name"] == "clear":
            self.total.clear()
            self.names.update(["left"])
            self.by_name.remove("a")
        yield {"what": f"{self.total.value()} {self.names.get()} {self.by_name.items()}", "at": None}
        if value["name"] == "clear":
            self.total.update(None)
            self.names.clear()
            self.by_name.clear()
            assert self.by_name.is_empty()


def test_states_have_what_they_were_given() -> None:
    found = [what for what, _ in run(Kept, ("b", 1), ("a", 2), ("clear", 3), ("d", 4))]
    assert found == [
        "1 ['b'] [('b', 1)]",
        "2 ['b', 'a'] [('a', 2), ('b', 1)]",
        "None ['left'] [('b', 1), ('clear', 3)]",
        "1 ['d'] [('d', 1)]",
    ]


class Changing(KeyedProcessFunction):
    """Changes what its states have returned, and does not give it back."""

    seen = ValueStateDescriptor("ARRAY<STRING>")
    last = ValueStateDescriptor("STRUCT<names: ARRAY<STRING>>")
    all = ListStateDescriptor("ARRAY<STRING>")
    by_name = MapStateDescriptor("STRING", "ARRAY<STRING>")

    def process_element(self, value: Row, ctx: ProcessContext) -> Iterator[Row]:
        name = value["name"]
        if self.seen.value() is None:
            given = [name]
            self.seen.update(given)
            given.append("not in the state, either")
            self.last.update({"names": [name]})
            self.all.add([name])
            self.by_name.put("k", [name])
        self.seen.value().append("not in the state")
        self.last.value()["names"].append("not in the state")
        self.all.get()[0].append("not in the state")
        self.by_name.get("k").append("not in the state")
        found = [self.seen.value(), self.last.value()["names"], self.all.get()[0], self.by_name.get("k")]
        yield {"what": " ".join(",".join(each) for each in found), "at": None}


def test_a_state_changes_only_when_it_is_given_a_value() -> None:
    assert [what for what, _ in run(Changing, ("a", 1), ("b", 2))] == ["a a a a", "a a a a"]


def test_states_are_declared_by_the_class_and_its_bases() -> None:
    class More(Kept):
        more = ValueStateDescriptor("INT")
        names = None  # type: ignore[assignment]  # it has no such state any more

    states = {state.name: state for state in declared_states(More)}
    assert list(states) == ["by_name", "more", "total"]
    assert states["by_name"].kind is StateKind.MAP
    assert states["by_name"].milliseconds == 86_400_000
    assert isinstance(Kept.total, ValueStateDescriptor)


def test_a_state_is_not_replaced_by_a_value() -> None:
    class Replaces(Kept):
        def process_element(self, value: Row, ctx: ProcessContext) -> Iterator[Row]:
            self.total = 3  # the mistake
            yield {"what": "", "at": 1}

    with pytest.raises(AttributeError, match=r"'total' is a state: call its methods"):
        run(Replaces, ("a", 1))


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ({"what": "a"}, "allowed: what, at"),
        ({"what": "a", "at": 1, "more": 2}, "allowed: what, at"),
        ({"what": 3, "at": 1}, "'what' is 3, a int"),
        ({"what": "a", "at": 1.5}, "'at' is 1.5, a float"),
        ({"what": "a", "at": 2**63}, "allowed: a value of BIGINT"),
        (("a", 1), "a tuple as a row"),
    ],
)
def test_a_result_that_is_no_row_of_the_schema_is_refused(row: Any, message: str) -> None:
    class Returns(KeyedProcessFunction):
        def process_element(self, value: Row, ctx: ProcessContext) -> list[Any]:
            return [row]

    with pytest.raises(StateValueError, match="what process_element of tests:F returned") as error:
        run(Returns, ("a", 1))
    assert message in str(error.value)


def test_one_row_that_is_returned_and_not_yielded_is_refused() -> None:
    class Returns(KeyedProcessFunction):
        def process_element(self, value: Row, ctx: ProcessContext) -> Any:
            return {"what": "a", "at": 1}

    with pytest.raises(StateValueError, match="is a dict\n  allowed: rows, by yield"):
        run(Returns, ("a", 1))


@pytest.mark.parametrize(
    ("kind", "value", "expected"),
    [
        (IntegerType(), numpy.int64(3), 3),
        (DoubleType(), 3, 3.0),
        (FloatType(), 0.1, 0.10000000149011612),
        (FloatType(), -(2**24), -16777216.0),
        (DecimalType(5, 2), Decimal("1.5"), Decimal("1.50")),
        (DecimalType(5, 2), 7, Decimal("7.00")),
        (DecimalType(5, 2), Decimal("1E+2"), Decimal("100.00")),
        (TimestampType(), datetime(2024, 1, 1, 1), datetime(2024, 1, 1, 1, tzinfo=UTC)),
        (
            TimestampType(),
            datetime(2024, 1, 1, 1, tzinfo=timezone(timedelta(hours=1))),
            datetime(2024, 1, 1, tzinfo=UTC),
        ),
        (MapType(StringType(), IntegerType()), {"b": 1, "a": None}, {"a": None, "b": 1}),
        (BinaryType(), bytearray(b"a"), b"a"),
        (ArrayType(IntegerType()), (1, None), [1, None]),
    ],
)
def test_a_value_is_held_as_its_type_holds_it(kind: DataType, value: Any, expected: Any) -> None:
    found = checked(value, kind, "it")
    assert (found, type(found)) == (expected, type(expected))
    assert str(from_stored(to_stored(found, kind), kind)) == str(expected)


@pytest.mark.parametrize(
    ("kind", "value"),
    [
        (ByteType(), 128),
        (IntegerType(), True),
        (IntegerType(), 1.0),
        (IntegerType(), "1"),
        (BooleanType(), 1),
        (DoubleType(), 2**53 + 1),
        (FloatType(), 1e39),
        (FloatType(), 2**24 + 1),
        (DecimalType(5, 2), Decimal("1.505")),
        (DecimalType(5, 2), Decimal(1000)),
        (DecimalType(5, 2), Decimal("NaN")),
        (DecimalType(5, 2), 1.5),
        (DateType(), datetime(2024, 1, 1)),
        (TimestampType(), date(2024, 1, 1)),
        (TimestampType(), pandas.Timestamp("2024-01-01T00:00:00.123456789")),
        (TimestampType(), pandas.Timestamp("2024-01-01T00:00:00.123456789Z")),
        (TimestampNTZType(), pandas.Timestamp("2024-01-01T00:00:00.123456789")),
        (TimestampNTZType(), pandas.NaT),
        (TimestampType(), pandas.NaT),
        (TimestampNTZType(), datetime(2024, 1, 1, tzinfo=UTC)),
        (StringType(), b"a"),
        (ArrayType(IntegerType()), "ab"),
        (ArrayType(IntegerType()), [1.5]),
        (MapType(StringType(), IntegerType()), [("a", 1)]),
        (StructType([StructField("a", IntegerType())]), {"b": 1}),
        (StructType([StructField("a", IntegerType())]), (1,)),
    ],
)
def test_a_value_that_its_type_would_change_is_refused(kind: DataType, value: Any) -> None:
    with pytest.raises(StateValueError):
        checked(value, kind, "it")


def test_types_of_keys_and_values() -> None:
    no_keys: list[DataType] = [DoubleType(), FloatType(), ArrayType(StringType()), MapType(StringType(), StringType())]
    assert not any(map(is_key_type, [*no_keys, StructType([]), StringType("UTF8_LCASE")]))
    assert is_value_type(ArrayType(StructType([StructField("a", MapType(DateType(), DoubleType()))])))
    assert not is_value_type(ArrayType(MapType(DoubleType(), DateType())))


LEAVES: list[tuple[DataType, some.SearchStrategy[Any]]] = [
    (LongType(), some.integers(-(2**63), 2**63 - 1)),
    (StringType(), some.text()),
    (DateType(), some.dates()),
    (TimestampType(), some.datetimes(timezones=some.just(UTC))),
    (TimestampNTZType(), some.datetimes()),
    (DecimalType(38, 9), some.decimals(-(10**28), 10**28, places=9)),
    (DoubleType(), some.floats(allow_nan=False)),
    (BinaryType(), some.binary()),
]


@given(some.data())
def test_what_is_stored_comes_back(data: some.DataObject) -> None:
    kind, values = data.draw(some.sampled_from(LEAVES))
    nested = StructType([StructField("a", ArrayType(kind)), StructField("b", kind)])
    value = {"a": data.draw(some.lists(some.none() | values, max_size=3)), "b": data.draw(values)}
    held = checked(value, nested, "it")
    assert held == value
    assert from_stored(to_stored(held, nested), nested) == held
