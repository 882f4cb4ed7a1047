"""The fault harness chooses its cases by seed, and they cover everything they must."""

from itertools import permutations

import pytest

from graph_compiler.compiler.pipeline_compiler import compile_pipeline
from graph_compiler.deployment.describe.region_descriptors import describe_regions
from tests.faults.cases import KILL_POINTS, KILLS, all_cases, every_order
from tests.faults.plan import IN_A_STORE, OF_A_DISK, OF_A_STORE, Fault, Plan, Point, Where
from tests.faults.workloads import PAYMENTS, SHARED_TASK, SINK_MODES, THREE_REPORTS, WORKLOADS, Workload

pytestmark = pytest.mark.spark  # the workloads import duckdb


OF_OTHERS = {
    Where.DISK: {*OF_A_STORE},
    Where.BUCKET: {*OF_A_DISK} - {Fault.DENIED},
    Where.HDFS: {*OF_A_DISK, *OF_A_STORE} - {Fault.PAUSED},
}


@pytest.mark.parametrize("where", Where)
@pytest.mark.parametrize("seed", range(20))
def test_each_place_has_at_least_forty_cases(seed: int, where: Where) -> None:
    cases = [case for case in all_cases(seed, where) if case.fault is not Fault.NONE]
    assert len({case.id for case in cases}) == len(cases) >= 40
    assert {case.workload for case in cases} == set(WORKLOADS)
    assert {case.fault for case in cases} == {*Fault} - {Fault.NONE} - OF_OTHERS[where]
    assert {case.point for case in cases} == set(Point)


@pytest.mark.parametrize("where", [Where.BUCKET, Where.HDFS])
def test_what_a_driver_cannot_see_in_a_store_is_seen_by_its_server(where: Where) -> None:
    for case in all_cases(1, where):
        if case.fault in (*OF_A_STORE, Fault.DENIED):
            assert case.point in IN_A_STORE, case


@pytest.mark.parametrize("fault", KILLS)
def test_every_process_is_killed_at_every_point_in_both_pipelines(fault: Fault) -> None:
    others = (SHARED_TASK.name, PAYMENTS.name, THREE_REPORTS.name)
    cases = [case for case in all_cases(1) if case.fault is fault and case.workload not in others]
    assert sorted(case.point for case in cases) == sorted(KILL_POINTS)
    assert {case.workload for case in cases} == {"flights", "diamond"}


def test_a_driver_is_superseded_before_and_after_it_decides_in_every_sink_mode() -> None:
    cases = [case for case in all_cases(1) if case.workload == SINK_MODES.name and case.region]
    assert {(case.region, case.point) for case in cases} == {
        (task, point)
        for task in ("appended", "by_class", "merged", "created")
        for point in (Point.BEFORE_INTENT, Point.AFTER_INTENT)
    }


@pytest.mark.parametrize("seed", range(5))
def test_every_region_of_a_shared_task_is_killed_in_every_way(seed: int) -> None:
    cases = [case for case in all_cases(seed) if case.workload == SHARED_TASK.name]
    killed = {(case.fault, case.region) for case in cases if case.fault in KILLS}
    assert killed >= {(fault, region) for fault in KILLS for region in SHARED_TASK.regions[1:]}
    assert all(case.point in SHARED_TASK.points[case.region] for case in cases if case.region)


@pytest.mark.parametrize("where", Where)
def test_cases_of_runs_that_remember_come_last_and_are_of_points_that_their_regions_have(where: Where) -> None:
    cases = all_cases(1, where)
    own = [case for case in cases if case.workload == PAYMENTS.name]
    assert list(cases[-len(own) :]) == own
    assert all(case.point in PAYMENTS.points[case.region] for case in own if case.region)
    for fault in (Fault.KILL_DRIVER, Fault.HANG_AND_WAKE, Fault.NEXT_RUN):
        assert Point.BEFORE_POSITION in {case.point for case in own if case.fault is fault}


def test_cases_depend_on_the_seed_only() -> None:
    assert all_cases(1) == all_cases(1)
    assert {case.region for case in all_cases(1)} == {case.region for case in all_cases(2)}
    chosen = {seed: [(case.region, case.point) for case in all_cases(seed)] for seed in (1, 2)}
    assert chosen[1] != chosen[2]


@pytest.mark.parametrize("workload", WORKLOADS.values(), ids=WORKLOADS)
def test_a_workload_lists_its_tasks(workload: Workload) -> None:
    regions = describe_regions(compile_pipeline(workload.environment().pipeline()))
    assert [*workload.regions] == [*workload.reads] == [region.region_id for region in regions]
    assert {region.task_name for region in regions} == set(workload.tasks)
    for region in regions:
        stages = bool(region.results or region.computed_once)
        assert (Point.BEFORE_MANIFEST in workload.points[region.region_id]) == stages


@pytest.mark.parametrize("tasks", ["a", "ab", "abc", "abcd"])
def test_the_sequence_has_every_order_of_tasks(tasks: str) -> None:
    steps = "".join(every_order(tuple(tasks)))
    assert all("".join(order) in steps for order in permutations(tasks))
    assert len(steps) == {1: 1, 2: 3, 3: 9, 4: 33}[len(tasks)]


def test_a_fault_plan_reaches_the_driver_unchanged() -> None:
    plan = Plan(fault=Fault.TRUNCATE, point=Point.BEFORE_WORK, region="r", input="/in", output="/out", lost=("a", "b"))
    assert Plan.from_json(plan.to_json()) == plan
