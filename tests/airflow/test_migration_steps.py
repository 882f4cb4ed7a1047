"""The Dags of docs/migrate.md, before and after each step: their tasks, dependencies, pools, retries and callbacks."""

import importlib.util
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest

from tests.harness.shop import MIGRATION

if TYPE_CHECKING:
    from airflow.sdk import DAG

pytestmark = [
    pytest.mark.airflow,
    pytest.mark.filterwarnings("default"),  # Airflow's own imports warn of much
]
TEAM = {"wait_for_orders": set[str](), "mail_or_not": {"total"}, "mail": {"mail_or_not"}, "no_sales": {"mail_or_not"}}
SCRIPTS = {"daily_revenue", "customer_ranking", "order_history"}
STEPS: dict[str, dict[str, set[str]]] = {
    "before": {
        "clean_orders": {"wait_for_orders"},
        "enrich_orders": {"clean_orders"},
        **{script: {"enrich_orders"} for script in SCRIPTS},
        "total": SCRIPTS,
    },
    "step_1": {
        "sales.rejected": {"wait_for_orders"},
        **{script: {"sales.rejected"} for script in SCRIPTS},
        "total": SCRIPTS,
    },
    "step_2": {"sales.rejected": {"wait_for_orders"}, "total": {"sales.rejected"}},
    "step_3": {"sales.joins": {"wait_for_orders"}, "sales.reports": {"sales.joins"}, "total": {"sales.reports"}},
}


@pytest.fixture
def dag_of(monkeypatch: pytest.MonkeyPatch) -> Callable[[str], "DAG"]:
    """Return a function that loads the Dag of a step, as if the step were the whole project."""
    monkeypatch.setenv("SHOP_DATA", "/data/shop")

    def load(step: str) -> "DAG":
        with monkeypatch.context() as patch:
            patch.syspath_prepend(str(MIGRATION / step))
            patch.delitem(sys.modules, "pipelines.sales", raising=False)
            file = MIGRATION / step / "dags/nightly_sales.py"
            spec = importlib.util.spec_from_file_location(f"dag_of_{step}", file)
            assert spec is not None
            assert spec.loader is not None
            module = importlib.util.module_from_spec(spec)
            spec.loader.exec_module(module)
            sys.modules.pop("pipelines.sales", None)
        dag: DAG = module.wait_for_orders.dag
        return dag

    return load


@pytest.mark.parametrize("step", STEPS)
def test_each_step_has_the_tasks_of_the_team_around_its_own(dag_of: Callable[[str], "DAG"], step: str) -> None:
    found = {task.task_id: set(task.upstream_task_ids) for task in dag_of(step).tasks}
    assert found == {**TEAM, **STEPS[step]}


@pytest.mark.parametrize("step", STEPS)
def test_each_application_is_in_the_pool(dag_of: Callable[[str], "DAG"], step: str) -> None:
    pools = {task.task_id: task.pool for task in dag_of(step).tasks}
    applications = STEPS[step].keys() - {"total"}
    assert {task for task, pool in pools.items() if pool == "spark"} == applications


@pytest.mark.parametrize("step", ["before", "step_1", "step_2"])
def test_the_retries_are_those_of_the_team(dag_of: Callable[[str], "DAG"], step: str) -> None:
    dag = dag_of(step)
    assert {dag.get_task(task).retries for task in STEPS[step]} == {1}


def test_the_last_step_declares_its_retries_and_names_a_callback(dag_of: Callable[[str], "DAG"]) -> None:
    dag = dag_of("step_3")
    joins, reports = dag.get_task("sales.joins"), dag.get_task("sales.reports")
    assert (joins.retries, reports.retries) == (2, 2)
    assert (bool(joins.on_failure_callback), bool(reports.on_failure_callback)) == (False, True)
    assert dag.params.dump() == {"shop": "/data/shop", "top": 2}
