"""The plan in a serialized Dag of a version in which each region was a task."""

from pathlib import Path

import pytest

pytestmark = [
    pytest.mark.airflow,
    pytest.mark.filterwarnings("default"),  # Airflow's own imports warn of much
]
BEFORE = Path(__file__).parents[1] / "golden" / "staging_roots" / "one_region_a_task"


def test_each_region_has_its_task() -> None:
    from graph_compiler.airflow_backend.dag.plan_document import unpack

    plan = unpack((BEFORE / "plan_document.txt").read_text().strip())
    regions = plan.view["regions"]
    assert isinstance(regions, list)
    assert [region["task"] for region in regions if isinstance(region, dict)] == [
        "clean",
        "by_region",
        "large_orders",
    ]


def test_it_is_found_in_a_serialized_dag_as_that_of_the_pipelines_own_dag() -> None:
    from graph_compiler.airflow_backend.dag.plan_document import PLAN_DOCUMENT, find_plans

    packed = (BEFORE / "plan_document.txt").read_text().strip()
    task = {"__var": {"task_id": "clean", PLAN_DOCUMENT: packed}}
    assert list(find_plans({"dag": {"tasks": [task]}})) == [""]
