"""Runs that take increments and publish them, without Spark: each write to the store may be the driver's last.

A source has files, two sinks read it, in two tasks; each sink appends to a target whose rows are the names of files.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import cache
from typing import TypeVar

from graph_compiler import Json, Parquet, StreamExecutionEnvironment
from graph_compiler.compiler.pipeline_compiler import compile_pipeline
from graph_compiler.deployment.describe.local_task import DeskRun, desk_task
from graph_compiler.deployment.describe.region_descriptors import describe_regions
from graph_compiler.deployment.documents.descriptor import RegionDescriptor, TaskDeploymentDescriptor
from graph_compiler.deployment.documents.position import Increment, ReachedSink, ReadFrom
from graph_compiler.deployment.documents.report import Outcome
from graph_compiler.deployment.documents.run_identity import RunIdentity
from graph_compiler.deployment.documents.staging_layout import PositionLayout, StagingLayout
from graph_compiler.graphs.execution import ExecutionState
from graph_compiler.staging.attempts.attempt_documents import AttemptDocuments
from graph_compiler.staging.attempts.execution_order import begin
from graph_compiler.staging.positions.known import Known, NewPart, SeenFile
from graph_compiler.staging.positions.position_log import PositionError, PositionLog
from graph_compiler.staging.publications.ledger import Ledger
from graph_compiler.staging.publications.publications import Publication
from graph_compiler.staging.store.in_memory_store import InMemoryStore

Answer = TypeVar("Answer")
PLACE = ReadFrom(kind="json", place="/in", column=None)
ROOT = "/staging"


class KilledError(BaseException):
    """The driver has died."""


class MortalStore(InMemoryStore):
    """A store whose writer dies just before, or just after, its n-th write from now."""

    def __init__(self) -> None:
        super().__init__()
        self.left: int | None = None

    def _step(self, name: str, call: Callable[[], Answer]) -> Answer:
        if not name.startswith("put") or self.left is None:
            return super()._step(name, call)
        self.left -= 1
        if self.left < 0:
            self.left = None
            raise KilledError
        return super()._step(name, call)


@cache
def regions() -> tuple[RegionDescriptor, ...]:
    """Return two regions: the first reads the source and writes a sink, the second writes another one."""
    env = StreamExecutionEnvironment("shop")
    source = env.from_source(Json("/in", schema="id INT"), "orders", only_new=True).uid("orders")
    rows = source.filter("id > 0").name("all")
    rows.sink_to(Parquet("/one"), mode="append").name("one").uid("one")
    rows.stage("apart").sink_to(Parquet("/two"), mode="append").name("two").uid("two")
    found = describe_regions(compile_pipeline(env.pipeline()))
    assert [len(region.positions) for region in found] == [1, 1]
    return found


class World:
    """The files of the source, the targets, and the runs."""

    def __init__(self) -> None:
        self.store = MortalStore()
        self.files: dict[str, int] = {}
        self.targets: dict[str, dict[str, frozenset[str]]] = {"one": {}, "two": {}}
        self.decided: dict[str, frozenset[str]] = {}
        self.number = 0
        self.open: dict[str, list[TaskDeploymentDescriptor]] = {}
        self.log = PositionLog(store=self.store, layout=PositionLayout(root=ROOT, owner="shop", uid="orders"))
        (self.position,) = regions()[0].positions

    def layout(self, run: str) -> StagingLayout:
        """Return the paths of a run."""
        return StagingLayout(root=ROOT, identity=RunIdentity.own("shop", run))

    def arrives(self) -> None:
        """Let a file arrive."""
        self.files[f"file:/in/{len(self.files)}"] = len(self.files)

    def attempt(
        self, run: str, *, dies: int | None = None, meanwhile: Callable[[], None] = lambda: None, tells: bool = True
    ) -> bool:
        """Play an attempt at all tasks of a run; `dies`: after so many writes. Return whether all is published.

        `meanwhile` is what others do after it has looked for files, and before it takes them. `tells`: Airflow has
        learned how its tasks have ended.
        """
        self.store.left = dies
        begun: list[TaskDeploymentDescriptor] = []
        try:
            for region in regions():
                self.number += 1
                run_of = DeskRun(day="2024-01-01", params={}, run_id=run, staging_root=ROOT)
                task = replace(desk_task(region, run_of, execution_id=f"e{self.number}"), try_number=self.number)
                begun.append(task)
                self.open.setdefault(run, []).append(task)
                begin(self.store, task)
                increment = self.obtain(task, meanwhile)
                self._publish(task, increment)
                self.tell(run, ExecutionState.FINISHED)
            return True
        except KilledError:
            pass
        finally:
            self.store.left = None
        if tells:
            self.tell(run, ExecutionState.FAILED)
        return False

    def obtain(self, task: TaskDeploymentDescriptor, meanwhile: Callable[[], None]) -> Increment:
        """Take the increment of a task's run."""

        def look(known: Known) -> NewPart:
            new = tuple(SeenFile(path, size, 0) for path, size in self.files.items() if path not in known.files)
            left, self.store.left = self.store.left, None
            meanwhile()
            self.store.left = left
            return NewPart(files=new)

        execution_id = task.attempt.execution_id
        return self.log.obtain(task.layout, execution_id, self.position.sinks, PLACE, look)

    def tell(self, run: str, state: ExecutionState) -> None:
        """Write how all attempts of a run that have no end have ended."""
        for task in self.open.pop(run, []):
            documents = AttemptDocuments.of(task, self.store)
            if documents.began() is not None:
                documents.put_outcome(Outcome(state=state, ended=0.0, reason=None))

    def _publish(self, task: TaskDeploymentDescriptor, increment: Increment) -> None:
        for sink in self._sinks(task):
            ledger = Ledger(store=self.store, layout=task.layout, plan_id="plan")
            target = f"/{sink.name}"
            number = ledger.settle(target, sink.operator_id, self._carry_out)
            publication = Publication(
                number=number,
                identity=task.identity,
                plan_id="plan",
                operator_id=sink.operator_id,
                execution_id=task.attempt.execution_id,
                target=target,
                rows=increment.files or 0,
                bytes=0,
            )
            self.decided[publication.execution_id] = frozenset(each.path for each in self.log.files_of(increment))
            self.log.claim(increment, {sink.operator_id: target})
            ledger.decide(publication)
            self._carry_out(publication)
            ledger.finish(publication)
            self.log.done(increment, [sink.operator_id])

    def _sinks(self, task: TaskDeploymentDescriptor) -> Iterator[ReachedSink]:
        return (sink for sink in self.position.sinks if sink.region_id == task.region.region_id)

    def _carry_out(self, publication: Publication) -> None:
        """Add the rows of a run, over those that it has added before."""
        self.targets[publication.target[1:]][publication.identity.run_id] = self.decided[publication.execution_id]
        layout = StagingLayout(root=ROOT, identity=publication.identity)
        Ledger(store=self.store, layout=layout, plan_id="plan").finish(publication)

    def twice(self) -> list[str]:
        """Return the files whose rows a target has twice."""
        found = []
        for rows in self.targets.values():
            all_files = [file for files in rows.values() for file in files]
            found += [file for file in all_files if all_files.count(file) > 1]
        return found

    def missing(self) -> list[str]:
        """Return the files whose rows a target does not have."""
        return [
            file
            for rows in self.targets.values()
            for file in self.files
            if not any(file in each for each in rows.values())
        ]

    def finish(self) -> None:
        """Do what the messages say, until a run has published all that is there."""
        for number in range(50):
            for run in list(self.open):
                self.tell(run, ExecutionState.FAILED)
            try:
                self.attempt(f"last-{number}")
                return
            except PositionError as error:
                self.tell(f"last-{number}", ExecutionState.FAILED)
                words = str(error)
            # Airflow goes on with a run that has not failed; one that has is cleared, as the message says.
            assert "may still be running" in words or "clear the failed tasks of run '" in words, words
            self.attempt(words.partition("run '")[2].partition("'")[0])
        raise AssertionError("no run succeeds")
