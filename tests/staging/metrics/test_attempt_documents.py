"""Which attempts at a region are reported when one has ended, from the documents in the staging root."""

from pathlib import Path

from graph_compiler import Parquet, StreamExecutionEnvironment, Values
from graph_compiler.compiler.pipeline_compiler import compile_pipeline
from graph_compiler.deployment.describe.region_descriptors import describe_regions
from graph_compiler.deployment.documents.descriptor import VERSION as DESCRIPTOR_VERSION
from graph_compiler.deployment.documents.descriptor import ExecutionAttempt, TaskDeploymentDescriptor
from graph_compiler.deployment.documents.report import Outcome
from graph_compiler.deployment.documents.run_identity import RunIdentity
from graph_compiler.deployment.documents.wire import to_json
from graph_compiler.graphs.execution import ExecutionState
from graph_compiler.staging.attempts.attempt_documents import AttemptDocuments, KeptExecution
from graph_compiler.staging.attempts.execution_order import begin
from graph_compiler.staging.attempts.task_attempt import TimedAttempt, timed_attempts
from graph_compiler.staging.store.local_store import LocalStore

STORE = LocalStore()


def task(root: Path, execution_id: str) -> TaskDeploymentDescriptor:
    env = StreamExecutionEnvironment("p")
    env.from_source(Values([(1,)], "x INT"), "in").sink_to(Parquet("/out")).name("out")
    (region,) = describe_regions(compile_pipeline(env.pipeline()))
    return TaskDeploymentDescriptor(
        version=DESCRIPTOR_VERSION,
        identity=RunIdentity.own("p", "r"),
        region=region,
        attempt=ExecutionAttempt(execution_id=execution_id, attempt_number=0),
        staging_root=str(root),
        parameters=(),
    )


def leave(root: Path, execution_id: str, *, ended: float | None, running: bool = True) -> str:
    """Leave the documents of an execution, and return the key of its descriptor."""
    one = task(root, execution_id)
    assert begin(STORE, one)
    key = one.layout.descriptor(one.region.region_id, execution_id)
    if running:
        STORE.put(one.layout.execution(one.region.region_id, execution_id) + "/driver.json", b"{}")
    if ended is not None:
        outcome = Outcome(state=ExecutionState.FAILED, ended=ended, reason="it failed")
        STORE.put(one.layout.execution(one.region.region_id, execution_id) + "/outcome.json", to_json(outcome).encode())
    return key


def attempts(root: Path, key: str) -> tuple[TimedAttempt, ...]:
    one = task(root, "any")
    return timed_attempts(one.layout, one.region.region_id, AttemptDocuments.beside(key))


def reported(found: tuple[TimedAttempt, ...]) -> list[tuple[str, bool]]:
    return [(one.execution.execution_id, one.is_reported) for one in found]


def test_those_that_died_just_before_are_not_reported_yet(tmp_path: Path) -> None:
    for name, ended in (("dead", None), ("failed", 9e9), ("dead too", None)):
        leave(tmp_path, name, ended=ended)
    last = leave(tmp_path, "last", ended=9e9)
    leave(tmp_path, "later", ended=None)
    assert reported(attempts(tmp_path, last)) == [
        ("dead", True),
        ("failed", True),
        ("dead too", False),
        ("last", False),
    ]


def test_one_that_kept_the_work_of_another_is_no_attempt(tmp_path: Path) -> None:
    leave(tmp_path, "dead", ended=None)
    kept = leave(tmp_path, "kept", ended=9e9)
    of = KeptExecution(execution_id="dead", attempt_number=0, try_number=1)
    AttemptDocuments.beside(kept).put_kept(of)
    assert reported(attempts(tmp_path, kept)) == [("dead", False)]


def test_times_are_those_of_documents(tmp_path: Path) -> None:
    leave(tmp_path, "dead", ended=None, running=False)
    last = leave(tmp_path, "last", ended=9e9)
    dead, ended = attempts(tmp_path, last)
    assert dead.running is None
    assert dead.ended == dead.execution.started  # its only sign of life
    assert ended.ended == 9e9
    assert ended.running is not None
    assert ended.running >= ended.execution.started


def test_a_removed_execution_has_no_attempts(tmp_path: Path) -> None:
    assert attempts(tmp_path, f"{tmp_path}/gone/descriptor.json") == ()
