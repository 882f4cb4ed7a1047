"""Two writers of one result, or of one target, in every order of their steps, with faults."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any

import pytest
from pyspark.sql import DataFrame

from graph_compiler.deployment.documents.descriptor import ExecutionAttempt, ResultDescriptor
from graph_compiler.deployment.documents.manifest import VERSION as MANIFEST_VERSION
from graph_compiler.deployment.documents.manifest import Manifest
from graph_compiler.deployment.documents.run_identity import RunIdentity
from graph_compiler.deployment.documents.staging_layout import StagingLayout
from graph_compiler.deployment.documents.wire import to_json
from graph_compiler.errors import PublicationConflictError, StagingError
from graph_compiler.identifiers import IntermediateDataSetId, OperatorId, RegionId
from graph_compiler.spark_runtime.results.staging_area import StagingArea
from graph_compiler.staging.publications.ledger import Ledger
from graph_compiler.staging.publications.preparations import PlaceKind, Preparation, PreparedPlace
from graph_compiler.staging.publications.publications import Publication
from graph_compiler.staging.results.manifest_log import ManifestLog
from graph_compiler.staging.store.staging_store import MOST_BYTES
from tests.harness.stepping import Run, Scheduler, SteppedStore, every_order

pytestmark = [pytest.mark.spark, pytest.mark.ci]  # it needs pyspark, and starts no Spark

LAYOUT = StagingLayout(root="/root", identity=RunIdentity.own("p", "r"))
RESULT = ResultDescriptor(
    id=IntermediateDataSetId("d-0"),
    node_id=1,
    output_tag=None,
    fingerprint="f",
    partitions=None,
    consumers=(),
    is_compared=False,
    deterministic=False,
)
NO_ROWS: DataFrame = None  # type: ignore[assignment]  # nothing looks at them


@dataclass
class World:
    """What outlives writers."""

    store: SteppedStore
    disk: set[str] = field(default_factory=set)
    committed: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True, kw_only=True)
class AreaInMemory(StagingArea):
    """A staging area whose data are names in a set."""

    world: World

    def _write(self, result: ResultDescriptor, rows: DataFrame) -> Manifest:  # noqa: ARG002  # there are none
        epoch = self.epochs[result.id]
        location = self.layout.data(result.id, epoch=epoch, execution_id=self.attempt.execution_id)
        self._step(f"write {location}", lambda: self.world.disk.add(location))
        return Manifest(
            version=MANIFEST_VERSION,
            result_id=result.id,
            epoch=epoch,
            parent_epoch=None,
            attempt=self.attempt,
            plan_id=self.plan_id,
            fingerprint=result.fingerprint,
            location=location,
            schema="{}",
            partitions=(),
            checksum="0",
            contracts=(),
        )

    def drop(self, manifest: Manifest) -> None:
        self._step(f"drop {manifest.location}", lambda: self.world.disk.discard(manifest.location))

    def _step(self, what: str, do: Callable[[], None]) -> None:
        scheduler = self.world.store.scheduler
        scheduler.step(what, do) if scheduler else do()


def area(world: World, execution_id: str, plan_id: str = "plan") -> AreaInMemory:
    return AreaInMemory(
        spark=None,  # type: ignore[arg-type]  # nothing is computed
        log=ManifestLog(store=world.store, layout=LAYOUT),
        attempt=ExecutionAttempt(execution_id=execution_id, attempt_number=0),
        plan_id=plan_id,
        contracts=tuple,
        world=world,
    )


def stage(world: World, execution_id: str, plan_id: str = "plan") -> Manifest:
    return area(world, execution_id, plan_id).beginning(RESULT.id).stage(RESULT, NO_ROWS)


def committed(world: World) -> list[Manifest]:
    world.store.scheduler = None
    log = ManifestLog(store=world.store, layout=LAYOUT)
    return [log.manifest(RESULT.id, epoch) for epoch in range(log.next_epoch(RESULT.id))]


def runs_of(work: Callable[[World], dict[str, Callable[[], object]]], faults: int) -> list[tuple[World, Run]]:
    worlds: list[World] = []

    def make(scheduler: Scheduler) -> dict[str, Callable[[], object]]:
        worlds.append(World(SteppedStore(scheduler)))
        return work(worlds[-1])

    return [(worlds[-1], run) for run in every_order(make, faults=faults)]


@pytest.mark.parametrize("faults", [0, 1])
def test_committed_results_have_their_data_in_every_order(faults: int) -> None:
    runs = runs_of(
        lambda world: {name: lambda name=name: stage(world, name) for name in ("one", "two")},  # type: ignore[misc]
        faults,
    )
    epochs = set()
    for world, run in runs:
        manifests = committed(world)
        epochs.add(len(manifests))
        locations = {manifest.location for manifest in manifests}
        assert locations <= world.disk, run
        assert [manifest.epoch for manifest in manifests] == list(range(len(manifests))), run
        for outcome in run.outcomes.values():
            assert not isinstance(outcome, StagingError), run
            if isinstance(outcome, Manifest):
                assert outcome in manifests, run
        if not faults:
            assert world.disk == locations, run  # a loser leaves nothing
    assert len(runs) >= 20, "C(6, 3): three steps each"
    assert epochs == {1, 2}


def test_writers_that_overlap_never_commit_two_epochs() -> None:
    """One hangs, is superseded, and wakes: a reader in between must not see its rows afterwards."""

    def work(world: World) -> dict[str, Callable[[], object]]:
        begun = [area(world, name).beginning(RESULT.id) for name in ("hangs", "supersedes")]
        return {
            one.attempt.execution_id: lambda one=one: one.stage(RESULT, NO_ROWS)  # type: ignore[misc]
            for one in begun
        }

    worlds: list[World] = []

    def make(scheduler: Scheduler) -> dict[str, Callable[[], object]]:
        world = World(SteppedStore())
        worlds.append(world)
        writers = work(world)
        world.store.scheduler = scheduler
        return writers

    for run in every_order(make, faults=1):
        assert len(committed(worlds[-1])) <= 1, run


def test_a_writer_of_another_plan_fails_and_leaves_the_winner_alone() -> None:
    def work(world: World) -> dict[str, Callable[[], object]]:
        return {"one": lambda: stage(world, "one"), "two": lambda: stage(world, "two", "another plan")}

    lost = 0
    for world, run in runs_of(work, faults=0):
        manifests = committed(world)
        assert {manifest.location for manifest in manifests} <= world.disk, run
        lost += sum(isinstance(outcome, StagingError) for outcome in run.outcomes.values())
    assert lost


@dataclass
class Target:
    """A target that two executions of one run append to: whose rows are in it."""

    world: World
    rows: set[str] = field(default_factory=set)

    def publish(self, execution_id: str) -> None:
        ledger = Ledger(store=self.world.store, layout=LAYOUT, plan_id="plan")
        number = ledger.settle("t", OperatorId("o"), self._carry_out)
        own = [one.execution_id for one in ledger.of_this_run("t", OperatorId("o"), number)]
        publication = Removing(
            number=number,
            identity=RunIdentity.own("p", "r"),
            plan_id="plan",
            operator_id=OperatorId("o"),
            execution_id=execution_id,
            target="t",
            rows=1,
            bytes=1,
            remove=tuple(own),
        )
        ledger.decide(publication)
        self._carry_out(publication)
        ledger.finish(publication)

    def _carry_out(self, publication: Publication) -> None:
        assert isinstance(publication, Removing)
        scheduler = self.world.store.scheduler

        def change() -> None:
            self.rows.add(publication.execution_id)
            self.rows.difference_update(publication.remove)

        scheduler.step("carry out", change) if scheduler else change()


@dataclass(frozen=True, slots=True, kw_only=True)
class Removing(Publication):
    """A publication that removes what earlier executions of its run have added."""

    remove: tuple[str, ...]


@pytest.mark.parametrize(
    "faults",
    [0, pytest.param(1, marks=pytest.mark.long)],  # some 10,000 orders: minutes
)
def test_a_run_counts_once_in_a_target_whatever_the_order(faults: int) -> None:
    targets: list[Target] = []

    def make(scheduler: Scheduler) -> dict[str, Callable[[], object]]:
        target = Target(World(SteppedStore(scheduler)))
        targets.append(target)
        return {"one": lambda: target.publish("one"), "two": lambda: target.publish("two")}

    conflicts = 0
    for run in every_order(make, faults=faults):
        target = targets[-1]
        target.world.store.scheduler = None
        conflicts += any(isinstance(outcome, PublicationConflictError) for outcome in run.outcomes.values())
        target.publish("retry")  # whoever comes next rolls forward what was begun
        assert target.rows == {"retry"}, run
    assert conflicts


class AttemptsAside(SteppedStore):
    """A store in which what attempts have left is put and looked at in the step of whoever does so."""

    def __init__(self, scheduler: Scheduler | None = None) -> None:
        super().__init__(scheduler)
        self._is_aside = threading.local()

    def _step(self, what: str, do: Callable[[], Any]) -> Any:
        return do() if getattr(self._is_aside, "now", False) else super()._step(what, do)

    @contextmanager
    def _aside(self, key: str) -> Iterator[None]:
        self._is_aside.now = "/.targets/" not in key
        try:
            yield
        finally:
            self._is_aside.now = False

    def put_if_absent(self, key: str, content: bytes) -> bool:
        with self._aside(key):
            return super().put_if_absent(key, content)

    def get(self, key: str, *, most: int = MOST_BYTES) -> bytes | None:
        with self._aside(key):
            return super().get(key, most=most)

    def keys(self, folder: str) -> list[str]:
        with self._aside(folder):
            return super().keys(folder)

    def folders(self, folder: str) -> list[str]:
        with self._aside(folder):
            return super().folders(folder)

    def is_there(self, key: str) -> bool:
        with self._aside(key):
            return super().is_there(key)


@dataclass
class Replaced:
    """A target that executions of two runs replace; the first one's intent is torn while it carries it out."""

    world: World
    rows: str = ""
    prepared: set[str] = field(default_factory=set)

    def publish(self, run_id: str, *, is_torn: bool) -> int:
        layout = replace(LAYOUT, identity=RunIdentity.own("p", run_id))
        ledger = Ledger(store=self.world.store, layout=layout, plan_id="plan")
        number = ledger.settle("t", OperatorId("o"), self._carry_out)
        note = Preparation(
            operator_id=OperatorId("o"),
            execution_id=run_id,
            prepared=PreparedPlace(kind=PlaceKind.FOLDER, place="f", target="t"),
        )
        key = layout.preparation(RegionId("out"), run_id, OperatorId("o"))
        self.world.store.put_if_absent(key, to_json(note).encode())
        self.prepared.add(run_id)
        publication = Publication(
            number=number,
            identity=RunIdentity.own("p", run_id),
            plan_id="plan",
            operator_id=OperatorId("o"),
            execution_id=run_id,
            target="t",
            rows=1,
            bytes=1,
        )
        try:
            ledger.decide(publication)
            if is_torn:
                torn = {layout.intent("t", number): b""}
                self._step("tear", lambda: self.world.store.content.update(torn))
            self._carry_out(publication)
            ledger.finish(publication)
        finally:
            self.world.store.put_if_absent(layout.execution(RegionId("out"), run_id) + "/outcome.json", b"{}")
        return number

    def _carry_out(self, publication: Publication) -> None:
        def change() -> None:
            """Exchange the folders, once, by the first to come."""
            execution_id = publication.execution_id
            if execution_id in self.prepared:
                self.prepared.remove(execution_id)
                self.rows = execution_id
            elif self.rows != execution_id:
                raise PublicationConflictError("its rows are gone")

        self._step("carry out", change)

    def _step(self, what: str, do: Callable[[], None]) -> None:
        scheduler = self.world.store.scheduler
        scheduler.step(what, do) if scheduler else do()


def test_rows_of_a_succeeded_run_survive_torn_intents() -> None:
    targets: list[Replaced] = []

    def make(scheduler: Scheduler) -> dict[str, Callable[[], object]]:
        target = Replaced(World(AttemptsAside(scheduler)))
        targets.append(target)
        return {
            "torn": lambda: target.publish("torn", is_torn=True),
            "whole": lambda: target.publish("whole", is_torn=False),
        }

    kinds = set()
    for run in every_order(make):
        succeeded = {name: number for name, number in run.outcomes.items() if type(number) is int}
        failed = [error for error in run.outcomes.values() if type(error) is not int]
        assert all(isinstance(error, PublicationConflictError) for error in failed), run
        assert succeeded, run
        assert targets[-1].rows == max(succeeded, key=lambda name: succeeded[name]), run
        kinds.add(tuple(sorted(succeeded)))
    assert kinds == {("torn",), ("whole",), ("torn", "whole")}
