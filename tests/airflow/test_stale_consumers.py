"""Tasks that have read rows which changed since are cleared by Airflow's API, if it can be reached."""

import json
import threading
from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from graph_compiler import Csv, Parquet, StreamExecutionEnvironment
from graph_compiler.deployment.documents.descriptor import VERSION, ExecutionAttempt, TaskDeploymentDescriptor
from graph_compiler.deployment.documents.manifest import VERSION as MANIFEST_VERSION
from graph_compiler.deployment.documents.manifest import Manifest, StagedRead
from graph_compiler.deployment.documents.report import VERSION as REPORT_VERSION
from graph_compiler.deployment.documents.report import ExecutionReport
from graph_compiler.deployment.documents.run_identity import RunIdentity
from graph_compiler.deployment.documents.staging_layout import StagingLayout
from graph_compiler.deployment.documents.wire import to_json
from graph_compiler.identifiers import RegionId
from graph_compiler.staging.results.manifest_log import ManifestLog
from graph_compiler.staging.store.local_store import LocalStore

if TYPE_CHECKING:
    from airflow.sdk import DAG

pytestmark = [
    pytest.mark.airflow,
    pytest.mark.filterwarnings("default"),  # Airflow's own imports warn of much
]


OWN = RunIdentity.own("p", "r/1")


class FakeApi(HTTPServer):
    """Answers like Airflow's API, and records the requests."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.succeeded = ["one", "two", "last"]
        self.refuses = False
        self.asked: list[tuple[str, str, Any]] = []
        self.map_indexes = [-1]

    def instances(self) -> list[tuple[str, int]]:
        """Return the task instances that have succeeded."""
        return [(task_id, index) for task_id in self.succeeded for index in self.map_indexes]


class Handler(BaseHTTPRequestHandler):
    """Handles one request."""

    server: FakeApi

    def do_GET(self) -> None:  # http.server's name
        found = [{"task_id": task_id, "map_index": index} for task_id, index in self.server.instances()]
        self._answer(None, {"task_instances": found, "total_entries": len(found)})

    def do_POST(self) -> None:  # http.server's name
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self._answer(body, {"access_token": "a-token"})

    def _answer(self, body: Any, answer: object) -> None:
        if self.path != "/auth/token":
            assert self.headers["Authorization"] == "Bearer a-token"
        self.server.asked.append((self.command, self.path.partition("?")[0], body))
        is_refused = self.server.refuses and self.path.endswith("clearTaskInstances")
        self.send_response(403 if is_refused else 200)
        self.end_headers()
        self.wfile.write(json.dumps(answer).encode())

    def log_message(self, format: str, *args: object) -> None:
        """Log nothing."""


@pytest.fixture
def api(monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeApi]:
    server = FakeApi()
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    monkeypatch.setenv("AIRFLOW_CONN_API", f"http://u:p@127.0.0.1:{server.server_port}")
    yield server
    server.shutdown()
    server.server_close()


class Run:
    """in → first ║ one ║ last, and first ║ two: a run in which first, one and two have finished."""

    def __init__(self, root: Path, identity: RunIdentity = OWN) -> None:
        from graph_compiler.airflow_backend import build_dag
        from graph_compiler.compiler.pipeline_compiler import compile_pipeline
        from graph_compiler.deployment.describe.region_descriptors import describe_regions

        env = StreamExecutionEnvironment("p")
        first = env.from_source(Csv("/in"), "first").stage("dear")
        one = first.filter("v = 1").name("one")
        one.sink_to(Parquet("/one")).name("one")
        one.stage("dear").filter("v > 1").name("last").sink_to(Parquet("/last")).name("last_out")
        first.filter("v = 2").name("two").sink_to(Parquet("/two")).name("two_out")
        self.dag = build_dag(env, schedule=None, start_date=datetime(2020, 1, 1))
        if identity != OWN:
            self.dag = mapped_together(env, identity)
        regions = describe_regions(compile_pipeline(env.pipeline()))
        self.layout = StagingLayout(root=str(root), identity=identity)
        self.log = ManifestLog(store=LocalStore(), layout=self.layout)
        self.tasks = {
            region.region_id.removesuffix("_out"): TaskDeploymentDescriptor(
                version=VERSION,
                identity=identity,
                region=region,
                attempt=ExecutionAttempt(execution_id=region.region_id, attempt_number=0),
                staging_root=str(root),
                parameters=(),
            )
            for region in regions
        }
        self.commit("first", epoch=0, checksum="aa")
        self.finish("first")
        self.finish("one", reads=0)
        self.finish("two", reads=0)

    def commit(self, name: str, *, epoch: int, checksum: str | None) -> None:
        task = self.tasks[name]
        (result,) = task.region.results
        self.log.commit(
            Manifest(
                version=MANIFEST_VERSION,
                result_id=result.id,
                epoch=epoch,
                parent_epoch=None,
                attempt=task.attempt,
                plan_id=task.region.plan_id,
                fingerprint=result.fingerprint,
                location="/nowhere",
                schema="{}",
                partitions=(),
                checksum=checksum,
                contracts=(),
            )
        )

    def begin_again(self, name: str) -> None:
        attempt = replace(self.tasks[name].attempt, execution_id=f"{name}-running", attempt_number=1)
        self.tasks[name] = task = replace(self.tasks[name], attempt=attempt)
        key = self.layout.descriptor(task.region.region_id, attempt.execution_id)
        LocalStore().put_if_absent(key, task.to_json().encode())

    def finish(self, name: str, *, reads: int | None = None) -> None:
        task, store = self.tasks[name], LocalStore()
        (result,) = self.tasks["first"].region.results
        read = () if reads is None else (StagedRead(result_id=result.id, epoch=reads),)
        report = ExecutionReport(
            version=REPORT_VERSION,
            application_id=None,
            outputs=(),
            contracts=(),
            vertices=(),
            actions=(),
            reads=read,
            recomputed=(),
            failure=None,
        )
        where = task.region.region_id, task.attempt.execution_id
        store.put_if_absent(self.layout.descriptor(*where), task.to_json().encode())
        store.put_if_absent(self.layout.execution(*where) + "/report.json", to_json(report).encode())

    def rerun_stale_consumers(self, of: str, conn_id: str | None) -> tuple[RegionId, ...]:
        from graph_compiler.airflow_backend.task.stale_consumers import rerun_stale_consumers
        from graph_compiler.airflow_backend.task.task_try import TaskTry

        task = self.tasks[of]
        others = [each.region for each in self.tasks.values() if each is not task]
        operator = self.dag.get_task(task.identity.task_id(task.region.task_name))
        return rerun_stale_consumers(TaskTry([task]), others, operator, conn_id)  # type: ignore[arg-type]  # a task of a Dag is one


def mapped_together(env: StreamExecutionEnvironment, identity: RunIdentity) -> "DAG":
    """Return a Dag in which the pipeline's tasks are mapped together, and a task of another kind waits for them."""
    from airflow.providers.standard.operators.empty import EmptyOperator
    from airflow.sdk import DAG, task_group

    from graph_compiler.airflow_backend.dag.arguments import Arguments
    from graph_compiler.airflow_backend.installation.settings import Settings
    from graph_compiler.airflow_backend.task.task_operator import DeploymentTaskOperator
    from graph_compiler.compiler.pipeline_compiler import compile_pipeline
    from graph_compiler.deployment.describe.region_descriptors import describe_pipeline

    described = describe_pipeline(compile_pipeline(env.pipeline()))

    with DAG(identity.dag_id, schedule=None) as dag:

        @task_group(group_id=identity.group_path)
        def mapped(number: int) -> None:  # noqa: ARG001  # what it is mapped over
            tasks = {
                str(name): DeploymentTaskOperator(
                    regions=regions,
                    plan=described.plan,
                    arguments=Arguments.own(env.pipeline()),
                    settings=Settings(staging_root="/nowhere"),
                )
                for name, regions in described.tasks().items()
            }
            tasks["first"] >> [tasks["one"], tasks["two_out"]]
            tasks["one"] >> tasks["last_out"]

        mapped.expand(number=[1, 2]) >> EmptyOperator(task_id="after")
    return dag


@pytest.fixture
def run(tmp_path: Path) -> Run:
    return Run(tmp_path)


def test_no_request_is_made_while_consumers_are_current(run: Run, api: FakeApi) -> None:
    run.rerun_stale_consumers("first", "api")
    run.commit("first", epoch=1, checksum="aa")
    run.rerun_stale_consumers("first", "api")
    assert api.asked == []


@pytest.mark.parametrize("checksum", ["bb", None])
def test_stale_consumers_are_cleared_with_their_downstream_tasks(checksum: str | None, run: Run, api: FakeApi) -> None:
    run.commit("first", epoch=1, checksum=checksum)
    api.succeeded = ["one", "last_out", "two_out", "first"]
    run.rerun_stale_consumers("first", "api")
    assert [(method, path) for method, path, _ in api.asked] == [
        ("POST", "/auth/token"),
        ("GET", "/api/v2/dags/p/dagRuns/r%2F1/taskInstances"),
        ("POST", "/api/v2/dags/p/clearTaskInstances"),
    ]
    assert api.asked[0][2] == {"username": "u", "password": "p"}
    body = api.asked[2][2]
    assert sorted(body.pop("task_ids")) == ["last_out", "one", "two_out"]
    assert body == {"dry_run": False, "dag_run_id": "r/1", "only_failed": False, "reset_dag_runs": True}


def test_the_asking_task_and_pending_tasks_are_not_cleared(run: Run, api: FakeApi) -> None:
    run.commit("first", epoch=1, checksum="bb")
    api.succeeded = ["one"]
    run.begin_again("two")  # and is about to fail, or has not read it
    run.rerun_stale_consumers("two", "api")
    assert api.asked[2][2]["task_ids"] == ["one"]


def test_a_task_whose_input_was_recomputed_meanwhile_is_retried(run: Run, api: FakeApi) -> None:
    from airflow.sdk.exceptions import AirflowException, AirflowFailException

    from graph_compiler.airflow_backend.task.stale_consumers import check_reads

    run.commit("first", epoch=1, checksum="bb")
    api.succeeded = ["one"]
    stale = run.rerun_stale_consumers("two", "api")
    check_reads(())
    with pytest.raises(AirflowException, match="what 'two_out' read was recomputed") as error:
        check_reads(stale)
    assert not isinstance(error.value, AirflowFailException)
    assert api.asked[2][2]["task_ids"] == ["one"], "the others are seen to first"


def test_without_a_connection_what_to_clear_is_in_the_log(run: Run, capsys: pytest.CaptureFixture[str]) -> None:
    run.commit("first", epoch=1, checksum="bb")
    run.rerun_stale_consumers("first", None)
    assert "in Airflow's UI, clear one and two_out of run 'r/1'" in capsys.readouterr().out


def test_no_command_of_airflow_clears_what_the_log_names(run: Run) -> None:
    """Check why `how_to_clear` names the UI: `airflow tasks clear -t` takes no regular expression."""
    from airflow.cli import cli_config
    from airflow.serialization.serialized_objects import DagSerialization

    dag = DagSerialization.from_dict(DagSerialization.to_dict(run.dag))

    def cleared(tasks: Any) -> set[str]:
        chosen = dag.partial_subset(task_ids=tasks, include_downstream=True, include_upstream=False)
        return set(chosen.task_dict)

    assert "regex" in str(cli_config.ARG_TASK_REGEX.kwargs["help"])
    assert cleared("^(one)$") == set(), "what the command chooses"
    assert cleared("o") > cleared(["one"]), "others, too"
    assert cleared(["one"]) == {"one", "last_out"}, "what the UI chooses"


def test_a_refused_api_call_fails_the_attempt_and_is_repeated(run: Run, api: FakeApi) -> None:
    from airflow.sdk.exceptions import AirflowException

    run.commit("first", epoch=1, checksum="bb")
    api.succeeded, api.refuses = ["one"], True
    with pytest.raises(AirflowException, match="Airflow's API \\(api\\): .*403"):
        run.rerun_stale_consumers("first", "api")
    api.refuses = False
    run.rerun_stale_consumers("first", "api")
    assert api.asked[-1][1].endswith("clearTaskInstances")


def test_a_consumer_that_has_since_rerun_is_not_cleared(run: Run, api: FakeApi) -> None:
    run.commit("first", epoch=1, checksum="bb")
    for name in ("one", "two"):
        attempt = replace(run.tasks[name].attempt, execution_id=f"{name}-again", attempt_number=1)
        run.tasks[name] = replace(run.tasks[name], attempt=attempt)
        run.finish(name, reads=1)
    run.rerun_stale_consumers("first", "api")
    assert api.asked == []


MAPPED = RunIdentity.named("p@many:each:1", "r/1")


def test_only_the_matching_mapped_instance_is_cleared_with_its_downstream(tmp_path: Path, api: FakeApi) -> None:
    run = Run(tmp_path, MAPPED)
    run.commit("first", epoch=1, checksum="bb")
    api.succeeded = ["each.one", "each.last_out", "each.two_out", "after"]
    api.map_indexes = [0, 1]
    run.rerun_stale_consumers("first", "api")
    assert [path for _, path, _ in api.asked[1:]] == [
        "/api/v2/dags/many/dagRuns/r%2F1/taskInstances",
        "/api/v2/dags/many/clearTaskInstances",
    ]
    asked, together = api.asked[2][2]["task_ids"], ("each.one", "each.last_out", "each.two_out")
    assert "after" in asked
    assert sorted(one for one in asked if one != "after") == sorted([id, 1] for id in together)


def test_unsuccessful_instances_are_not_cleared(tmp_path: Path, api: FakeApi) -> None:
    run = Run(tmp_path, MAPPED)
    run.commit("first", epoch=1, checksum="bb")
    api.succeeded, api.map_indexes = ["each.one"], [0]
    run.rerun_stale_consumers("first", "api")
    assert [path for _, path, _ in api.asked if path.endswith("clearTaskInstances")] == []


def test_the_log_names_the_tasks_of_the_dag_they_are_in(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = Run(tmp_path, MAPPED)
    run.commit("first", epoch=1, checksum="bb")
    run.rerun_stale_consumers("first", None)
    words = "clear each.one and each.two_out of run 'r/1' of 'many', with map index 1, downstream"
    assert words in capsys.readouterr().out
