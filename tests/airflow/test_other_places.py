"""What a task finds out about the places of the run's other tasks before it starts."""

from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

from graph_compiler import Parquet, Range, StreamExecutionEnvironment

if TYPE_CHECKING:
    from graph_compiler.airflow_backend.task.task_operator import DeploymentTaskOperator

pytestmark = [
    pytest.mark.airflow,
    pytest.mark.filterwarnings("default"),  # Airflow's own imports warn of much
]


@pytest.fixture
def tasks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Return a function that builds the Dag of two sinks, in separate tasks or in one, and returns its tasks."""
    from airflow.providers.apache.spark.hooks.spark_submit import SparkSubmitHook
    from airflow.sdk.exceptions import AirflowException

    from graph_compiler.airflow_backend import build_dag

    def submit(*_: object, **__: object) -> None:
        raise AirflowException("no Spark here")

    monkeypatch.setattr(SparkSubmitHook, "submit", submit)
    root = str(tmp_path / "staging")
    monkeypatch.setenv("AIRFLOW__GRAPH_COMPILER__STAGING_ROOT", root)

    def build(outer: str, inner: str, sharing: str = "false") -> dict[str, "DeploymentTaskOperator"]:
        env = StreamExecutionEnvironment(
            "p", config={"execution.task-sharing": sharing}, params={"out": str(tmp_path / "out")}
        )
        env.from_source(Range(0, 9), "a").sink_to(Parquet(outer)).name("outer")
        env.from_source(Range(0, 9), "b").sink_to(Parquet(inner)).name("inner")
        return build_dag(env, schedule=None, start_date=datetime(2013, 1, 1)).task_dict  # type: ignore[return-value]

    return build


def begin(task: "DeploymentTaskOperator", tmp_path: Path, number: int = 1) -> None:
    """Run a task up to its spark-submit, which does not exist."""
    run = SimpleNamespace(logical_date=datetime(2013, 1, 1, tzinfo=UTC), run_after=None, run_type="scheduled")
    ti = SimpleNamespace(
        dag_id="p", task_id=task.task_id, map_index=-1, run_id="r", id=f"{task.task_id}-{number}", try_number=number
    )
    params = {"out": str(tmp_path / "out")}
    context: Any = {"ti": ti, "dag_run": run, "params": params, "task": task}
    task.render_template_fields(context)
    task.execute(context)


def test_rendered_targets_that_overlap_are_refused_by_the_first_task(tasks: Any, tmp_path: Path) -> None:
    from airflow.sdk.exceptions import AirflowFailException

    built = tasks("{{ params.out }}/a", f"{tmp_path}/out/{{{{ 'a' }}}}/x")
    for name in ("inner", "outer"):
        with pytest.raises(AirflowFailException, match=f"'{_other(name)}' of region") as raised:
            begin(built[name], tmp_path)
        assert "give each its own folder" in str(raised.value)
    assert not (tmp_path / "staging").exists(), "nothing was left"


@pytest.mark.parametrize("inner", ["{{ params.out }}/{{ 'a' }}/x", "{{ params.out }}/{{ 'a' }}/{{ ti.try_number }}"])
def test_rendered_targets_of_one_task_that_overlap_are_refused(inner: str, tasks: Any, tmp_path: Path) -> None:
    from airflow.sdk.exceptions import AirflowFailException

    built = tasks("{{ params.out }}/a", inner, sharing="true")
    assert list(built) == ["outer"]
    with pytest.raises(AirflowFailException, match="'inner' of region 'inner'"):
        begin(built["outer"], tmp_path)
    assert not (tmp_path / "staging").exists(), "nothing was left"


def test_targets_only_another_task_can_render_are_compared_once_it_started(tasks: Any, tmp_path: Path) -> None:
    from airflow.sdk.exceptions import AirflowException, AirflowFailException

    out = f"{tmp_path}/out"
    built = tasks(f"{out}/{{{{ ti.try_number }}}}", f"{out}/{{{{ ti.try_number + 0 }}}}/x")
    with pytest.raises(AirflowException, match="no Spark here"):
        begin(built["outer"], tmp_path, 1)
    with pytest.raises(AirflowFailException, match="'outer' of region 'outer' writes"):
        begin(built["inner"], tmp_path, 1)


def test_a_target_in_the_dags_folder_or_the_staging_root_is_refused(tasks: Any, tmp_path: Path) -> None:
    from airflow.configuration import conf
    from airflow.sdk.exceptions import AirflowFailException

    dags = conf.get("core", "dags_folder")
    built = tasks(f"{dags}/out", "{{ params.out }}")
    with pytest.raises(AirflowFailException, match="lies in the Dags folder"):
        begin(built["outer"], tmp_path)
    built = tasks(f"{tmp_path}/staging/flights", "{{ params.out }}")
    with pytest.raises(AirflowFailException, match="lies in the staging root"):
        begin(built["outer"], tmp_path)


def _other(name: str) -> str:
    return "outer" if name == "inner" else "inner"
