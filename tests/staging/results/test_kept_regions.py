"""Retries of a task with several regions: what is kept is what would be computed again.

A run of a task is played without Spark: `run_regions` is the driver's, and the rows of a region are words that say from
which version of the sources they come.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from io import StringIO
from pathlib import Path
from tempfile import TemporaryDirectory
from time import time

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)
from rich.console import Console

from graph_compiler import Csv, Jdbc, Parquet, Secret, StreamExecutionEnvironment
from graph_compiler.cli.commands.history import run_history, show_history
from graph_compiler.compiler.pipeline_compiler import compile_pipeline
from graph_compiler.declaration.connectors import Connector
from graph_compiler.declaration.operators import Source
from graph_compiler.deployment.describe.local_task import DeskRun, desk_task
from graph_compiler.deployment.describe.region_descriptors import describe_regions
from graph_compiler.deployment.documents.computed_by import CodePart, ComputedBy, PartKind, why_other_code
from graph_compiler.deployment.documents.descriptor import RegionDescriptor, StagedInput, TaskDeploymentDescriptor
from graph_compiler.deployment.documents.manifest import VERSION as MANIFEST_VERSION
from graph_compiler.deployment.documents.manifest import DataFile, Manifest, ManifestPartition, StagedRead
from graph_compiler.deployment.documents.report import ExecutionReport, Failure, Outcome, SourceFiles, ThrowableType
from graph_compiler.deployment.documents.wire import to_json, values_within
from graph_compiler.graphs.execution import ExecutionState
from graph_compiler.identifiers import RegionId
from graph_compiler.spark_runtime.region.task_run import leave_out, run_regions
from graph_compiler.staging.attempts.attempt_documents import AttemptDocuments
from graph_compiler.staging.attempts.attempts import count_attempts, executions, kept_executions, last_execution
from graph_compiler.staging.attempts.execution_order import begin, claim_execution
from graph_compiler.staging.results.kept_regions import discard
from graph_compiler.staging.results.manifest_log import DamagedResult, ManifestLog, record_damage
from graph_compiler.staging.results.release import ReleasedResult
from graph_compiler.staging.store.local_store import LocalStore
from tests.harness.reports import bare_report
from tests.harness.shown_log import shown_log

BROKEN = Failure(throwable_type=ThrowableType.RECOVERABLE_ERROR, operator=None, declared_at=None, message="no")
STORE = LocalStore()
_MEMORY = "/dev/shm" if Path("/dev/shm").is_dir() else None  # each document is written through


class KilledError(BaseException):
    """The driver has died."""


RIGHT_TARGET = Parquet("/right")


@cache
def regions(sink: Connector = RIGHT_TARGET, *more: str) -> tuple[RegionDescriptor, ...]:
    """Return the regions of one task: left and right read first, last reads left and a source of its own.

    `more` are reports that read other sources.
    """
    env = StreamExecutionEnvironment("shared")
    first = env.from_source(Csv("/orders"), "orders").filter("x > 0").name("first").uid("first")
    staged = first.stage("for all", same_task=True)
    left = staged.key_by("x").aggregate(n="count(*)").name("left").uid("left").stage("once", same_task=True)
    small = env.from_source(Csv("/small"), "small")
    left.join(small, on="x").name("joined").uid("joined").sink_to(Parquet("/last")).name("last").uid("last")
    staged.filter("x > 1").name("kept").uid("kept").sink_to(sink).name("right").uid("right")
    for name in more:
        env.from_source(Csv(f"/in/{name}"), "small").filter("x > 2").sink_to(Parquet(f"/{name}")).name(name)
    compiled = compile_pipeline(env.pipeline())
    assert len(compiled.deployment.tasks) == 1
    return describe_regions(compiled)


class Play:
    """Tries of the task in one run; `versions` are those of the sources, `libraries` those of what is installed."""

    def __init__(self, root: str) -> None:
        self.root, self.number = root, 0
        self.versions = {"orders": 0, "small": 0}
        self.libraries = {"pandas": 0, "numpy": 0}
        self.records_code = True
        self.rows: dict[str, str] = {}
        self.last: tuple[TaskDeploymentDescriptor, ...] = ()
        self.released: list[RegionId] = []
        self.plan_id, self.prefix = "plan", "e"
        self.regions = regions()

    def tasks(self, *, from_start: bool = False, day: str = "2024-01-01") -> list[TaskDeploymentDescriptor]:
        self.number += 1
        run = DeskRun(day=day, params={}, run_id="r", staging_root=self.root)
        found = []
        for turn, region in enumerate(self.regions):
            task = desk_task(region, run, execution_id=f"{self.prefix}{self.number}")
            attempts = count_attempts(STORE, task.layout, region.region_id)
            found.append(
                replace(
                    task,
                    attempt=replace(task.attempt, attempt_number=attempts),
                    try_number=self.number,
                    turn=turn,
                    from_start=from_start,
                    region=replace(region, plan_id=self.plan_id),
                )
            )
        return found

    def try_(
        self,
        failing: frozenset[RegionId] = frozenset(),
        killed: RegionId | None = None,
        *,
        tells: bool = True,
        from_start: bool = False,
        day: str = "2024-01-01",
    ) -> bool:
        """Play a try: `failing` regions fail, the driver dies in `killed`; `tells`: the task learns how it ended."""
        tasks = self.tasks(from_start=from_start, day=day)
        self.last = tuple(tasks)
        for task in tasks:
            begin(STORE, task)
        claim_execution(STORE, tasks[0])
        ran: list[RegionId] = []

        def execute(task: TaskDeploymentDescriptor) -> ExecutionReport:
            region_id = task.region.region_id
            ran.append(region_id)
            if region_id == killed:
                raise KilledError
            return self._leave(task, BROKEN if region_id in failing else None)

        try:
            failures = run_regions(tasks, execute, self._why_again, self._release)
        except KilledError:
            failures = [(tasks[0], BROKEN)]
        self.ran = tuple(ran)
        if tells:
            self._tell(tasks, ended_well=not failures)
        return not failures

    def does_not_start(self) -> None:
        """Play a try in which Spark does not start: the first region says so, the others have no turn."""
        tasks = self.tasks()
        for task in tasks:
            begin(STORE, task)
        claim_execution(STORE, tasks[0])
        report = bare_report(BROKEN, application_id=None)
        key = tasks[0].layout.execution(tasks[0].region.region_id, tasks[0].attempt.execution_id) + "/report.json"
        STORE.put_if_absent(key, to_json(report).encode())
        leave_out(tasks[1:], "it failed")

    def _leave(self, task: TaskDeploymentDescriptor, failure: Failure | None) -> ExecutionReport:
        log = ManifestLog(store=STORE, layout=task.layout)
        reads = [
            StagedRead(result_id=id, epoch=log.epochs(id)[-1])
            for id in dict.fromkeys(one.id for one in values_within(task.region, StagedInput))
        ]
        said = self.word(task.region, [self.rows[f"{read.result_id} {read.epoch}"] for read in reads])
        for result in task.region.results:
            self._commit(task, log, result.id, result.fingerprint, said, tuple(reads))
        report = replace(
            bare_report(failure),
            reads=() if failure else tuple(reads),
            sources=tuple(
                SourceFiles(operator=name, paths=(name,), digest=str(self.versions[name]))
                for name in _sources(task.region)
            ),
            computed_by=self.code() if self.records_code else None,
        )
        key = task.layout.execution(task.region.region_id, task.attempt.execution_id) + "/report.json"
        STORE.put_if_absent(key, to_json(report).encode())
        self.rows[f"{task.region.region_id} {task.attempt.execution_id}"] = said
        return report

    def _commit(self, task, log, id, fingerprint, said, reads) -> None:  # type: ignore[no-untyped-def]  # passed on
        epoch = log.next_epoch(id)
        location = task.layout.data(id, epoch=epoch, execution_id=task.attempt.execution_id)
        STORE.put(f"{location}/part-0.parquet", said.encode())
        file = DataFile(name="part-0.parquet", rows=1, bytes=len(said))
        log.commit(
            Manifest(
                version=MANIFEST_VERSION,
                result_id=id,
                epoch=epoch,
                parent_epoch=epoch - 1 if epoch else None,
                attempt=task.attempt,
                plan_id=task.region.plan_id,
                fingerprint=fingerprint,
                location=location,
                schema="{}",
                partitions=(ManifestPartition(index=0, files=(file,)),),
                checksum=hashlib.sha256(said.encode()).hexdigest(),
                contracts=(),
                inputs=reads,
            )
        )
        self.rows[f"{id} {epoch}"] = said

    def word(self, region: RegionDescriptor, read: list[str]) -> str:
        """Return the rows that a region computes of what it reads."""
        sources = [f"{name}={self.versions[name]}" for name in _sources(region)]
        by = [f"{name} {version}" for name, version in self.libraries.items()]
        return f"{region.region_id}({', '.join([*sources, *by, *read])})"

    def code(self) -> ComputedBy:
        """Return by which code each region is computed now."""
        return ComputedBy(
            parts=tuple(
                CodePart(kind=PartKind.PACKAGE, name=name, version=f"2.{version}")
                for name, version in self.libraries.items()
            )
        )

    def _why_again(self, _: TaskDeploymentDescriptor, report: ExecutionReport) -> str | None:
        if why := why_other_code(report.computed_by, self.code()):
            return why
        is_same = all(str(self.versions[one.operator]) == one.digest for one in report.sources)
        return None if is_same else "files of its sources have changed since"

    def _release(self, task: TaskDeploymentDescriptor, _: ExecutionReport) -> None:
        self.released.append(task.region.region_id)

    def _tell(self, tasks: list[TaskDeploymentDescriptor], *, ended_well: bool) -> None:
        for task in tasks:
            region_id, id = task.region.region_id, task.attempt.execution_id
            key = task.layout.execution(region_id, id) + "/report.json"
            own = (STORE.get(key) or b"").decode()
            finished = ended_well or '"failure": null' in own or '"failure":null' in own
            state = ExecutionState.FINISHED if finished else ExecutionState.FAILED
            outcome = Outcome(state=state, ended=time(), reason=None)
            STORE.put_if_absent(task.layout.execution(region_id, id) + "/outcome.json", to_json(outcome).encode())

    def counted(self, task: TaskDeploymentDescriptor) -> str:
        """Return the rows that count as those of a region after the last try."""
        kept = AttemptDocuments.of(task).read_kept()
        id = kept.execution_id if kept else task.attempt.execution_id
        return self.rows[f"{task.region.region_id} {id}"]


def _sources(region: RegionDescriptor) -> Iterator[str]:
    return (one.name for one in region.operators if isinstance(one.operator, Source))


@pytest.fixture
def play(tmp_path: Path) -> Play:
    return Play(str(tmp_path))


FIRST, LEFT, LAST, RIGHT = map(RegionId, ("first", "left", "last", "right"))


def test_the_regions_run_in_an_order_in_which_they_can(play: Play) -> None:
    assert play.try_()
    assert play.ran.index(FIRST) < play.ran.index(LEFT) < play.ran.index(LAST)
    assert set(play.ran) == {FIRST, LEFT, LAST, RIGHT}


def test_a_retry_repeats_only_what_has_failed(play: Play) -> None:
    assert not play.try_(frozenset({LAST}))
    assert set(play.ran) == {FIRST, LEFT, LAST, RIGHT}  # a sibling runs nevertheless
    assert play.try_()
    assert play.ran == (LAST,)


def test_what_reads_from_a_failed_region_does_not_run(play: Play) -> None:
    assert not play.try_(frozenset({LEFT}))
    assert set(play.ran) == {FIRST, LEFT, RIGHT}
    (skipped,) = (task for task in play.last if task.region.region_id == LAST)
    last = last_execution(STORE, skipped.layout, LAST)
    assert last is not None
    assert (last.state, last.reason) == (ExecutionState.CANCELED, "'left' failed")
    assert play.try_()
    assert set(play.ran) == {LEFT, LAST}


def test_a_task_that_is_cleared_after_it_succeeded_computes_all_again(play: Play) -> None:
    play.try_()
    play.try_()
    assert set(play.ran) == {FIRST, LEFT, LAST, RIGHT}


def test_a_task_that_is_cleared_after_it_succeeded_computes_all_again_though_a_report_was_added(play: Play) -> None:
    play.try_()
    play.regions = regions(RIGHT_TARGET, "added")
    play.try_()
    assert set(play.ran) == {FIRST, LEFT, LAST, RIGHT, "added"}


def test_a_report_that_is_added_after_a_failure_brings_nothing_else_to_run(play: Play) -> None:
    play.try_(frozenset({RIGHT}))
    play.regions = regions(RIGHT_TARGET, "added")
    play.try_()
    assert set(play.ran) == {RIGHT, "added"}


@pytest.mark.parametrize(
    ("sink", "is_kept"),
    [
        (Jdbc("jdbc:postgresql://db/dw", table="t", user=Secret("dw", "login"), password=Secret("dw")), True),
        (Jdbc(Secret("dw", "url"), table="t"), False),
        (Jdbc("jdbc:postgresql://db/dw", table="t", options={"currentSchema": Secret("dw", "schema")}), False),
    ],
    ids=["credentials", "a url", "a schema"],
)
def test_a_region_whose_target_is_a_secret_is_not_kept(sink: Jdbc, is_kept: bool, play: Play) -> None:
    play.regions = regions(sink)
    play.try_(frozenset({LAST}))
    play.try_()
    assert (RIGHT not in play.ran) == is_kept
    assert FIRST not in play.ran


def test_a_task_whose_process_died_after_its_work_keeps_it_all(play: Play) -> None:
    play.try_(tells=False)
    play.try_()
    assert play.ran == ()


def test_a_driver_that_died_leaves_what_it_had_finished(play: Play) -> None:
    play.try_(killed=LAST)
    play.try_()
    assert FIRST not in play.ran
    assert LEFT not in play.ran
    assert LAST in play.ran


def test_a_changed_source_is_read_again_and_with_it_all_that_reads_from_it(play: Play) -> None:
    play.try_(frozenset({RIGHT}))
    play.versions["small"] = 1
    play.try_()
    assert set(play.ran) == {LAST, RIGHT}
    play.try_(frozenset({RIGHT}), from_start=True)
    play.versions["orders"] = 1
    play.try_()
    assert set(play.ran) == {FIRST, LEFT, LAST, RIGHT}


def test_what_other_libraries_have_computed_is_computed_again_and_the_log_says_why(
    play: Play, capsys: pytest.CaptureFixture[str]
) -> None:
    play.try_(frozenset({LAST}))
    play.libraries["pandas"] = 1
    with shown_log():
        play.try_()
    assert set(play.ran) == {FIRST, LEFT, LAST, RIGHT}
    said = capsys.readouterr().out
    assert "'first' runs again: pandas 2.0 computed it, now 2.1 is installed" in said


def test_what_an_earlier_version_of_this_program_has_computed_is_computed_again(
    play: Play, capsys: pytest.CaptureFixture[str]
) -> None:
    play.records_code = False
    play.try_(frozenset({LAST}))
    play.records_code = True
    with shown_log():
        play.try_(frozenset({LAST}))
    assert set(play.ran) == {FIRST, LEFT, LAST, RIGHT}
    assert "did not record with which code" in capsys.readouterr().out
    play.try_()
    assert play.ran == (LAST,)


def test_a_parameter_forces_from_the_start(play: Play) -> None:
    play.try_(frozenset({LAST}))
    play.try_(from_start=True)
    assert set(play.ran) == {FIRST, LEFT, LAST, RIGHT}


def test_other_parameters_are_other_rows(play: Play) -> None:
    play.try_(frozenset({LAST}))
    play.try_(day="2024-01-02")
    assert set(play.ran) == {FIRST, LEFT, LAST, RIGHT}


def test_a_result_whose_files_are_gone_is_computed_again(play: Play) -> None:
    play.try_(frozenset({LAST}))
    log = ManifestLog(store=STORE, layout=play.last[0].layout)
    (result,) = (one for one in regions()[0].results)
    latest = log.latest(result.id)
    assert latest is not None
    STORE.delete(f"{latest.location}/part-0.parquet")
    play.try_()
    assert set(play.ran) == {FIRST, LEFT, LAST, RIGHT}


def test_a_kept_region_is_no_attempt(play: Play) -> None:
    play.try_(frozenset({LAST}))
    play.try_(frozenset({LAST}))
    play.try_()
    layout = play.last[0].layout
    assert [one.attempt_number for one in executions(STORE, layout, FIRST)] == [0]
    assert [one.attempt_number for one in executions(STORE, layout, LAST)] == [0, 1, 2]
    kept = kept_executions(STORE, layout, FIRST)
    assert {id: (one.execution_id, one.try_number) for id, one in kept.items()} == {"e2": ("e1", 2), "e3": ("e1", 3)}


def test_a_try_in_which_spark_did_not_start_does_not_count(play: Play) -> None:
    play.try_(frozenset({LAST}))
    play.does_not_start()
    play.does_not_start()
    play.try_()
    assert play.ran == (LAST,)


def test_a_try_in_which_spark_did_not_start_brings_nothing_back_of_one_that_succeeded(play: Play) -> None:
    play.try_()
    play.does_not_start()
    play.try_()
    assert set(play.ran) == {FIRST, LEFT, LAST, RIGHT}


def test_a_region_that_was_left_out_once_is_kept_from_the_try_before(play: Play) -> None:
    play.try_(frozenset({RIGHT}))
    play.versions["orders"] = 1
    play.try_(frozenset({FIRST}))
    assert play.ran == (FIRST,)
    play.versions["orders"] = 0
    play.try_()
    assert set(play.ran) == {FIRST, LEFT, LAST, RIGHT}  # first has committed another epoch


def test_a_task_that_succeeded_with_kept_regions_computes_all_again_when_it_is_cleared(play: Play) -> None:
    play.try_(frozenset({LAST}))
    assert play.try_()
    assert play.ran == (LAST,)
    play.try_()
    assert set(play.ran) == {FIRST, LEFT, LAST, RIGHT}


def test_a_task_that_failed_after_all_its_regions_finished_keeps_them(play: Play) -> None:
    play.try_(tells=False)
    for task in play.last:
        key = task.layout.execution(task.region.region_id, task.attempt.execution_id) + "/outcome.json"
        outcome = Outcome(state=ExecutionState.FINISHED, ended=time(), reason="no answer")
        STORE.put_if_absent(key, to_json(outcome).encode())
    play.try_()
    assert play.ran == ()


def test_regions_of_a_deleted_run_are_not_kept_by_one_of_the_same_id(play: Play) -> None:
    play.try_(frozenset({LAST}))
    play.number, play.prefix = 0, "again"
    play.try_(frozenset({RIGHT}))
    assert set(play.ran) == {FIRST, LEFT, LAST, RIGHT}
    play.try_()
    assert play.ran == (RIGHT,)


def test_a_region_is_kept_if_another_one_of_the_pipeline_has_changed(play: Play) -> None:
    play.try_(frozenset({LAST}))
    play.plan_id = "mended"
    play.try_()
    assert play.ran == (LAST,)


def test_discarded_work_is_computed_again_once(play: Play) -> None:
    play.try_(frozenset({LAST}))
    discard(STORE, play.last[0].layout, [RIGHT])
    play.try_(frozenset({LAST}))
    assert set(play.ran) == {RIGHT, LAST}
    play.try_()
    assert play.ran == (LAST,)


def test_a_damaged_result_is_computed_again_also_if_it_was_released(play: Play) -> None:
    play.try_(frozenset({LAST}))
    layout = play.last[0].layout
    (result,) = regions()[0].results
    released = ReleasedResult(result_id=result.id, epoch=0, region_id=RIGHT, execution_id="e1", time=0.0, bytes=0)
    STORE.put_if_absent(layout.released(result.id, 0), to_json(released).encode())
    play.try_(frozenset({LAST}))
    assert play.ran == (LAST,)
    damaged = DamagedResult(result_id=result.id, epoch=0, file="f", reason="gone", execution_id="e2", time=0.0)
    record_damage(STORE, layout, damaged)
    play.try_()
    assert FIRST in play.ran


def test_what_kept_regions_have_read_may_be_released(play: Play) -> None:
    play.try_(frozenset({LEFT}))
    play.try_()
    assert play.released == [FIRST, RIGHT]


def test_the_history_shows_what_each_try_has_run_or_kept(play: Play) -> None:
    play.try_(frozenset({LAST}))
    play.try_()
    layout, shown = play.last[0].layout, StringIO()
    show_history(layout, run_history(layout), Console(file=shown, width=200))
    tries = shown.getvalue().partition("tries of task 'first'\n")[2].splitlines()
    assert [line[:5] for line in tries] == ["  1  ", "  2  "]
    assert [set(line[5:].split(", ")) for line in tries] == [
        {f"{region} attempt 1" for region in (FIRST, LEFT, LAST, RIGHT)},
        {f"{region} kept from attempt 1" for region in (FIRST, LEFT, RIGHT)} | {"last attempt 2"},
    ]


class Tries(RuleBasedStateMachine):
    """Any sequence of tries: after one that succeeds, all rows are those of one run from the start."""

    ids = st.sampled_from([FIRST, LEFT, LAST, RIGHT])

    @initialize()
    def start(self) -> None:
        self.folder = TemporaryDirectory(dir=_MEMORY)
        self.play = Play(self.folder.name)
        self.is_done = False

    @rule(failing=st.frozensets(ids, max_size=2), tells=st.booleans())
    def fail(self, failing: frozenset[RegionId], tells: bool) -> None:
        self.is_done = self.play.try_(failing, tells=tells)

    @rule(killed=ids, tells=st.booleans())
    def kill(self, killed: RegionId, tells: bool) -> None:
        self.is_done = self.play.try_(killed=killed, tells=tells)

    @rule(from_start=st.booleans())
    def succeed(self, from_start: bool) -> None:
        self.is_done = self.play.try_(from_start=from_start)
        assert self.is_done

    @rule(name=st.sampled_from(["orders", "small"]))
    def change(self, name: str) -> None:
        self.play.versions[name] += 1
        self.is_done = False

    @rule(name=st.sampled_from(["pandas", "numpy"]))
    def install(self, name: str) -> None:
        """Install another version of a library."""
        self.play.libraries[name] += 1
        self.is_done = False

    @rule()
    def does_not_start(self) -> None:
        self.play.does_not_start()
        self.is_done = False

    @rule(number=st.integers(0, 9))
    def deploy(self, number: int) -> None:
        """Deploy a change of a region in another task."""
        self.play.plan_id = f"plan {number}"

    @precondition(lambda self: self.play.last)
    @rule(regions=st.sets(ids))
    def discard(self, regions: set[RegionId]) -> None:
        discard(STORE, self.play.last[0].layout, regions)

    @precondition(lambda self: self.is_done)
    @invariant()
    def is_one_run(self) -> None:
        said: dict[str, str] = {}
        for task in self.play.last:
            region = task.region
            reads = dict.fromkeys(one.id for one in values_within(region, StagedInput))
            word = self.play.word(region, [said[id] for id in reads])
            said |= {result.id: word for result in region.results}
            assert self.play.counted(task) == word

    def teardown(self) -> None:
        if hasattr(self, "folder"):
            self.folder.cleanup()


def test_any_tries_end_with_the_rows_of_one_run() -> None:
    run_state_machine_as_test(
        Tries, settings=settings(max_examples=60, stateful_step_count=10, deadline=None, derandomize=True)
    )
