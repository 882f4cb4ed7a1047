"""What an alert says in each process in which Airflow runs a callback, from documents as a driver leaves them."""

from collections.abc import Callable, Mapping
from datetime import timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

from graph_compiler import Parquet, StreamExecutionEnvironment, Values
from graph_compiler.deployment.documents.progress import VERSION as PROGRESS_VERSION
from graph_compiler.deployment.documents.progress import CurrentStep, ExecutionProgress
from graph_compiler.deployment.documents.report import Failure, Phase, ThrowableType
from graph_compiler.deployment.documents.staging_layout import StagingLayout
from graph_compiler.deployment.documents.wire import to_json
from graph_compiler.errors import SourceLocation
from graph_compiler.identifiers import RegionId
from tests.harness.reports import bare_report

if TYPE_CHECKING:
    from airflow.sdk import DAG

    from graph_compiler.explain.alert import Alert, FailedTask

pytestmark = [
    pytest.mark.airflow,
    pytest.mark.filterwarnings("default"),  # Airflow's own imports warn of much
]
RUN = "manual__2013-01-01T00:00:00+00:00"
BASE = "https://airflow.example.com"


@pytest.fixture(autouse=True)
def deployment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AIRFLOW__GRAPH_COMPILER__STAGING_ROOT", str(tmp_path / "staging"))
    monkeypatch.setenv("AIRFLOW__GRAPH_COMPILER__HISTORY_SERVER", "https://spark.example.com")
    monkeypatch.setenv("AIRFLOW__API__BASE_URL", f"{BASE}/")


def declared() -> StreamExecutionEnvironment:
    """Declare a source that is staged, then two reports that one task runs."""
    env = StreamExecutionEnvironment("sales")
    rows = env.from_source(Values([(1,)], "x INT"), "rows").filter("x > 0").name("kept")
    rows.stage("it is read twice").select(y="x + 1").name("more").sink_to(Parquet("/out/more")).name("more_out")
    return env


def shared() -> StreamExecutionEnvironment:
    """Declare three regions that one task runs."""
    env = StreamExecutionEnvironment("shared")
    rows = env.from_source(Values([(1,)], "x INT"), "in").stage("for all", same_task=True)
    for name in ("one", "two"):
        rows.filter("x > 0").name(f"few_{name}").sink_to(Parquet(f"/out/{name}")).name(name)
    return env


def nightly(*envs: StreamExecutionEnvironment, **arguments: Any) -> "DAG":
    """Return a Dag with a task that is not ours and a group of each pipeline."""
    from airflow.providers.standard.operators.empty import EmptyOperator
    from airflow.sdk import DAG

    from graph_compiler.airflow_backend import build_task_group

    with DAG("nightly", schedule=None, **arguments) as dag:
        wait = EmptyOperator(task_id="wait")
        for env in envs:
            wait >> build_task_group(env)
    return dag


def instance(task: Any, **given: Any) -> Any:
    """Return a task instance as a callback is given it."""
    known = {
        "dag_id": "nightly",
        "run_id": RUN,
        "task_id": task.task_id,
        "map_index": -1,
        "task": task,
        "id": "01a1",
        "try_number": 1,
        "max_tries": 2,
        "state": None,
    }
    return SimpleNamespace(**known | given)


def deploy(ti: Any, **logical: Any) -> Callable[[str], Path]:
    """Write the descriptors of a try as its task does; return the folder of each region's execution."""
    from graph_compiler.airflow_backend.run_identities import identity_of_task
    from graph_compiler.airflow_backend.task.execution_files import deploy as write
    from graph_compiler.airflow_backend.task.run_values import try_of_run

    task = ti.task
    root = task._settings.staging_root
    identity = identity_of_task(task.regions[0], ti)
    layout = StagingLayout(root=root, identity=identity)
    context: Any = {"ti": ti, **logical}
    parameters = {"run_date": "2013-01-01"}
    found = try_of_run(
        task.regions, task.arguments, parameters, staging_root=root, clears_others=False, context=context
    )
    write(found)
    return lambda region: Path(layout.execution(RegionId(region), ti.id))


def failure(operator: str | None, kind: ThrowableType = ThrowableType.RECOVERABLE_ERROR) -> Failure:
    return Failure(
        throwable_type=kind,
        operator=operator,
        declared_at=SourceLocation("pipelines/sales.py", 14) if operator else None,
        message="[DIVIDE_BY_ZERO] Division by zero",
    )


def told(context: Mapping[str, Any]) -> "Alert":
    from graph_compiler.airflow_backend.notify.failed_tries import alert_of

    return alert_of(context)


def the_task(context: Mapping[str, Any]) -> "FailedTask":
    alert = told(context)
    (found,) = alert.tasks
    assert (alert.dag_id, alert.run_id, alert.reason) == ("nightly", RUN, None)
    return found


def links(found: "FailedTask") -> dict[str, str]:
    return {link.label: link.url for link in found.links}


def test_in_the_tasks_process_everything_is_known() -> None:
    from airflow.sdk.exceptions import AirflowException

    from graph_compiler.explain.alert import AirflowTry, RepeatedRegion, Repetition, ReusedResult

    dag = nightly(declared(), default_args={"retries": 2, "retry_delay": timedelta(seconds=7)})
    ti = instance(dag.get_task("sales.more_out"), state="up_for_retry")
    folder = deploy(ti)("more_out")
    (folder / "report.json").write_text(to_json(bare_report(failure("more"))))
    error = AirflowException("pipeline 'sales', operator 'more': [DIVIDE_BY_ZERO] …")
    found = the_task({"ti": ti, "dag": dag, "exception": error})
    assert (found.pipeline, found.group, found.task_id) == ("sales", "sales", "sales.more_out")
    assert (found.operator, found.declared_at) == ("more", "pipelines/sales.py:14")
    assert found.cause == "[DIVIDE_BY_ZERO] Division by zero"
    assert found.attempt == AirflowTry(try_number=1, tries=3, is_retried=True, seconds=7.0)
    assert found.repetition == Repetition(
        regions=(RepeatedRegion(region="more_out", operators=("more", "more_out")),),
        reused=(ReusedResult(name="kept", task="kept"),),
    )
    page = f"{BASE}/dags/nightly/runs/manual__2013-01-01T00%3A00%3A00%2B00%3A00/tasks/sales.more_out"
    assert links(found) == {
        "Log of this try": f"{page}?try_number=1",
        "Plan and attempts": f"{page}/plugin/graph-compiler-region-plan",
        "Spark's history server": "https://spark.example.com/history/application_1_0001/jobs/",
    }
    assert found.unknown == ()


def test_the_operator_of_a_failure_has_the_line_at_which_it_is_declared() -> None:
    ti = instance(nightly(declared()).get_task("sales.more_out"), state="failed", try_number=3)
    folder = deploy(ti)("more_out")
    bare = Failure(throwable_type=ThrowableType.RECOVERABLE_ERROR, operator="more", declared_at=None, message="no")
    (folder / "report.json").write_text(to_json(bare_report(bare)))
    found = the_task({"ti": ti, "exception": ValueError("x")})
    assert str(found.declared_at).startswith(f"{__file__}:")
    assert (found.attempt.is_retried, found.attempt.why_not) == (False, None)


def test_a_permanent_failure_says_why_tries_are_left() -> None:
    ti = instance(nightly(declared()).get_task("sales.more_out"), state="failed")
    folder = deploy(ti)("more_out")
    report = bare_report(failure("more", ThrowableType.NON_RECOVERABLE_ERROR))
    (folder / "report.json").write_text(to_json(report))
    attempt = the_task({"ti": ti, "exception": ValueError("x")}).attempt
    assert (attempt.try_number, attempt.tries, attempt.is_retried) == (1, 3, False)
    assert attempt.why_not == "the failure is permanent, a retry cannot help"


def test_a_refusal_before_the_deployment_is_the_tasks_own_error() -> None:
    from airflow.sdk.exceptions import AirflowFailException

    ti = instance(nightly(declared()).get_task("sales.more_out"), state="failed")
    error = AirflowFailException("pipeline 'sales': parameter 'x' is …")
    found = the_task({"ti": ti, "exception": error})
    assert (found.cause, found.operator) == ("pipeline 'sales': parameter 'x' is …", None)
    assert found.attempt.why_not is not None
    assert found.repetition is not None
    assert [each.region for each in found.repetition.regions] == ["more_out"]


def test_a_killed_worker_is_told_by_its_documents_in_the_dag_processor() -> None:
    ti = instance(nightly(declared()).get_task("sales.more_out"))
    folder = deploy(ti)("more_out")
    progress = ExecutionProgress(
        version=PROGRESS_VERSION,
        application_id="app-7",
        ui_url="http://10.0.0.1:4040",
        current=CurrentStep(operator="more", phase=Phase.PREPARE, since=1.0),
        vertices=(),
        actions=(),
    )
    (folder / "progress.json").write_text(to_json(progress))
    found = the_task({"ti": ti})
    assert found.cause == "it died without a report: its worker was killed or lost"
    assert str(found.last_seen).startswith("more, declared at ")
    assert found.attempt.is_retried is True, "Airflow does not tell the state: it has tries left"
    assert links(found)["Spark's history server"].endswith("/history/app-7/jobs/")
    assert the_task({"ti": instance(ti.task, try_number=3)}).attempt.is_retried is False


def test_a_worker_that_was_killed_before_the_deployment_leaves_nothing() -> None:
    found = the_task({"ti": instance(nightly(declared()).get_task("sales.more_out"))})
    assert str(found.cause).startswith("Airflow lost the process of the task")
    assert found.operator is None


def test_of_a_task_with_several_regions_the_finished_ones_are_kept() -> None:
    (task,) = [one for one in nightly(shared()).tasks if one.task_id != "wait"]
    ti = instance(task, state="up_for_retry")
    folder = deploy(ti)
    (folder("in") / "report.json").write_text(to_json(bare_report()))
    (folder("one") / "report.json").write_text(to_json(bare_report(failure("few_one"))))
    (folder("two") / "report.json").write_text(to_json(bare_report(failure(None))))
    found = the_task({"ti": ti, "exception": ValueError("both")})
    assert found.operator == "few_one"
    assert str(found.cause).endswith("\n\nregion 'two' failed, too: [DIVIDE_BY_ZERO] Division by zero")
    assert found.repetition is not None
    assert found.repetition.kept == ("in",)
    assert [each.region for each in found.repetition.regions] == ["one", "two"]
    assert [(each.name, each.task) for each in found.repetition.reused] == [
        ("in", task.task_id.removeprefix("shared."))
    ]


def test_a_task_that_is_not_ours_has_its_error_and_its_log() -> None:
    task = nightly(declared()).get_task("wait")
    found = the_task({"ti": instance(task, state="failed", max_tries=0), "exception": KeyError("no")})
    assert (found.pipeline, found.cause, found.repetition) == (None, "KeyError: 'no'", None)
    assert list(links(found)) == ["Log of this try"]


def run_context(dag: "DAG", states: Mapping[str, str] | Exception, **more: Any) -> dict[str, Any]:
    """Return the context of a Dag's callback: a task instance of the last task, and Airflow's reason."""

    def get_task_states(dag_id: str, run_ids: list[str]) -> dict[str, dict[str, str]]:
        if isinstance(states, Exception):
            raise states
        assert (dag_id, run_ids) == ("nightly", [RUN])
        return {RUN: dict(states)}

    ti = SimpleNamespace(get_task_states=get_task_states)
    return {"dag": dag, "ti": ti, "run_id": RUN, "reason": "task_failure", **more}


def test_a_failed_run_lists_its_failed_tasks_and_what_did_not_run() -> None:
    dag = nightly(declared(), shared())
    folder = deploy(instance(dag.get_task("sales.kept"), try_number=2))("kept")
    (folder / "report.json").write_text(to_json(bare_report(failure("kept"))))
    states = {"wait": "failed", "sales.kept": "failed", "sales.more_out": "upstream_failed"}
    alert = told(run_context(dag, {**states, "gone": "failed"}))
    assert (alert.dag_id, alert.run_id, alert.reason) == ("nightly", RUN, "task_failure")
    assert [task.task_id for task in alert.tasks] == ["wait", "sales.kept"]
    assert alert.not_run == 1
    assert list(links(alert.tasks[0])) == ["Task"], "the number of its try is not known"
    kept = alert.tasks[1]
    assert (kept.operator, kept.attempt.try_number, kept.attempt.is_retried) == ("kept", 2, False)
    assert links(kept)["Log of this try"].endswith("/tasks/sales.kept?try_number=2")
    assert [link.url.rpartition("/")[2] for link in alert.links] == [
        "manual__2013-01-01T00%3A00%3A00%2B00%3A00",
        "graph-compiler-run-plan",
    ]


def test_mapped_instances_are_told_apart() -> None:
    from airflow.sdk import DAG, task_group

    from graph_compiler.airflow_backend import build_task_group

    @task_group
    def each(path: str) -> None:
        build_task_group(declared_with_place(), params={"path": path})

    with DAG("nightly", schedule=None) as dag:
        each.expand(path=["a", "b"])
    states = {"each.sales.out_0": "success", "each.sales.out_1": "failed"}
    (found,) = told(run_context(dag, states)).tasks
    assert (found.task_id, found.map_index, found.group) == ("each.sales.out", 1, "each.sales")
    assert "/tasks/each.sales.out/mapped/1/plugin/" in links(found)["Plan and attempts"]


def declared_with_place() -> StreamExecutionEnvironment:
    env = StreamExecutionEnvironment("sales", params={"path": "a"})
    rows = env.from_source(Values([(1,)], "x INT"), "rows")
    rows.sink_to(Parquet("/out/{{ params.path }}")).name("out")
    return env


def test_without_airflows_answer_the_attempts_say_what_failed() -> None:
    dag = nightly(declared(), shared())
    folder = deploy(instance(dag.get_task("sales.kept")))("kept")
    (folder / "report.json").write_text(to_json(bare_report(failure("kept"))))
    for context in (
        run_context(dag, RuntimeError("no supervisor")),
        {"dag": dag, "run_id": RUN, "reason": "timed_out"},  # Airflow has no task instance of it
    ):
        alert = told(context)
        assert [task.task_id for task in alert.tasks] == ["sales.kept"]
        assert "which tasks failed, as Airflow sees it" in alert.unknown[0]


def test_a_run_with_many_failed_tasks_has_the_names_of_the_rest() -> None:
    from airflow.providers.standard.operators.empty import EmptyOperator
    from airflow.sdk import DAG

    with DAG("nightly", schedule=None) as dag:
        for number in range(25):
            EmptyOperator(task_id=f"t{number}")
    alert = told(run_context(dag, {task.task_id: "failed" for task in dag.tasks}))
    assert (len(alert.tasks), alert.others) == (20, ("t20", "t21", "t22", "t23", "t24"))


def test_what_cannot_be_read_is_said_and_does_not_hide_the_rest(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("AIRFLOW__API__BASE_URL")
    monkeypatch.delenv("AIRFLOW__GRAPH_COMPILER__HISTORY_SERVER")
    ti = instance(nightly(declared()).get_task("sales.more_out"), state="failed", try_number=3)
    folder = deploy(ti)("more_out")
    (folder / "report.json").write_text(to_json(bare_report(failure("more"))))
    alert = told({"ti": ti, "exception": ValueError("x")})
    assert "[api] base_url is not set" in alert.unknown[0]
    assert "application_1_0001: [graph_compiler] history_server" in alert.tasks[0].unknown[0]
    (folder / "descriptor.json").write_text("{")
    (folder / "kept.json").mkdir()
    (folder / "report.json").write_text("{")
    found = the_task({"ti": ti, "exception": ValueError("x")})
    assert (found.cause, found.group) == ("ValueError: x", "sales")
    monkeypatch.setenv("AIRFLOW__GRAPH_COMPILER__STAGING_ROOT", "relative")
    alert = told({"ti": ti, "exception": ValueError("x")})
    assert alert.unknown[1].startswith("the staging root: ")
    assert alert.tasks[0].cause == "ValueError: x"


@pytest.mark.parametrize("context", [{}, {"ti": object()}, {"dag": 3, "reason": None}, {"ti": None}])
def test_the_poorest_context_is_an_alert(context: dict[str, Any]) -> None:
    from graph_compiler.explain.alert import message_of

    assert message_of(told(context)).title
