"""What Flink would restart, and which of these tasks stay (decision 11); which results are not needed any more (13).

The functions that are compared with Flink's answers are used here on the documents of a run.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import count

import pytest

from graph_compiler import Csv, Parquet, StreamExecutionEnvironment
from graph_compiler.compiler.pipeline_compiler import compile_pipeline
from graph_compiler.declaration.retention import StagingRelease
from graph_compiler.deployment.describe.region_descriptors import describe_regions
from graph_compiler.deployment.documents.descriptor import (
    VERSION,
    ExecutionAttempt,
    RegionDescriptor,
    StagedInput,
    TaskDeploymentDescriptor,
)
from graph_compiler.deployment.documents.manifest import VERSION as MANIFEST_VERSION
from graph_compiler.deployment.documents.manifest import Manifest, StagedRead
from graph_compiler.deployment.documents.report import VERSION as REPORT_VERSION
from graph_compiler.deployment.documents.report import ExecutionReport, RecomputedResult
from graph_compiler.deployment.documents.run_identity import RunIdentity
from graph_compiler.deployment.documents.staging_layout import StagingLayout
from graph_compiler.deployment.documents.wire import to_json, values_within
from graph_compiler.identifiers import IntermediateDataSetId, RegionId
from graph_compiler.staging.results import release
from graph_compiler.staging.results import restarts as restarts_module
from graph_compiler.staging.results.manifest_log import ManifestLog
from graph_compiler.staging.results.release import release_inputs
from graph_compiler.staging.results.restarts import RestartSet, Spared, restarts
from graph_compiler.staging.store.in_memory_store import InMemoryStore
from tests.conformance import execution, mutants
from tests.conftest import with_options
from tests.mutants import changed_package, run_pytest

RUN = RunIdentity.own("p", "run")
OWN = "tests/staging/results/test_restarts.py"


class Run:
    """A run's documents as tasks leave them, without rows: `first` is read by all others, `second` by `three`."""

    def __init__(self) -> None:
        env = StreamExecutionEnvironment("p")
        first = env.from_source(Csv("/in"), "first").stage("read by several")
        first.filter("v > 1").name("one").sink_to(Parquet("/one")).name("one")
        second = first.filter("v > 2").name("second")
        second.sink_to(Parquet("/beside")).name("beside")
        first.union(second.stage("also expensive")).sink_to(Parquet("/three")).name("three")
        pipeline = with_options(env.pipeline(), release=StagingRelease.LAST_CONSUMER)
        self.regions = {str(one.region_id): one for one in describe_regions(compile_pipeline(pipeline))}
        self.layout = StagingLayout(root="/staging", identity=RUN)
        self.store = InMemoryStore()
        self.log = ManifestLog(store=self.store, layout=self.layout)
        self.attempts = count()

    def staged(self, reader: str, producer: str) -> StagedInput:
        found = values_within(self.regions[reader], StagedInput)
        return next(staged for staged in found if staged.producer == producer)

    def begin(self, name: str) -> TaskDeploymentDescriptor:
        number = next(self.attempts)
        task = TaskDeploymentDescriptor(
            version=VERSION,
            region=self.regions[name],
            identity=RUN,
            attempt=ExecutionAttempt(execution_id=f"e{number}", attempt_number=number),
            staging_root="/staging",
            parameters=(),
        )
        path = self.layout.descriptor(task.region.region_id, task.attempt.execution_id)
        assert self.store.put_if_absent(path, task.to_json().encode())
        return task

    def finish(self, name: str, *, checksum: str = "same", recomputed: str | None = None) -> list[str]:
        """Run a task that reads the latest epochs and stages the next ones; returns what it releases."""
        task = self.begin(name)
        reads = self.reads(task.region)
        for result in task.region.results:
            manifest = self.manifest(result.id, checksum)
            manifest = replace(manifest, attempt=task.attempt, inputs=reads)
            assert self.log.commit(manifest) == manifest
        report = ExecutionReport(
            version=REPORT_VERSION,
            application_id=None,
            outputs=(),
            contracts=(),
            vertices=(),
            actions=(),
            reads=reads,
            recomputed=() if recomputed is None else (self.again(recomputed),),
            failure=None,
        )
        path = self.layout.execution(task.region.region_id, task.attempt.execution_id) + "/report.json"
        assert self.store.put_if_absent(path, to_json(report).encode())
        return [str(one.result_id) for one in release_inputs(task, report, self.store)]

    def manifest(self, id: IntermediateDataSetId, checksum: str) -> Manifest:
        epoch = self.log.next_epoch(id)
        return Manifest(
            version=MANIFEST_VERSION,
            result_id=id,
            epoch=epoch,
            parent_epoch=None,
            attempt=ExecutionAttempt(execution_id="again", attempt_number=0),
            plan_id="plan",
            fingerprint="print",
            location=f"{self.layout.results}/{id}/epoch-{epoch}",
            schema="{}",
            partitions=(),
            checksum=checksum,
            contracts=(),
        )

    def reads(self, region: RegionDescriptor) -> tuple[StagedRead, ...]:
        ids = dict.fromkeys(staged.id for staged in values_within(region, StagedInput))
        return tuple(StagedRead(result_id=id, epoch=self.log.epochs(id)[-1]) for id in ids)

    def result(self, producer: str) -> IntermediateDataSetId:
        (result,) = self.regions[producer].results
        return result.id

    def lose(self, asking: str, *producers: str, needs: str) -> RestartSet:
        """Return what would run again if `asking` finds results lost, and is about to recompute that of `needs`."""
        region = self.regions[asking]
        unavailable = [self.result(producer) for producer in producers]
        return restarts(self.log, region, self.staged(asking, needs), unavailable)

    def again(self, producer: str) -> RecomputedResult:
        return RecomputedResult(
            result_id=self.result(producer),
            producer=RegionId(producer),
            epoch=1,
            operators=(),
            rows=0,
            seconds=0,
            reason="lost",
        )


@pytest.fixture
def run() -> Run:
    return Run()


@pytest.mark.parametrize(("name", "runs"), [("restart_set", restarts_module), ("releasable_groups", release)])
def test_production_uses_the_functions_compared_with_flink(name: str, runs: object) -> None:
    assert getattr(runs, name) is getattr(execution, name)


@pytest.mark.parametrize(
    "changed", ["consumers not restarted", "producers not restarted", "release after the first consumer"]
)
def test_a_fault_that_flinks_answers_find_changes_production_too(changed: str) -> None:
    (mutant,) = (one for one in mutants.MUTANTS if one.name == changed)
    with changed_package([mutant.edit]) as package:
        found = run_pytest(package, "-x", OWN, "-k", "not flink")
    assert found.returncode == 1, found.stdout


def test_the_producer_of_a_lost_result_and_its_readers_restart(run: Run) -> None:
    for name in ("first", "one", "second"):
        run.finish(name)
    found = run.lose("three", "first", needs="first")
    assert set(found.regions) == {"first", "one", "second", "three"}
    assert set(found.others) == {"first", "one", "second"}
    assert found.upstream == {"first", "second"}


def test_tasks_without_lost_inputs_are_not_restarted(run: Run) -> None:
    for name in ("first", "one", "second"):
        run.finish(name)
    found = run.lose("three", "second", needs="second")
    assert set(found.regions) == {"second", "three"}
    assert run.lose("one", needs="first").regions == ("one",), "nothing is lost"


def test_only_readers_of_other_rows_rerun_and_the_rest_have_a_reason(run: Run) -> None:
    run.finish("first")
    run.finish("one")
    run.begin("second")
    found = run.lose("three", "first", needs="first")
    verdicts = found.verdicts(run.log, run.manifest(run.result("first"), "other"))
    assert verdicts == {"first": Spared.COMPUTED_AGAIN, "one": None, "second": Spared.NOT_FINISHED}
    same = found.verdicts(run.log, run.manifest(run.result("first"), "same"))
    assert same[RegionId("one")] is Spared.SAME_ROWS


def test_a_producer_with_further_outputs_counts_as_a_reader(run: Run) -> None:
    """Its sink was written from the lost rows, whichever task recomputes its result."""
    for name in ("first", "one", "second"):
        run.finish(name)
    found = run.lose("three", "second", "first", needs="first")
    other = found.verdicts(run.log, run.manifest(run.result("first"), "other"))
    assert other == {"first": Spared.COMPUTED_AGAIN, "one": None, "second": None}
    downstream = run.lose("three", "second", "first", needs="second")
    verdicts = downstream.verdicts(run.log, run.manifest(run.result("second"), "other"))
    assert verdicts[RegionId("one")] is Spared.READS_ANOTHER


def test_tasks_with_unreadable_descriptors_are_known_by_name(run: Run) -> None:
    run.finish("first")
    task = run.begin("second")
    path = run.layout.descriptor(task.region.region_id, task.attempt.execution_id)
    run.store.put(path, b"torn")
    assert set(run.lose("three", "first", needs="first").others) == {"first", "one", "second"}


def test_a_result_is_released_by_the_last_of_its_consumers(run: Run) -> None:
    first, second = run.result("first"), run.result("second")
    assert run.finish("first") == []
    assert run.finish("one") == []
    assert run.finish("second") == []
    assert sorted(run.finish("three")) == sorted([first, second])


def test_a_stale_consumer_keeps_the_result(run: Run) -> None:
    for name in ("first", "one", "second"):
        run.finish(name)
    run.finish("first", checksum="other")  # it was cleared, without those behind it
    assert run.finish("three") == [run.result("second")]
    assert run.finish("second") == []
    assert run.finish("three") == [run.result("second")]
    assert run.finish("one") == [run.result("first")]
