"""A task of several regions: its driver leaves a report for each, and the task answers for all of them."""

import json
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

from graph_compiler import Parquet, StreamExecutionEnvironment, Text, Values
from graph_compiler.compiler.pipeline_compiler import compile_pipeline
from graph_compiler.deployment.describe.region_descriptors import describe_pipeline
from graph_compiler.deployment.documents.descriptor import TaskDeploymentDescriptor
from graph_compiler.deployment.documents.report import VERSION, ExecutionReport, Failure, Outcome, Output, ThrowableType
from graph_compiler.deployment.documents.stream import SavepointRestoreSettings
from graph_compiler.deployment.documents.wire import from_json, to_json
from graph_compiler.graphs.execution import ExecutionState
from graph_compiler.identifiers import path_segment
from graph_compiler.staging.attempts.attempt_documents import AttemptDocuments, KeptExecution
from graph_compiler.staging.store.local_store import LocalStore

if TYPE_CHECKING:
    from graph_compiler.airflow_backend.task.task_operator import DeploymentTaskOperator

pytestmark = [
    pytest.mark.airflow,
    pytest.mark.filterwarnings("default"),  # Airflow's own imports warn of much
]
RUN = "manual__1"
Driver = Callable[[dict[str, Path]], None]
"""What a driver leaves in the folders of its executions, by region."""


@pytest.fixture
def operator(tmp_path: Path) -> "DeploymentTaskOperator":
    return operator_of(tmp_path)


def operator_of(tmp_path: Path) -> "DeploymentTaskOperator":
    env = StreamExecutionEnvironment("p")
    rows = env.from_source(Values([(1,)], "x INT"), "in").stage("for all", same_task=True)
    for name in ("one", "two"):
        rows.filter("x > 0").name(f"few_{name}").sink_to(Parquet(f"/out/{name}")).name(name)
    operator = task_of(env, tmp_path)
    assert operator.task_id == "one", "it is not there to stage a source"
    assert [region.region_id for region in operator.regions] == ["in", "one", "two"]
    return operator


def task_of(env: StreamExecutionEnvironment, tmp_path: Path) -> "DeploymentTaskOperator":
    from graph_compiler.airflow_backend.dag.arguments import Arguments
    from graph_compiler.airflow_backend.installation.settings import Settings
    from graph_compiler.airflow_backend.task.task_operator import DeploymentTaskOperator

    described = describe_pipeline(compile_pipeline(env.pipeline()))
    (regions,) = described.tasks().values()
    operator = DeploymentTaskOperator(
        regions=regions,
        plan=described.plan,
        arguments=Arguments.own(env.pipeline()),
        settings=Settings(staging_root=str(tmp_path / "root")),
    )
    operator.parameters = {"run_date": "2013-01-01"}
    return operator


def report(failure: ThrowableType | None = None, *outputs: Output) -> str:
    return to_json(
        ExecutionReport(
            version=VERSION,
            application_id="local-1",
            outputs=outputs,
            contracts=(),
            vertices=(),
            actions=(),
            reads=(),
            recomputed=(),
            failure=None
            if failure is None
            else Failure(throwable_type=failure, operator=None, declared_at=None, message=f"it is {failure}"),
        )
    )


def output(name: str) -> Output:
    return Output(kind="sink", name=name, location=f"/out/{name}", rows=1, bytes=9)


def execute(
    operator: "DeploymentTaskOperator",
    monkeypatch: pytest.MonkeyPatch,
    driver: Driver,
    number: int = 1,
    conf: object = None,
) -> Any:
    """Execute a try whose spark-submit does what `driver` does, and fails if it raises."""
    from airflow.providers.apache.spark.hooks.spark_submit import SparkSubmitHook

    def submit(hook: Any, _: str, **__: Any) -> None:
        folders = [Path(descriptor).parent for descriptor in hook._application_args]
        driver({folder.parent.name: folder for folder in folders})

    monkeypatch.setattr(SparkSubmitHook, "submit", submit)
    instance = SimpleNamespace(
        dag_id="p", task_id=operator.task_id, map_index=-1, run_id=RUN, id=f"e{number}", try_number=number
    )
    events: Any = defaultdict(lambda: SimpleNamespace(extra={}))
    run = SimpleNamespace(logical_date=None, conf=conf)
    return operator.execute({"ti": instance, "outlet_events": events, "dag_run": run})  # type: ignore[typeddict-item]


def failing() -> None:
    from airflow.sdk.exceptions import AirflowException

    raise AirflowException("Cannot execute: spark-submit … Error code is: 83.")


def outcomes(tmp_path: Path, number: int = 1) -> dict[str, str]:
    tasks = tmp_path / "root" / "p" / path_segment(RUN) / "tasks"
    files = sorted(tasks.glob(f"*/e{number}/outcome.json"))
    return {file.parents[1].name: json.loads(file.read_text())["state"] for file in files}


def begin(folder: Path) -> None:
    (folder / "driver.json").touch()


def test_all_regions_have_finished(
    operator: "DeploymentTaskOperator", monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def driver(folders: dict[str, Path]) -> None:
        for name, folder in folders.items():
            begin(folder)
            outputs = [output(name)] if name in ("one", "two") else []
            (folder / "report.json").write_text(report(None, *outputs))

    summary = execute(operator, monkeypatch, driver)
    assert [each["name"] for each in summary["outputs"]] == ["one", "two"]
    assert outcomes(tmp_path) == {"in": "FINISHED", "one": "FINISHED", "two": "FINISHED"}
    assert {outlet.uri for outlet in operator.outlets} == {"file:///out/one", "file:///out/two"}


@pytest.mark.parametrize(
    ("first", "second", "is_final"),
    [
        ("NON_RECOVERABLE_ERROR", "RECOVERABLE_ERROR", False),
        ("ENVIRONMENT_ERROR", "NON_RECOVERABLE_ERROR", False),
        ("NON_RECOVERABLE_ERROR", "NON_RECOVERABLE_ERROR", True),
    ],
)
def test_of_several_failures_one_that_a_retry_may_help_decides(
    first: str,
    second: str,
    is_final: bool,
    operator: "DeploymentTaskOperator",
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    from airflow.sdk.exceptions import AirflowException, AirflowFailException

    def driver(folders: dict[str, Path]) -> None:
        for name, kind in {"in": None, "one": first, "two": second}.items():
            begin(folders[name])
            (folders[name] / "report.json").write_text(report(ThrowableType(kind) if kind else None))
        failing()

    with pytest.raises(AirflowException) as raised:
        execute(operator, monkeypatch, driver)
    assert isinstance(raised.value, AirflowFailException) is is_final
    assert f"region 'one': it is {first}" in str(raised.value)
    assert f"region 'two': it is {second}" in str(raised.value)
    assert outcomes(tmp_path) == {"in": "FINISHED", "one": "FAILED", "two": "FAILED"}


def test_a_driver_that_dies_fails_the_region_that_it_was_at(
    operator: "DeploymentTaskOperator", monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    from airflow.sdk.exceptions import AirflowException

    def driver(folders: dict[str, Path]) -> None:
        begin(folders["in"])
        (folders["in"] / "report.json").write_text(report())
        begin(folders["one"])
        failing()

    with pytest.raises(AirflowException, match="without a report"):
        execute(operator, monkeypatch, driver)
    assert outcomes(tmp_path) == {"in": "FINISHED", "one": "FAILED", "two": "CANCELED"}


def test_a_task_that_is_killed_cancels_what_has_not_finished(
    operator: "DeploymentTaskOperator", monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    from airflow.sdk.exceptions import AirflowException

    def driver(folders: dict[str, Path]) -> None:
        begin(folders["in"])
        (folders["in"] / "report.json").write_text(report())
        begin(folders["one"])
        operator.on_kill()
        failing()

    with pytest.raises(AirflowException):
        execute(operator, monkeypatch, driver)
    assert outcomes(tmp_path) == {"in": "FINISHED", "one": "CANCELED", "two": "CANCELED"}


def test_what_a_retry_has_kept_counts_as_its_own(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    from airflow.sdk.exceptions import AirflowException

    def fails(folders: dict[str, Path]) -> None:
        for name, folder in folders.items():
            begin(folder)
            failed = ThrowableType.RECOVERABLE_ERROR if name == "two" else None
            outputs = [output(name)] if name == "one" else []
            (folder / "report.json").write_text(report(failed, *outputs))
        failing()

    def keeps(folders: dict[str, Path]) -> None:
        kept = KeptExecution(execution_id="e1", attempt_number=0, try_number=2)
        for name in ("in", "one"):
            AttemptDocuments(LocalStore(), str(folders[name])).put_kept(kept)
        begin(folders["two"])
        (folders["two"] / "report.json").write_text(report(None, output("two")))

    with pytest.raises(AirflowException):
        execute(operator_of(tmp_path), monkeypatch, fails)
    operator = operator_of(tmp_path)
    summary = execute(operator, monkeypatch, keeps, 2)
    assert [each["name"] for each in summary["outputs"]] == ["one", "two"]
    assert {outlet.uri for outlet in operator.outlets} == {"file:///out/one", "file:///out/two"}
    assert outcomes(tmp_path, 2) == {"in": "FINISHED", "one": "FINISHED", "two": "FINISHED"}
    descriptor = tmp_path / "root" / "p" / path_segment(RUN) / "tasks" / "two" / "e2"
    told = json.loads((descriptor / "descriptor.json").read_text())
    assert (told["attempt"]["attempt_number"], told["try_number"], told["turn"]) == (1, 2, 2)


def test_a_driver_that_has_left_a_region_out_has_done_its_work(
    operator: "DeploymentTaskOperator", monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    from airflow.sdk.exceptions import AirflowException

    def driver(folders: dict[str, Path]) -> None:
        begin(folders["in"])
        (folders["in"] / "report.json").write_text(report(ThrowableType.RECOVERABLE_ERROR))
        for name in ("one", "two"):
            left = Outcome(state=ExecutionState.CANCELED, ended=1.0, reason="'in' failed")
            (folders[name] / "outcome.json").write_text(to_json(left))
        failing()

    with pytest.raises(AirflowException, match="region 'in': it is RECOVERABLE_ERROR"):
        execute(operator, monkeypatch, driver)
    assert outcomes(tmp_path) == {"in": "FAILED", "one": "CANCELED", "two": "CANCELED"}


@pytest.mark.parametrize(
    ("conf", "is_asked"),
    [
        ({"graph_compiler": {"from_start": True}}, True),
        ({"graph_compiler": {"from_start": "yes"}}, False),
        ({"graph_compiler": True, "from_start": True}, False),
        (None, False),
    ],
)
def test_a_run_may_ask_to_keep_nothing(
    conf: object, is_asked: bool, operator: "DeploymentTaskOperator", monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = []

    def driver(folders: dict[str, Path]) -> None:
        for folder in folders.values():
            descriptor = json.loads((folder / "descriptor.json").read_text())
            asked.append(descriptor.get("from_start", False))
            (folder / "report.json").write_text(report())

    execute(operator, monkeypatch, driver, conf=conf)
    assert asked == [is_asked] * 3


SAVED = {"path": "/backup/words"}


def of_stream(tmp_path: Path) -> "DeploymentTaskOperator":
    env = StreamExecutionEnvironment("p", config={"execution.runtime-mode": "AUTOMATIC"})
    lines = env.from_source(Text(f"{tmp_path}/in"), "lines", unbounded=True).uid("lines")
    lines.sink_to(Parquet("/out"), mode="append")
    return task_of(env, tmp_path)


@pytest.mark.parametrize("allows", [{}, {"allow_non_restored_state": True}])
def test_a_run_may_ask_for_the_savepoint_of_its_stream(
    allows: dict[str, bool], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = []

    def driver(folders: dict[str, Path]) -> None:
        for folder in folders.values():
            descriptor = from_json(TaskDeploymentDescriptor, (folder / "descriptor.json").read_text())
            asked.append(descriptor.region.savepoint)
            (folder / "report.json").write_text(report())

    for number, savepoint in enumerate(({**SAVED, **allows}, None), start=1):
        conf = {"graph_compiler": {"savepoint": savepoint}}
        execute(of_stream(tmp_path), monkeypatch, driver, number, conf)
    allowed = bool(allows)
    assert asked == [SavepointRestoreSettings(path=SAVED["path"], allow_non_restored_state=allowed), None]


@pytest.mark.parametrize(
    "savepoint",
    [
        *("/backup/words", {}, {"path": "words"}, {"path": 1}),
        *({**SAVED, "more": 1}, {**SAVED, "allow_non_restored_state": "no"}),
    ],
)
def test_what_is_no_savepoint_fails_the_run(savepoint: object, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from airflow.sdk.exceptions import AirflowFailException

    with pytest.raises(AirflowFailException, match="was triggered with the savepoint .*\n  allowed: "):
        execute(of_stream(tmp_path), monkeypatch, lambda _: None, conf={"graph_compiler": {"savepoint": savepoint}})


def test_a_savepoint_for_a_pipeline_without_a_stream_fails_the_run(
    operator: "DeploymentTaskOperator", monkeypatch: pytest.MonkeyPatch
) -> None:
    from airflow.sdk.exceptions import AirflowFailException

    with pytest.raises(AirflowFailException, match="none of its sources is unbounded\n  allowed: "):
        execute(operator, monkeypatch, lambda _: None, conf={"graph_compiler": {"savepoint": SAVED}})
