"""The plan in serialized Dags of earlier versions."""

import json
from pathlib import Path

import pytest

pytestmark = [
    pytest.mark.airflow,
    pytest.mark.filterwarnings("default"),  # Airflow's own imports warn of much
]
ROOTS = Path(__file__).parents[1] / "golden" / "staging_roots"
BEFORE = ROOTS / "one_region_a_task"


def test_each_region_has_its_task() -> None:
    from graph_compiler.airflow_backend.dag.plan_document import unpack

    plan = unpack((BEFORE / "plan_document.txt").read_text().strip())
    regions = plan.view["regions"]
    assert isinstance(regions, list)
    assert [region["task"] for region in regions if isinstance(region, dict)] == ["clean", "by_region", "large_orders"]


def test_it_is_compared_with_the_plan_of_this_version_and_says_what_is_stricter() -> None:
    from dataclasses import replace

    from graph_compiler.airflow_backend.dag.plan_document import unpack
    from graph_compiler.explain.diff.plan_diff import plan_diff

    before = unpack((BEFORE / "plan_document.txt").read_text().strip()).summary()
    (change,) = plan_diff(before, replace(before, strict_sources=True)).operators
    assert change.name == "orders"
    assert [str(fact).partition(" → ")[0] for fact in change.facts] == [
        "records that do not fit: checked in the columns that are read"
    ]


def test_it_is_found_in_a_serialized_dag_as_that_of_the_pipelines_own_dag() -> None:
    from graph_compiler.airflow_backend.dag.plan_document import PLAN_DOCUMENT, find_plans

    packed = (BEFORE / "plan_document.txt").read_text().strip()
    task = {"__var": {"task_id": "clean", PLAN_DOCUMENT: packed}}
    assert list(find_plans({"dag": {"tasks": [task]}})) == [""]


def test_a_serialized_dag_of_before_task_groups_is_read() -> None:
    """Airflow's scheduler and the view have it until the Dag file is parsed again."""
    from airflow.serialization.serialized_objects import DagSerialization

    from graph_compiler.airflow_backend.dag.plan_document import find_plans

    document = json.loads((ROOTS / "shared_task" / "serialized_dag.json").read_text())
    dag = DagSerialization.from_dict(document)
    assert {task.task_id: sorted(task.downstream_task_ids) for task in dag.tasks} == {
        "clean": ["by_region"],
        "by_region": [],
    }
    plans = find_plans(document)
    assert list(plans) == [""]
    regions = plans[""].view["regions"]
    assert isinstance(regions, list)
    assert [region["id"] for region in regions if isinstance(region, dict)] == ["clean", "by_region", "large_orders"]
