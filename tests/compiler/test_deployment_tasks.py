"""Which regions share a task, and what keeps them apart."""

from collections.abc import Callable

import pytest

from graph_compiler import Csv, DataStream, Parquet, StreamExecutionEnvironment
from graph_compiler.compiler.pipeline_compiler import compile_pipeline
from graph_compiler.declaration.pipeline import Pipeline
from graph_compiler.graphs.compiled_pipeline import CompiledPipeline
from graph_compiler.graphs.stream_graph import StagingReason
from tests.conftest import with_options
from tests.harness.compiled_graphs import region_edges

ONE_TASK = "a retry must not repeat it"


def compiled(env: StreamExecutionEnvironment | Pipeline) -> CompiledPipeline:
    return compile_pipeline(env if isinstance(env, Pipeline) else env.pipeline())


def tasks(compiled: CompiledPipeline) -> dict[str, tuple[str, ...]]:
    return {task.id: tuple(task.region_ids) for task in compiled.deployment.tasks}


def apart(compiled: CompiledPipeline) -> dict[tuple[str, str], str]:
    return {(each.task, each.other): each.explanation for each in compiled.deployment.apart}


def dependencies(compiled: CompiledPipeline) -> set[tuple[str, str]]:
    task_of = compiled.deployment.task_of_vertex
    return {(task_of(edge.source_id).id, task_of(edge.target_id).id) for edge in compiled.task_edges()}


def rows(env: StreamExecutionEnvironment, name: str = "clean") -> DataStream:
    """Declare a source and an operator, which a region is named after if it is staged."""
    return env.from_source(Csv(f"/in/{name}"), f"{name}_in").filter("x > 0").name(name)


def report(stream: DataStream, name: str) -> DataStream:
    """Declare an aggregate with a sink of the same name."""
    totals = stream.key_by("x").aggregate(n="count(*)").name(f"{name}_totals")
    totals.sink_to(Parquet(f"/out/{name}")).name(name)
    return totals


def test_six_reports_after_one_stage_share_a_task(env: StreamExecutionEnvironment) -> None:
    clean = rows(env).stage("read by six reports")
    names = tuple(f"report_{number}" for number in range(6))
    for name in names:
        report(clean, name)
    found = compiled(env)
    assert tasks(found) == {"clean": ("clean",), "report_0": names}
    assert dependencies(found) == {("clean", "report_0")}
    assert found.deployment.apart == ()


def test_independent_branches_share_a_task(env: StreamExecutionEnvironment) -> None:
    for name in ("orders", "users"):
        report(rows(env, f"{name}_clean"), name)
    found = compiled(env)
    assert tasks(found) == {"orders": ("orders", "users")}
    assert found.task_edges() == ()


def test_reports_of_different_inputs_stay_apart(env: StreamExecutionEnvironment) -> None:
    for name in ("orders", "users"):
        report(rows(env, f"{name}_clean").stage("slow"), name)
    found = compiled(env)
    assert tasks(found) == {
        "orders_clean": ("orders_clean",),
        "users_clean": ("users_clean",),
        "orders": ("orders",),
        "users": ("users",),
    }


def test_same_task_stays_in_one_application_and_forms_its_own_region(env: StreamExecutionEnvironment) -> None:
    report(rows(env).stage(ONE_TASK, same_task=True), "by_day")
    found = compiled(env)
    assert tasks(found) == {"clean": ("clean", "by_day")}
    (edge,) = region_edges(found)
    assert found.task_edges() == ()
    assert edge.staging is not None
    assert edge.staging.reason is StagingReason.DECLARED_IN_TASK
    assert edge.staging.explanation == f'because you asked: "{ONE_TASK}"'


def test_all_readers_of_same_task_are_in_it(env: StreamExecutionEnvironment) -> None:
    two_readers(rows(env).stage(ONE_TASK, same_task=True))
    assert tasks(compiled(env)) == {"clean": ("clean", "by_day", "by_user")}


def test_stage_wins_over_same_task_in_one_path(env: StreamExecutionEnvironment) -> None:
    stream = rows(env).stage("for others", same_task=False).stage(ONE_TASK, same_task=True)
    report(stream, "by_day")
    found = compiled(env)
    assert tasks(found) == {"clean": ("clean",), "by_day": ("by_day",)}
    assert {edge.staging.reason for edge in region_edges(found) if edge.staging} == {StagingReason.DECLARED}


def expensive(stream: DataStream) -> DataStream:
    return stream.sql("SELECT * FROM {input}").name("scored").expensive()


def two_readers(stream: DataStream) -> None:
    report(stream, "by_day")
    report(stream, "by_user")


def test_readers_of_an_expensive_operator_run_in_its_task(env: StreamExecutionEnvironment) -> None:
    two_readers(expensive(rows(env)))
    found = compiled(env)
    assert tasks(found) == {"scored": ("scored", "by_day", "by_user")}
    assert len(region_edges(found)) == 2
    assert found.deployment.apart == ()


def test_a_region_that_another_task_waits_for_stays_apart_from_its_sibling(env: StreamExecutionEnvironment) -> None:
    """by_day has a reader in another task: in one task with by_user, that would wait for by_user, too."""
    clean = rows(env).stage("read by two")
    by_day = clean.key_by("x").aggregate(n="count(*)").name("by_day")
    report(by_day.stage("another host"), "late")
    report(clean, "by_user")
    found = compiled(env)
    assert tasks(found) == {"clean": ("clean",), "by_day": ("by_day",), "late": ("late",), "by_user": ("by_user",)}
    assert apart(found) == {("by_day", "by_user"): "'late' waits for 'by_day' only"}


def test_readers_that_wait_for_more_stay_apart_from_what_they_read(env: StreamExecutionEnvironment) -> None:
    """scored is there before slow is: in one task with their join, it would have to wait."""
    slow = rows(env, "slow").stage("takes hours")
    scored = expensive(rows(env))
    report(scored, "by_day")
    scored.join(slow, on="x").name("both").sink_to(Parquet("/out/both")).name("both_out")
    found = compiled(env)
    assert tasks(found) == {"scored": ("scored",), "slow": ("slow",), "by_day": ("by_day",), "both_out": ("both_out",)}
    why = "'scored' does not wait for 'slow'"
    assert apart(found) == {("scored", "by_day"): why, ("scored", "both_out"): why}


def test_a_reader_that_another_task_waits_for_separates_readers_from_what_they_read(
    env: StreamExecutionEnvironment,
) -> None:
    """In one task, late would wait for by_user, which it does not read."""
    scored = expensive(rows(env))
    by_day = scored.key_by("x").aggregate(n="count(*)").name("by_day")
    report(by_day.stage("another host"), "late")
    report(scored, "by_user")
    found = compiled(env)
    assert tasks(found) == {id: (id,) for id in ("scored", "by_day", "late", "by_user")}
    assert set(apart(found).values()) == {"'late' waits for 'by_day' only"}


def test_readers_between_which_rows_are_staged_for_another_task_stay_apart(env: StreamExecutionEnvironment) -> None:
    scored = expensive(rows(env))
    by_day = scored.key_by("x").aggregate(n="count(*)").name("by_day").stage("another host")
    scored.join(by_day, on="x").name("both").sink_to(Parquet("/out")).name("out")
    found = compiled(env)
    assert tasks(found) == {id: (id,) for id in ("scored", "by_day", "out")}
    assert set(apart(found).values()) == {"other rows between them are staged for another task"}


GROUPS = "their slot sharing groups differ"


def test_different_slot_sharing_groups_stay_apart(env: StreamExecutionEnvironment) -> None:
    clean = rows(env).stage("read by three")
    for name, group in (("small", "small"), ("large", "big"), ("also_large", "big")):
        totals = clean.key_by("x").aggregate(n="count(*)").slot_sharing_group(group)
        totals.name(f"{name}_totals").sink_to(Parquet(f"/out/{name}")).name(name)
    found = compiled(env)
    assert tasks(found) == {"clean": ("clean",), "small": ("small",), "large": ("large", "also_large")}
    assert {task.id: task.slot_sharing_group.name for task in found.deployment.tasks} == {
        "clean": "default",
        "small": "small",
        "large": "big",
    }


@pytest.mark.parametrize("same_task", [True, False])
def test_a_reader_in_another_slot_sharing_group_is_refused_its_task(
    same_task: bool, env: StreamExecutionEnvironment
) -> None:
    """Neither a request nor an expensive operator is a reason to run with other resources."""
    stream = rows(env).stage(ONE_TASK, same_task=True) if same_task else expensive(rows(env))
    big = stream.rebalance().filter("x > 1").name("large").slot_sharing_group("big")
    big.sink_to(Parquet("/out")).name("out")
    found = compiled(env)
    first = "clean" if same_task else "scored"
    assert tasks(found) == {first: (first,), "out": ("out",)}
    assert apart(found) == {(first, "out"): GROUPS}


def test_different_pinned_ids_stay_apart_and_one_names_the_task(env: StreamExecutionEnvironment) -> None:
    clean = rows(env).stage("read by three")
    for name, pin in (("a", None), ("b", "daily"), ("c", None)):
        sink = clean.key_by("x").aggregate(n="count(*)").sink_to(Parquet(f"/out/{name}")).name(name)
        if pin is not None:
            sink.task_id(pin)
    assert tasks(compiled(env)) == {"clean": ("clean",), "daily": ("a", "daily", "c")}
    report_d = clean.key_by("x").aggregate(n="count(*)").sink_to(Parquet("/out/d")).name("d")
    report_d.task_id("weekly")
    found = compiled(env)
    assert tasks(found) == {"clean": ("clean",), "daily": ("daily",), "weekly": ("weekly",), "a": ("a", "c")}
    why = "their task ids are pinned: 'daily' and 'weekly'"
    assert [(one.task, one.other, one.explanation) for one in found.deployment.apart] == [
        ("daily", "weekly", why),
        ("daily", "a", why),
    ]


def test_a_pinned_reader_and_a_pinned_producer_stay_apart(env: StreamExecutionEnvironment) -> None:
    scored = expensive(rows(env)).task_id("scores")
    two_readers(scored)
    assert tasks(compiled(env)) == {"scores": ("scores", "by_day", "by_user")}
    totals = scored.key_by("x").aggregate(n="count(*)").name("totals")
    totals.sink_to(Parquet("/out/t")).name("pinned_out").task_id("pinned")
    found = compiled(env)
    assert tasks(found)["scores"] == ("scores",)
    words = "their task ids are pinned: 'pinned' and 'scores'"
    assert set(apart(found).values()) == {words}


def test_same_task_over_a_path_through_another_task_is_refused(env: StreamExecutionEnvironment) -> None:
    """clean → between (another task) → both, beside clean → both in the same task."""
    clean = rows(env)
    between = clean.stage("for others").filter("x > 1").name("between").stage("for others")
    clean.stage(ONE_TASK, same_task=True).join(between, on="x").name("both").sink_to(Parquet("/out")).name("out")
    found = compiled(env)
    assert tasks(found) == {"clean": ("clean",), "between": ("between",), "out": ("out",)}
    assert apart(found) == {("clean", "out"): "'between', in another task, runs between them"}


def test_same_task_beside_rows_that_are_staged_for_another_task_is_refused(env: StreamExecutionEnvironment) -> None:
    clean = rows(env)
    shown = clean.stage(ONE_TASK, same_task=True)
    clean.stage("for others").join(shown, on="x").name("both").sink_to(Parquet("/out")).name("out")
    found = compiled(env)
    assert tasks(found) == {"clean": ("clean",), "out": ("out",)}
    assert apart(found) == {("clean", "out"): "other rows between them are staged for another task"}


def without_sharing(env: StreamExecutionEnvironment) -> Pipeline:
    return with_options(env.pipeline(), task_sharing="false")


Declare = Callable[[StreamExecutionEnvironment], None]


@pytest.mark.parametrize(
    "declare",
    [
        lambda env: two_readers(rows(env).stage("read by two")),
        lambda env: two_readers(expensive(rows(env))),
        lambda env: [report(rows(env, name), name) for name in ("a", "b")],
    ],
    ids=["siblings", "readers", "branches"],
)
def test_without_task_sharing_each_region_is_a_task(declare: Declare, env: StreamExecutionEnvironment) -> None:
    declare(env)
    found = compiled(without_sharing(env))
    ids = [region.id for region in found.deployment.regions]
    assert tasks(found) == {id: (id,) for id in ids}
    assert len(tasks(found)) > len(tasks(compiled(env)))
    assert found.deployment.apart == ()


def test_a_request_counts_without_task_sharing(env: StreamExecutionEnvironment) -> None:
    clean = rows(env)
    report(clean.stage(ONE_TASK, same_task=True), "by_day")
    report(clean.stage("for others"), "by_user")
    assert tasks(compiled(without_sharing(env))) == {"clean": ("clean", "by_day"), "by_user": ("by_user",)}


@pytest.mark.parametrize(
    ("mode", "expected"), [("ALL_EXCHANGES_BLOCKING", ["clean", "by_day"]), ("ALL_EXCHANGES_PIPELINED", ["by_day"])]
)
def test_a_request_changes_nothing_in_other_modes(
    mode: str, expected: list[str], env: StreamExecutionEnvironment
) -> None:
    report(rows(env).stage(ONE_TASK, same_task=True), "by_day")
    found = compiled(with_options(env.pipeline(), shuffle_mode=mode))
    assert tasks(found) == {id: (id,) for id in expected}


def test_a_request_joins_what_other_tasks_wait_for(env: StreamExecutionEnvironment) -> None:
    """A requested task is not refused because another one waits for the first of its regions."""
    clean = rows(env)
    report(clean.stage(ONE_TASK, same_task=True), "by_day")
    report(clean.stage("for others"), "by_user")
    found = compiled(env)
    assert tasks(found) == {"clean": ("clean", "by_day"), "by_user": ("by_user",)}
    assert found.deployment.apart == ()


def test_a_task_has_the_name_of_its_region_that_was_declared_first(env: StreamExecutionEnvironment) -> None:
    for names in (("first", "second"), ("second", "first")):
        env = StreamExecutionEnvironment("p")
        for name in names:
            report(rows(env, f"{name}_clean"), name)
        assert list(tasks(compiled(env))) == [names[0]]
