"""How much Python a Dag file costs when it is parsed: counted in calls of functions, which no load changes."""

from __future__ import annotations

import cProfile
import pstats
from collections.abc import Callable
from datetime import datetime

import pytest

from graph_compiler import Csv, Parquet, StreamExecutionEnvironment
from graph_compiler.declaration import Pipeline
from pipelines.flights import env as flights

pytestmark = pytest.mark.airflow

FEW = 2_500
"""Calls for each operator of flights: 2,130 when this was written, Airflow's and Jinja's among them."""


def calls(parse: Callable[[], object]) -> int:
    """Return how many functions a second call calls; the first one fills caches."""
    parse()
    profile = cProfile.Profile()
    profile.runcall(parse)
    counts = pstats.Stats(profile).stats.values()  # type: ignore[attr-defined]  # typeshed has no `stats`
    return sum(count for _, count, *_ in counts)


def declared(number: int) -> StreamExecutionEnvironment:
    env = StreamExecutionEnvironment(f"p{number}")
    orders = env.from_source(Csv(f"/in/{number}/orders", schema="id INT, customer INT, amount DOUBLE"), "orders")
    large = orders.filter("amount > 10").with_columns(vat="amount * 0.2")
    large.key_by("customer").aggregate(total="sum(amount)").sink_to(Parquet(f"/out/{number}"))
    return env


def dag_of(pipeline: Pipeline) -> None:
    from graph_compiler.airflow_backend import build_dag

    build_dag(pipeline, schedule="@daily", start_date=datetime(2026, 1, 1))


def dags(count: int) -> None:
    for number in range(count):
        dag_of(declared(number).pipeline())


def groups(count: int) -> None:
    from airflow.sdk import DAG

    from graph_compiler.airflow_backend import build_task_group

    with DAG("many", schedule="@daily", start_date=datetime(2026, 1, 1)):
        for number in range(count):
            build_task_group(declared(number))


def operators(count: int) -> None:
    env = StreamExecutionEnvironment("long")
    rows = env.from_source(Csv("/in", schema="id INT, amount DOUBLE"), "in")
    for number in range(count):
        rows = rows.filter(f"amount > {number}").key_by("id").aggregate(amount="sum(amount)")
    rows.sink_to(Parquet("/out"))
    dag_of(env.pipeline())


def test_an_operator_costs_few_calls() -> None:
    count = len(flights.pipeline().operators)
    found = calls(lambda: dag_of(flights.pipeline()))
    assert found / count < FEW


@pytest.mark.parametrize("many", [dags, groups, operators])
def test_four_times_as_much_costs_four_times_as_many_calls(many: Callable[[int], None]) -> None:
    assert calls(lambda: many(32)) < 4.4 * calls(lambda: many(8))
