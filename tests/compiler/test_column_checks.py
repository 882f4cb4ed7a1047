"""Columns that no input has are found without Spark; what is not certain is not said."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from graph_compiler import Csv, DataStream, Parquet, StreamExecutionEnvironment, TumblingEventTimeWindows
from graph_compiler.compiler.checks.column_checks import ColumnVerdict, judge_columns, misspelled_functions

ORDERS = "id BIGINT, customer INT, amount DECIMAL(9, 2), at TIMESTAMP, `unit price` DOUBLE"


class Declared:
    """A pipeline with orders and customers."""

    def __init__(self, schema: str | None = ORDERS) -> None:
        """Declare both sources."""
        self.env = StreamExecutionEnvironment("p")
        self.orders = self.env.from_source(Csv("/in/orders", schema=schema), "orders")
        self.customers = self.env.from_source(Csv("/in/customers", schema="customer INT, name STRING"), "customers")

    def judged(self, *streams: DataStream) -> ColumnVerdict:
        for number, stream in enumerate(streams):
            stream.sink_to(Parquet(f"/out/{number}"))
        return judge_columns(self.env.pipeline())


def words(verdict: ColumnVerdict) -> list[str]:
    return [f"{problem.operator}: {problem.message}" for problem in verdict.problems]


def test_all_problems_are_found_at_once_with_a_hint_and_their_place() -> None:
    declared = Declared()
    late = declared.orders.filter("amuont > 5").name("late").with_columns(double="Amount * 2", third="double + amt")
    found = declared.judged(late, declared.orders.key_by("custmer").aggregate(total="sum(amount)"))
    assert words(found) == [
        "late: there is no column 'amuont', which 'amuont > 5' reads",
        "With Columns: there is no column 'amt', which 'double + amt' reads",
        "Aggregate: there is no column 'custmer'",
    ]
    first = found.problems[0]
    assert first.allowed == "id, customer, amount, at and unit price"
    assert first.hint == "did you mean 'amount'?"
    assert first.declared_at is not None
    assert first.declared_at.file.endswith("test_column_checks.py")


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("drop", "there is no column 'nothing'"),
        ("rename", "there is no column 'nothing'"),
        ("cast", "there is no column 'nothing'"),
        ("sort", "there is no column 'nothing', which 'nothing DESC' reads"),
        ("unique", "there is no column 'nothing'"),
        ("fresh", "there is no column 'nothing'"),
        ("distinct", "there is no column 'nothing'"),
        ("window", "there is no column 'nothing'"),
        ("flat", "there is no column 'nothing', which 'explode(nothing)' reads"),
    ],
)
def test_operators_by_name(name: str, message: str) -> None:
    declared = Declared()
    orders = declared.orders
    calls = {
        "drop": lambda: orders.drop("nothing"),
        "rename": lambda: orders.rename({"nothing": "something"}),
        "cast": lambda: orders.cast(nothing="INT"),
        "sort": lambda: orders.sort("nothing DESC"),
        "unique": lambda: orders.expect_unique("keys", "nothing"),
        "fresh": lambda: orders.expect_fresh("newest", "nothing", "2 days"),
        "distinct": lambda: orders.deduplicate("nothing", order_by="amount"),
        "window": lambda: orders.window_all(TumblingEventTimeWindows("nothing", "1 hour")).aggregate(n="count(*)"),
        "flat": lambda: orders.flat_map("explode(nothing)", "one"),
    }
    (problem,) = declared.judged(calls[name]()).problems
    assert problem.message == message


TOGETHER: dict[str, Callable[[DataStream, DataStream], DataStream]] = {
    "renamed to another": lambda s, _: s.rename({"id": "Customer"}),
    "generated beside": lambda s, _: s.flat_map("explode(array(1))", "ID"),
    "joined": lambda s, o: s.join(o.with_columns(ID="1"), on="customer"),
    "joined by other names": lambda s, o: s.join(o.rename({"customer": "id"}), on={"customer": "id"}),
    "set": lambda s, o: s.except_(o),
    "union": lambda s, _: s.select("id", "at").union(s.select("ID", "amount")).filter("id > 1"),
}
WORDS = {
    "renamed to another": "Rename: it renames a column to 'Customer', and its input already has a column 'Customer'",
    "generated beside": "Flat Map: it adds a column 'ID', and its input already has a column 'ID'",
    "joined": "Join: both sides of the join have columns called id",
    "joined by other names": "Join: both sides of the join have columns called id",
    "set": "Except: its inputs have different columns: only one has amount, at, id, name and unit price",
    "union": "union: it is a union of streams with different columns: only one has amount and at",
}


@pytest.mark.parametrize("name", TOGETHER)
def test_columns_that_do_not_go_together(name: str) -> None:
    declared = Declared()
    assert words(declared.judged(TOGETHER[name](declared.orders, declared.customers))) == [WORDS[name]]


def test_columns_that_go_together_or_are_unknown() -> None:
    declared, unknown = Declared(), Declared(schema=None)
    orders, customers = declared.orders, declared.customers
    fine = [
        orders.rename({"id": "customer", "customer": "ID"}),
        orders.join(customers, on="customer", how="left"),
        orders.join(customers.with_columns(id="1"), on="customer", how="semi"),
        orders.except_(orders.select("at", "ID", "amount", "customer", "unit price")),
        orders.select("id", "at").union(orders.select("AT", "ID")).filter("id > 1"),
        orders.union_by_name(customers, allow_missing_columns=True),
    ]
    assert declared.judged(*fine).problems == ()
    others = [unknown.orders.except_(unknown.customers), unknown.orders.union(unknown.customers).filter("customer > 1")]
    assert unknown.judged(*others).problems == ()


def test_both_sides_of_a_join() -> None:
    declared = Declared()
    by_key = declared.orders.join(declared.customers, on={"id": "no"}, how="semi").name("by key")
    by_condition = declared.orders.join(
        declared.customers, condition="left.customer = right.custom AND amount > 5 AND nothing", how="semi"
    ).name("by condition")
    found = declared.judged(by_key, by_condition)
    assert words(found) == [
        "by key: there is no column 'no'",
        "by condition: there is no column 'custom' on its right, which "
        "'left.customer = right.custom AND amount > 5 AND nothing' reads",
        "by condition: there is no column 'nothing', which "
        "'left.customer = right.custom AND amount > 5 AND nothing' reads",
    ]
    assert found.problems[1].allowed == "customer and name"


def test_the_keys_and_folders_of_a_sink() -> None:
    declared = Declared()
    declared.orders.sink_to(Parquet("/out/merged"), mode="merge", keys=["di"]).name("merged")
    declared.orders.sink_to(Parquet("/out/days"), partition_by=["day"]).name("days")
    assert words(declared.judged()) == ["merged: there is no column 'di'", "days: there is no column 'day'"]


def test_a_condition_that_is_none() -> None:
    declared = Declared()
    found = declared.judged(declared.orders.filter("amount").name("all"), declared.orders.filter("amount > 0"))
    assert words(found) == ["all: its condition 'amount' is DECIMAL(9,2)"]


def test_nothing_is_said_of_what_is_not_known() -> None:
    declared = Declared(schema=None)
    some = declared.orders.filter("nothing > 5").key_by("none").aggregate(total="sum(nothing)")
    found = declared.judged(some, declared.customers.filter("exists(array(name), one -> one = 'x')"))
    assert (found.problems, found.checked, found.unknown) == ((), 0, 4)


def test_names_of_awkward_columns_and_other_cases_are_found() -> None:
    declared = Declared()
    found = declared.judged(declared.orders.select(price="`Unit Price` * 2", again="price + ID"))
    assert (found.problems, found.unknown) == ((), 0)


def test_types_that_do_not_fit_are_found_where_they_are_known() -> None:
    declared = Declared()
    steps = declared.orders.with_columns(day="CAST(at AS DATE)", twice="amount * 2").name("steps")
    late = steps.filter("day > 5 AND twice > 5").name("late")
    condition = "left.customer = right.customer AND right.name > left.day"
    joined = late.join(declared.customers, condition=condition, how="semi")
    found = declared.judged(joined.name("joined"), steps.key_by("day").aggregate(total="sum(day)").name("total"))
    assert words(found) == [
        "late: 'day > 5': a comparison does not take DATE with INT",
        "total: 'sum(day)': sum does not take DATE",
    ]
    first = found.problems[0]
    assert first.allowed == "DATE with STRING, DATE, TIMESTAMP and TIMESTAMP_NTZ"
    assert first.declared_at is not None
    assert (found.typed, found.untyped) == (3, 2)  # not known: amount * 2, and what compares it


def test_a_name_of_another_type_on_each_side_has_no_type() -> None:
    declared = Declared()
    other = declared.env.from_source(Csv("/in/other", schema="amount STRING, code INT"), "other")
    condition = "amount > 5 AND right.amount LIKE 'a%' AND NOT left.amount"
    both = declared.orders.join(other, condition=condition, how="anti")
    assert words(declared.judged(both.name("both"))) == ["both: 'NOT left.amount': NOT does not take DECIMAL(9,2)"]


def test_paired_columns_of_other_types_are_found() -> None:
    declared = Declared()
    on = {"at": "customer", "id": "name"}
    joined = declared.orders.join(declared.customers, on=on, how="semi").name("joined")
    assert words(declared.judged(joined)) == [
        "joined: 'left.at = right.customer': a comparison does not take TIMESTAMP with INT"
    ]


def test_names_of_the_operators_own_columns_may_have_each_type() -> None:
    declared = Declared()
    found = declared.judged(declared.orders.with_columns(id="at", later="id + INTERVAL 1 DAY"))
    assert found.problems == ()


def test_a_misspelled_function_is_a_warning() -> None:
    declared = Declared()
    declared.orders.with_columns(
        a="uper('x')", b="my_own_function(id)", c="CASE WHEN true THEN lenght('x') END"
    ).sink_to(Parquet("/out"))
    found = list(misspelled_functions(declared.env.pipeline()))
    assert [problem.message for problem in found] == [
        "Spark has no function 'uper', which \"uper('x')\" calls",
        "Spark has no function 'lenght', which \"CASE WHEN true THEN lenght('x') END\" calls",
    ]
    assert found[0].hint == "did you mean 'upper'? If you register it, leave it as it is"
