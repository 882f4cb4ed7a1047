"""One pipeline in two Dags, twice in one, and mapped, with one run id: tasks, Airflow's states, page and API."""

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

from graph_compiler import Parquet, StreamExecutionEnvironment
from graph_compiler.compiler.pipeline_compiler import compile_pipeline
from graph_compiler.declaration.connectors import Range
from graph_compiler.deployment.describe.region_descriptors import describe_pipeline
from graph_compiler.deployment.documents.descriptor import VERSION, ExecutionAttempt, TaskDeploymentDescriptor
from graph_compiler.deployment.documents.run_identity import RunIdentity
from graph_compiler.deployment.documents.staging_layout import StagingLayout
from graph_compiler.identifiers import RegionId, TaskId
from graph_compiler.staging.attempts.attempts import executions
from graph_compiler.staging.gc.survey import survey
from graph_compiler.staging.store.local_store import LocalStore
from tests.airflow.web_server import API, application, client, forget, make_database, set_task, start_run, store

if TYPE_CHECKING:
    from airflow.sdk import DAG

    from graph_compiler.airflow_backend.task.task_operator import DeploymentTaskOperator

pytestmark = [
    pytest.mark.airflow,
    pytest.mark.filterwarnings("default"),  # Airflow's own imports warn of much
]
STORE = LocalStore()
PIPELINE = "p"
IN_GROUPS = [f"{PIPELINE}@many:{place}" for place in ("emea", "asia", "mapped.inner:0", "mapped.inner:1")]


def pipeline() -> StreamExecutionEnvironment:
    """Declare first ║ last."""
    env = StreamExecutionEnvironment(PIPELINE)
    rows = env.from_source(Range(0, 9), "rows").name("first").stage("dear")
    rows.filter("id > 1").sink_to(Parquet("/out"), mode="append").name("last")
    return env


def build_dags() -> dict[str, "DAG"]:
    """Return the pipeline's own Dag, and one that contains it four times, two of them mapped together."""
    from airflow.sdk import DAG, task_group

    from graph_compiler.airflow_backend import build_dag, build_task_group

    with DAG("many", schedule=None) as many:
        for name in ("emea", "asia"):
            build_task_group(pipeline(), name)

        @task_group(group_id="mapped")
        def mapped(number: int) -> None:  # noqa: ARG001  # what it is mapped over
            build_task_group(pipeline(), "inner")

        mapped.expand(number=[1, 2])
    return {PIPELINE: build_dag(pipeline(), schedule=None), "many": many}


def begin(task: "DeploymentTaskOperator", map_index: int = -1, number: int = 1) -> None:
    """Run a task up to its spark-submit, which does not exist."""
    from airflow.sdk.exceptions import AirflowException

    dag_run = SimpleNamespace(logical_date=datetime(2013, 1, 1, tzinfo=UTC), run_after=None, run_type="scheduled")
    ti = SimpleNamespace(
        dag_id=task.dag_id,
        task_id=task.task_id,
        map_index=map_index,
        run_id="r",
        id=f"{task.dag_id}-{task.task_id}-{map_index}-{number}",
        try_number=number,
    )
    context: Any = {"ti": ti, "dag_run": dag_run, "params": {}, "task": task}
    task.render_template_fields(context)
    with pytest.raises(AirflowException, match="no Spark here"):
        task.execute(context)


@pytest.fixture
def dags(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, "DAG"]:
    from airflow.providers.apache.spark.hooks.spark_submit import SparkSubmitHook
    from airflow.sdk.exceptions import AirflowException

    def submit(*_: object, **__: object) -> None:
        raise AirflowException("no Spark here")

    monkeypatch.setattr(SparkSubmitHook, "submit", submit)
    monkeypatch.setenv("AIRFLOW__GRAPH_COMPILER__STAGING_ROOT", str(tmp_path / "staging"))
    return build_dags()


def test_each_task_writes_its_documents_to_its_own_run(dags: dict[str, "DAG"], tmp_path: Path) -> None:
    places = [(PIPELINE, "", -1), ("many", "emea.", -1), ("many", "asia.", -1)]
    places += [("many", "mapped.inner.", 0), ("many", "mapped.inner.", 1)]
    for dag_id, prefix, map_index in places:
        for name in ("first", "last"):
            begin(dags[dag_id].get_task(f"{prefix}{name}"), map_index)  # type: ignore[arg-type]  # one of ours
    found = survey(STORE, str(tmp_path / "staging")).runs
    owners = [PIPELINE, *IN_GROUPS]
    assert {run.identity.owner for run in found} == set(owners)
    for (dag_id, prefix, map_index), owner in zip(places, owners, strict=True):
        run = StagingLayout(root=str(tmp_path / "staging"), identity=RunIdentity.named(owner, "r"))
        for name in ("first", "last"):
            (attempt,) = executions(STORE, run, RegionId(name))
            assert attempt.execution_id == f"{dag_id}-{prefix}{name}-{map_index}-1"


def test_restarts_are_counted_separately(dags: dict[str, "DAG"]) -> None:
    first: Any = dags["many"].get_task("mapped.inner.first")
    begin(first, map_index=0)

    def failures(map_index: int) -> int:
        ti = SimpleNamespace(
            dag_id="many", task_id="mapped.inner.first", map_index=map_index, run_id="r", id="now",
            task=first, max_tries=first.retries, try_number=2,
        )  # fmt: skip
        return len(first._failures({"ti": ti}))

    assert [failures(0), failures(1)] == [1, 0]


def test_a_task_id_that_differs_from_its_name_is_refused(dags: dict[str, "DAG"]) -> None:
    from airflow.sdk.exceptions import AirflowFailException

    task: Any = dags[PIPELINE].get_task("first")
    ti = SimpleNamespace(dag_id=PIPELINE, task_id="other", map_index=-1, run_id="r", id="now")
    with pytest.raises(AirflowFailException, match="task 'other' is 'first' of its pipeline; allowed"):
        task._failures({"ti": ti})


UNMAPPED, EXPANDED = [("a.x", -1), ("a.y", -1)], [("m.x", 0), ("m.y", 0), ("m.x", 1), ("m.y", 1)]


@pytest.mark.parametrize(
    ("owner", "whole", "states", "expected"),
    [
        ("p@d:a", "running", ["success", "success"], "success"),
        ("p@d:a", "running", ["success", None], "running"),
        ("p@d:a", "running", ["success", "up_for_retry"], "running"),
        ("p@d:a", "running", ["failed", "upstream_failed"], "failed"),
        ("p@d:a", "failed", ["success", "success"], "success"),
        ("p@d:a", "success", ["skipped", "skipped"], "success"),
        ("p@d:a", "failed", ["failed", None], "failed"),
        ("p@d:other", "running", ["success", "success"], "running"),
        ("p@d:other", "success", ["success", "success"], "success"),
        ("p@d:m:0", "running", ["success", "success", "running", None], "success"),
        ("p@d:m:1", "running", ["success", "success", "running", None], "running"),
        ("p@d:m:1", "failed", ["failed", "failed", "success", "success"], "success"),
        ("p@d:m:2", "running", ["success"] * 4, "running"),
    ],
)
def test_the_state_of_a_run_in_a_group_is_that_of_its_own_tasks(
    owner: str, whole: str, states: list[str | None], expected: str
) -> None:
    from graph_compiler.airflow_backend.installation.run_states import state_of_part

    ids = UNMAPPED if len(states) == len(UNMAPPED) else EXPANDED
    rows = [(TaskId(id), index, state) for (id, index), state in zip(ids, states, strict=True)]
    rows += [(TaskId("elsewhere.x"), -1, "failed"), (TaskId("elsewhere.y"), 0, "running")]
    assert state_of_part(RunIdentity.named(owner, "r"), whole, rows) == expected


def test_a_mapped_run_is_running_until_its_tasks_are_expanded() -> None:
    from graph_compiler.airflow_backend.installation.run_states import state_of_part

    rows = [(TaskId("m.x"), 0, "success"), (TaskId("m.y"), -1, None)]
    assert state_of_part(RunIdentity.named("p@d:m:0", "r"), "running", rows) == "running"


@pytest.fixture(scope="module")
def database(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Store a run of the Dag that contains the pipeline many times: emea has finished, asia has failed, others wait."""
    root = tmp_path_factory.mktemp("staging")
    make_database()
    for dag in build_dags().values():
        store(dag)
        start_run(dag.dag_id, run_id="r")
    for group, state in (("emea", "success"), ("asia", "failed")):
        for name in ("first", "last"):
            set_task("many", f"{group}.{name}", run_id="r", state=state)
    for name in ("first", "last"):
        set_task(PIPELINE, name, run_id="r", state="success")
        set_task("many", f"mapped.inner.{name}", run_id="r", state="success", index=1)
    yield root
    for dag_id in (PIPELINE, "many"):
        forget(dag_id)


@pytest.mark.usefixtures("database")
def test_airflow_is_asked_about_each_dag_and_its_tasks() -> None:
    from graph_compiler.airflow_backend.installation.run_states import run_states

    asked = [RunIdentity.named(owner, "r") for owner in (PIPELINE, *IN_GROUPS)]
    asked += [RunIdentity.named("p@nowhere", "r"), RunIdentity.named("p@many:emea", "never")]
    assert run_states(asked) == [
        "running",  # the pipeline's own Dag: its run says so itself
        "success",
        "failed",
        "running",
        "success",
        None,
        None,
    ]


def test_the_page_shows_the_requested_placement_with_its_attempts(
    database: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AIRFLOW__GRAPH_COMPILER__STAGING_ROOT", str(database))
    for number, owner in enumerate(IN_GROUPS):
        leave_attempt(database, RunIdentity.named(owner, "r"), f"of-{number}")
    viewer = client(application(), "viewer")
    mapped = "&group=mapped.inner"
    parts = ["", "&group=emea", "&group=asia", mapped, f"{mapped}&map_index=0"]
    parts += [f"{mapped}&map_index=1", "&group=other"]
    shown = []
    for part in parts:
        regions = viewer.get(f"{API}/dags/many/run?run_id=r{part}").json()["regions"]
        first = next((region for region in regions if region["id"] == "first"), None)
        shown.append(first and (first["airflow_state"], first["attempts"][0]["log_url"]))
    page = "/dags/many/runs/r/tasks"
    assert shown == [
        ("success", f"{page}/emea.first?try_number=1"),
        ("success", f"{page}/emea.first?try_number=1"),
        ("failed", f"{page}/asia.first?try_number=1"),
        (None, f"{page}/mapped.inner.first/mapped/0?try_number=1"),
        (None, f"{page}/mapped.inner.first/mapped/0?try_number=1"),
        ("success", f"{page}/mapped.inner.first/mapped/1?try_number=1"),
        None,
    ]
    run = viewer.get(f"{API}/dags/many/run?run_id=r{parts[-2]}").json()
    assert (run["group"], run["map_index"], run["map_indexes"]) == ("mapped.inner", 1, [0, 1])
    run = viewer.get(f"{API}/dags/many/run?run_id=r&group=asia").json()
    assert (run["group"], run["map_index"], run["map_indexes"]) == ("asia", None, [])
    asked = [f"{API}/dags/many/{route}?run_id=r&result=x" for route in ("result", "run")]
    assert viewer.get(f"{asked[0]}&group=../../p").status_code == 404
    assert viewer.get(f"{asked[1]}&map_index=x").status_code == 422


@pytest.mark.usefixtures("database")
def test_the_pipelines_of_a_dag_are_listed_by_their_groups() -> None:
    viewer = client(application(), "viewer")
    groups = ["emea", "asia", "mapped.inner"]
    found = viewer.get(f"{API}/dags/many/pipelines").json()["pipelines"]
    assert found == [{"group": group, "pipeline": PIPELINE} for group in groups]
    of_run = viewer.get(f"{API}/dags/many/pipelines?run_id=r").json()["pipelines"]
    assert of_run == found
    nothing = viewer.get(f"{API}/dags/many/pipelines?run_id=other").json()["pipelines"]
    assert nothing == []
    listed = viewer.get(f"{API}/pipelines").json()["pipelines"]
    ours = [one for one in listed if one["dag_id"] in ("many", PIPELINE)]
    assert [(one["dag_id"], one["group"]) for one in ours] == [*(("many", group) for group in groups), (PIPELINE, "")]
    for group in ("", "asia"):
        plan = viewer.get(f"{API}/dags/many/plan?group={group}").json()
        assert [region["id"] for region in plan["regions"]] == ["first", "last"]
    refused = viewer.get(f"{API}/dags/many/plan?group=other")
    assert refused.status_code == 404
    assert "no compiled pipeline 'many' in group 'other'" in refused.json()["detail"]


def leave_attempt(root: Path, run: RunIdentity, execution_id: str) -> None:
    region = describe_pipeline(compile_pipeline(pipeline().pipeline())).regions[0]
    task = TaskDeploymentDescriptor(
        version=VERSION,
        identity=run,
        region=region,
        attempt=ExecutionAttempt(execution_id=execution_id, attempt_number=0),
        staging_root=str(root),
        parameters=(),
    )
    key = task.layout.descriptor(region.region_id, execution_id)
    assert STORE.put_if_absent(key, task.to_json().encode())
