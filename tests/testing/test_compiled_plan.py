"""Assertions on plans: failures show what was found, where, and why."""

from collections.abc import Callable

import pytest

from graph_compiler import Csv, Parquet, StreamExecutionEnvironment
from graph_compiler.graphs.operator_names import OperatorNotFoundError
from graph_compiler.testing import CompiledPlan
from graph_compiler.testing.compiled_plan import UnknownReasonError
from pipelines.flights import env as flights
from tests.conftest import alternating_groups, expensive_and_checked, staged_detour


@pytest.fixture
def plan(compiled_plan: Callable[[StreamExecutionEnvironment], CompiledPlan]) -> CompiledPlan:
    return compiled_plan(flights)


def test_tasks_and_vertices_are_listed(plan: CompiledPlan) -> None:
    assert plan.tasks == ("with_weather", "late_routes")
    assert plan.task_of("flown.cancelled") == "with_weather"
    assert plan.vertex_of("sink late_routes").endswith("Sink: late_routes)")


def test_each_staging_reason_is_found() -> None:
    CompiledPlan.of(staged_detour()).assert_staged("A", "B", because="WOULD_CYCLE")
    plan = CompiledPlan.of(alternating_groups())
    plan.assert_staged("A", "B", because="SLOT_SHARING_GROUP_DIFFERS")
    plan.assert_different_tasks("A", "B")
    plan = CompiledPlan.of(expensive_and_checked())
    plan.assert_staged("scored", "clean", because="EXPENSIVE")
    plan.assert_staged("clean", "total_day", because="CONTRACT")


FAILURES: dict[str, tuple[Callable[[CompiledPlan], None], tuple[str, ...]]] = {
    "other tasks": (
        lambda plan: plan.assert_tasks("with_weather"),
        ("flights: the tasks are with_weather and late_routes, not with_weather",),
    ),
    "not in one task": (
        lambda plan: plan.assert_same_task("flown", "lateness"),
        (
            "'flown' is in task with_weather, 'lateness' in task late_routes",
            "flown → arrival_is_known: chained",
            '  with_weather → facts: forward · staged because you asked: "the join is expensive; '
            'do not repeat it when a later step fails" (DECLARED) · task with_weather → late_routes',
            "  facts → lateness: hash(carrier, origin, dest) · in memory; a new vertex, because "
            "rows are redistributed before it (NOT_FORWARD)",
            "  tasks: with_weather and late_routes",
        ),
    ),
    "in one task": (
        lambda plan: plan.assert_different_tasks("flown", "with_weather"),
        ("'flown' and 'with_weather' are both in task with_weather",),
    ),
    "staged for another reason": (
        lambda plan: plan.assert_staged("with_weather", "facts", because="EXPENSIVE"),
        ("are staged because of DECLARED, not EXPENSIVE",),
    ),
    "not staged": (
        lambda plan: plan.assert_staged("facts", "lateness"),
        ("nothing is staged between 'facts' and 'lateness'", "in memory"),
    ),
    "staged on the way": (
        lambda plan: plan.assert_not_staged("flown", "lateness"),
        ("rows are staged between 'flown' and 'lateness'",),
    ),
    "no way": (lambda plan: plan.assert_staged("carriers", "planes"), ("no rows go from 'carriers' to 'planes'",)),
    "not chained": (
        lambda plan: plan.assert_chained("facts", "lateness"),
        ("'facts' is in the chain facts\n  'lateness' is in the chain lateness", "(NOT_FORWARD)"),
    ),
    "chained": (
        lambda plan: plan.assert_not_chained("flown", "arrival_is_known"),
        ("'flown' and 'arrival_is_known' are in one chain: Source: flights -> flown",),
    ),
    "not chained for another reason": (
        lambda plan: plan.assert_not_chained("facts", "lateness", because="PARALLELISM_DIFFERS"),
        ("are not in one chain because of NOT_FORWARD, not PARALLELISM_DIFFERS",),
    ),
}


@pytest.mark.parametrize(("claim", "words"), FAILURES.values(), ids=FAILURES.keys())
def test_failed_assertions_say_what_differs(
    claim: Callable[[CompiledPlan], None], words: tuple[str, ...], plan: CompiledPlan
) -> None:
    with pytest.raises(AssertionError) as failed:
        claim(plan)
    for each in words:
        assert each in str(failed.value)


def test_misspelled_names_and_reasons_are_usage_errors(plan: CompiledPlan) -> None:
    with pytest.raises(OperatorNotFoundError, match="did you mean 'lateness'?"):
        plan.task_of("latenes")
    with pytest.raises(
        UnknownReasonError, match=r"no StagingReason 'DECLARD'\n  allowed: DECLARED, DECLARED_IN_TASK, EXPENSIVE"
    ) as refused:
        plan.assert_staged("with_weather", "facts", because="DECLARD")
    assert "did you mean 'DECLARED'?" in str(refused.value)


def test_many_diamonds_do_not_take_exponential_time(env: StreamExecutionEnvironment) -> None:
    stream = env.from_source(Csv("/in"), "in")
    for step in range(40):
        stream = stream.filter("a > 0").union(stream.filter("a < 0")).filter("true").name(f"s{step}")
    stream.sink_to(Parquet("/out")).name("out")
    with pytest.raises(AssertionError, match="nothing is staged between 'in' and 's39'"):
        CompiledPlan.of(env).assert_staged("in", "s39")
