"""The driver's work before any data moves, and during it: hooks of all vertices, then coordinators, then rows."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from graph_compiler import Csv, Parquet, SlotSharingGroup, StreamExecutionEnvironment
from graph_compiler.compiler.pipeline_compiler import compile_pipeline
from graph_compiler.declaration.coordination import InputSplit, MasterHook
from graph_compiler.deployment.describe.region_descriptors import describe_regions
from graph_compiler.deployment.documents.descriptor import OperatorDescriptor, RegionDescriptor
from graph_compiler.deployment.documents.report import Output
from graph_compiler.deployment.documents.run_identity import RunIdentity
from graph_compiler.deployment.documents.staging_layout import PREPARED, REMOVED, StagingLayout
from graph_compiler.deployment.documents.wire import from_json
from graph_compiler.errors import DecisionLostError
from graph_compiler.spark_runtime.connectors import SinkContext
from graph_compiler.spark_runtime.connectors.file_sink import FileSink
from graph_compiler.spark_runtime.region.coordination import (
    HOOKS,
    OperatorCoordinator,
    OperatorCoordinators,
    SinkCommitter,
    make_coordinators,
)
from graph_compiler.staging.publications.preparations import Preparation
from graph_compiler.staging.store.local_store import LocalStore
from tests.harness.registered_kinds import register
from tests.spark.conftest import RunPipeline

pytestmark = pytest.mark.spark
Environment = StreamExecutionEnvironment


@dataclass(frozen=True, slots=True)
class PartedCsv(Csv):
    """Knows its parts before it reads: one more than requested."""

    def create_input_splits(self, parallelism: int) -> tuple[InputSplit, ...]:
        return tuple(InputSplit(number=n, description=f"part {n}") for n in range(parallelism + 1))


class Recording(OperatorCoordinator):
    """Records what happens to it."""

    def __init__(self, name: str, events: list[str], failing: str = "") -> None:
        self.name, self.events, self.failing = name, events, failing

    def start(self) -> None:
        self._say("start")

    def execution_attempt_started(self, attempt_number: int) -> None:
        self._say(f"attempt {attempt_number}")

    def execution_attempt_failed(self, attempt_number: int, reason: BaseException) -> None:
        self._say(f"attempt {attempt_number} failed: {reason}")

    def commit(self) -> tuple[Output, ...]:
        self._say("commit")
        return (Output(kind="sink", name=self.name, location="", rows=0, bytes=0),)

    def close(self) -> None:
        self._say("close")

    def _say(self, what: str) -> None:
        self.events.append(f"{self.name} {what}")
        if what == self.failing:
            raise RuntimeError("lost")


@pytest.fixture(autouse=True)
def _it_is_registered(monkeypatch: pytest.MonkeyPatch) -> None:
    register(monkeypatch, PartedCsv)


def region_of(env: Environment) -> RegionDescriptor:
    (region,) = describe_regions(compile_pipeline(env.pipeline()))
    return region


def operators_of(region: RegionDescriptor) -> dict[str, OperatorDescriptor]:
    return {operator.name: operator for operator in region.operators}


@contextmanager
def blaming_nobody(_: OperatorDescriptor) -> Iterator[None]:
    yield


@pytest.fixture
def events() -> list[str]:
    return []


@pytest.fixture
def recorded(env: Environment, events: list[str]) -> Callable[..., OperatorCoordinators]:
    """Make coordinators that record, for the two operators of a small pipeline."""
    env.from_source(Csv("/in"), "in").sink_to(Parquet("/out")).name("out")
    operators = operators_of(region_of(env))

    @contextmanager
    def blaming(operator: OperatorDescriptor) -> Iterator[None]:
        try:
            yield
        except RuntimeError as error:
            raise RuntimeError(f"{operator.name} {error}") from error

    def make(**failing: str) -> OperatorCoordinators:
        names = {"in": "source", "out": "sink"}
        members = ((operators[name], Recording(own, events, failing.get(own, ""))) for name, own in names.items())
        return OperatorCoordinators(tuple(members), blaming)

    return make


def test_coordinators_start_before_the_attempt_and_end_after_it(
    recorded: Callable[..., OperatorCoordinators], events: list[str]
) -> None:
    coordinators = recorded()
    with coordinators.attempt(2):
        events.append("rows move")
        assert [output.name for output in coordinators.commit()] == ["source", "sink"]
    assert events == [
        "source start",
        "sink start",
        "source attempt 2",
        "sink attempt 2",
        "rows move",
        "source commit",
        "sink commit",
        "source close",
        "sink close",
    ]


@pytest.mark.parametrize(
    ("failing", "words", "before"),
    [
        ({}, "broken", ["source start", "sink start", "source attempt 0", "sink attempt 0"]),
        ({"source": "start"}, "in lost", ["source start"]),
        (
            {"sink": "commit"},
            "out lost",
            ["source start", "sink start", "source attempt 0", "sink attempt 0", "source commit", "sink commit"],
        ),
    ],
)
def test_coordinators_are_notified_of_a_failure_and_closed(
    failing: dict[str, str],
    words: str,
    before: list[str],
    recorded: Callable[..., OperatorCoordinators],
    events: list[str],
) -> None:
    coordinators = recorded(**failing)

    def execute() -> None:
        with coordinators.attempt(0):
            if not failing:
                raise RuntimeError("broken")
            coordinators.commit()

    with pytest.raises(RuntimeError, match=f"^{words}$"):
        execute()
    failed = [f"{name} attempt 0 failed: {words}" for name in ("source", "sink")]
    assert events == [*before, *failed, "source close", "sink close"]


def test_all_missing_inputs_and_invalid_targets_are_reported_together(
    env: Environment, run_pipeline: RunPipeline, tmp_path: Path
) -> None:
    (tmp_path / "there.csv").write_text("x\n1\n")
    (tmp_path / "file").write_text("precious")
    there = env.from_source(Csv(f"{tmp_path}/there.csv"), "there")
    streams = [env.from_source(Csv(f"{tmp_path}/{name}.csv"), name) for name in ("one", "two")]
    streams.append(env.from_source(Parquet(f"{tmp_path}/three/*"), "three"))
    there.union(*streams).sink_to(Parquet(f"{tmp_path}/good")).name("good")
    there.sink_to(Parquet(f"{tmp_path}/file/out")).name("inside")
    failure = run_pipeline(env.pipeline())[-1].failure
    assert failure is not None
    assert (failure.operator, failure.throwable_type) == (None, "NON_RECOVERABLE_ERROR")
    told = [line for line in failure.message.splitlines() if "declared at" not in line]
    assert told[0] == "before any data moved, 4 problems were found"
    assert sorted(told[1:]) == [
        f"    hint: did you mean '{tmp_path}/there.csv'?",  # of three
        f"  inside: its target {tmp_path}/file/out cannot be made: {tmp_path}/file is a file",
        f"  one: its input file:{tmp_path}/one.csv does not exist",
        f"  three: its input file:{tmp_path}/three/* does not exist",
        f"  two: its input file:{tmp_path}/two.csv does not exist",
    ]
    assert failure.message.count(f"declared at {__file__}:") == 4
    assert sorted(path.name for path in tmp_path.iterdir()) == ["file", "staging", "there.csv"]


def test_an_input_may_be_a_pattern_or_a_folder(env: Environment, run_pipeline: RunPipeline, tmp_path: Path) -> None:
    for name in ("a1", "a2", "b1"):
        (tmp_path / "in" / name).mkdir(parents=True)
        (tmp_path / "in" / name / "rows.csv").write_text(f"x\n{name}\n")
    pattern = env.from_source(Csv(f"{tmp_path}/in/a*"), "pattern")
    folder = env.from_source(Csv(f"file://{tmp_path}/in/b1"), "folder")
    pattern.union(folder).sink_to(Parquet(f"{tmp_path}/out")).name("out")
    (report,) = run_pipeline(env.pipeline())
    assert [output.rows for output in report.outputs] == [3]


def test_hooks_run_for_every_vertex_before_any_coordinator_starts(
    env: Environment, run_pipeline: RunPipeline, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "in.csv").write_text("x\n1\n")
    rows = env.from_source(Csv(f"{tmp_path}/in.csv"), "in")
    rows.sink_to(Parquet(f"{tmp_path}/out")).name("out")
    gone = env.from_source(Csv(f"{tmp_path}/gone.csv"), "gone")
    rows.union(gone).sink_to(Parquet(f"{tmp_path}/both")).name("both")
    started: list[SinkCommitter] = []
    monkeypatch.setattr(SinkCommitter, "start", started.append)
    failures = [report.failure for report in run_pipeline(env.pipeline())]
    assert [failure and failure.operator for failure in failures] == ["gone"]
    assert started == []


def test_every_hook_is_handled() -> None:
    assert set(HOOKS) == set(MasterHook)


def test_an_unreachable_input_is_a_failure_of_its_operator(
    env: Environment, run_pipeline: RunPipeline, tmp_path: Path
) -> None:
    env.from_source(Csv("nosuch://host/in.csv"), "far").sink_to(Parquet(f"{tmp_path}/out")).name("out")
    failure = run_pipeline(env.pipeline())[-1].failure
    assert failure is not None
    assert failure.operator == "far"
    assert "this Spark has no file system for nosuch:" in failure.message


def committers(
    env: Environment, spark: SparkSession, tmp_path: Path, execution_id: str
) -> tuple[OperatorCoordinators, list[OperatorDescriptor]]:
    region = region_of(env)
    layout = StagingLayout(root=str(tmp_path / "staging"), identity=RunIdentity.own("p", "r"))
    context = SinkContext(
        spark=spark,
        store=LocalStore(),
        layout=layout,
        plan_id=region.plan_id,
        region_id=region.region_id,
        execution_id=execution_id,
    )
    operators = operators_of(region)
    coordinators = make_coordinators(region.vertices, context, blaming_nobody)
    return coordinators, [operators["first"], operators["second"]]


def two_sinks(env: Environment, tmp_path: Path) -> Environment:
    rows = env.from_source(Csv(f"{tmp_path}/in.csv"), "in")
    for name in ("second", "first"):  # a chain's coordinators begin with its end
        rows.sink_to(Parquet(f"{tmp_path}/{name}")).name(name)
    return env


def test_decided_rows_survive_a_failure_and_are_published_by_the_next_execution(
    env: Environment, spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    two_sinks(env, tmp_path)
    coordinators, sinks = committers(env, spark, tmp_path, "one")
    order = [operator.name for operator, c in coordinators.members if isinstance(c, SinkCommitter)]

    def die(*_: object) -> None:
        raise KeyboardInterrupt

    def execute() -> None:
        with coordinators.attempt(0):
            for sink in sinks:
                coordinators.committer(sink).prepare(spark.range(3))
            monkeypatch.setattr(Path, "rename", die)
            coordinators.commit()

    with pytest.raises(KeyboardInterrupt):
        execute()
    monkeypatch.undo()
    published, other = order
    folder = tmp_path / f".{published}.graph_compiler" / "one"
    assert folder.is_dir()
    assert not (tmp_path / f".{other}.graph_compiler").exists()
    left = [place for place, is_left in preparations(tmp_path).items() if is_left]
    assert left == [str(folder)]

    coordinators, _ = committers(env, spark, tmp_path, "two")
    with coordinators.attempt(1):
        assert spark.read.parquet(str(tmp_path / published)).count() == 3
    assert not (tmp_path / other).exists()


def test_prepared_rows_are_removed_when_the_attempt_fails(
    env: Environment, spark: SparkSession, tmp_path: Path
) -> None:
    two_sinks(env, tmp_path)
    coordinators, sinks = committers(env, spark, tmp_path, "one")

    folder = tmp_path / ".first.graph_compiler" / "one"

    def execute() -> None:
        with coordinators.attempt(0):
            coordinators.committer(sinks[0]).prepare(spark.range(3))
            assert folder.is_dir()
            assert preparations(tmp_path) == {str(folder): True}
            raise RuntimeError("broken")

    with pytest.raises(RuntimeError, match="broken"):
        execute()
    assert [path.name for path in tmp_path.iterdir()] == ["staging"]
    assert preparations(tmp_path) == {str(folder): False}


def test_prepared_rows_are_removed_when_another_execution_was_first(
    env: Environment, spark: SparkSession, tmp_path: Path
) -> None:
    two_sinks(env, tmp_path)
    slow, sinks = committers(env, spark, tmp_path, "slow")
    fast, others = committers(env, spark, tmp_path, "fast")

    def execute() -> None:
        with slow.attempt(0), fast.attempt(1):
            for sink, other in zip(sinks, others, strict=True):
                slow.committer(sink).prepare(spark.range(3))
                fast.committer(other).prepare(spark.range(3))
            fast.commit()
            slow.commit()

    with pytest.raises(DecisionLostError):
        execute()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["first", "second", "staging"]
    assert set(preparations(tmp_path).values()) == {False}
    assert len(preparations(tmp_path)) == 4


def test_a_place_is_recorded_before_anything_is_made_there(
    env: Environment, spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    two_sinks(env, tmp_path)
    coordinators, sinks = committers(env, spark, tmp_path, "one")

    def die(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(FileSink, "prepare", die)
    for _, coordinator in coordinators.members:
        coordinator.start()
    with pytest.raises(KeyboardInterrupt):
        coordinators.committer(sinks[0]).prepare(spark.range(3))
    assert preparations(tmp_path) == {str(tmp_path / ".first.graph_compiler" / "one"): True}


def preparations(tmp_path: Path) -> dict[str, bool]:
    """Return where sinks have prepared rows, and whether anything may be left there."""
    found = {}
    for path in (tmp_path / "staging").rglob(f"{PREPARED}/*.json"):
        if not path.name.endswith(REMOVED):
            record = from_json(Preparation, path.read_text())
            removed = path.with_name(f"{record.operator_id}{REMOVED}")
            found[record.prepared.place] = not removed.exists()
    return found


def test_the_driver_asks_the_connector_for_its_splits_and_says_how_many(
    env: Environment, run_pipeline: RunPipeline, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "in.csv").write_text("x\n1\n")
    source = env.from_source(PartedCsv(f"{tmp_path}/in.csv"), "parted").set_parallelism(2)
    source.rebalance().sink_to(Parquet(f"{tmp_path}/out")).name("out")
    (report,) = run_pipeline(env.pipeline())
    assert report.failure is None
    assert (
        "graph_compiler: source parted: 3 input splits for 2 subtasks"
        ' [pipeline=sales run=run region=out attempt=1 vertex="Source: parted"]\n'
    ) in capsys.readouterr().out


def test_settings_that_the_master_ignores_are_reported(
    env: Environment, run_pipeline: RunPipeline, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "in.csv").write_text("x\n1\n")
    group = SlotSharingGroup("big", driver_memory="2g", executor_memory="4g", executor_cores=2)
    rows = env.from_source(Csv(f"{tmp_path}/in.csv"), "in").slot_sharing_group(group)
    rows.sink_to(Parquet(f"{tmp_path}/out")).name("out")
    run_pipeline(env.pipeline())
    assert (
        "graph_compiler: slot sharing group 'big': local[2] ignores executor_memory and executor_cores: "
        "driver and executor are one JVM; its heap is driver_memory, and its cores are the master's ["
    ) in capsys.readouterr().out
