"""A staged result in a store: its writers, its readers, gc, and what is right there after each request.

Readers get the rows of the last epoch, or an error that they are lost, and that only if something has removed them.
What Spark does is repeated by `StagedRows`; the rest is the product, from the epoch of an execution to its commit.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field, replace
from typing import Any, cast
from unittest.mock import patch

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StructType

from graph_compiler.deployment.documents.descriptor import (
    VERSION,
    ExecutionAttempt,
    StagedInput,
    TaskDeploymentDescriptor,
)
from graph_compiler.deployment.documents.manifest import DataFile, Manifest
from graph_compiler.deployment.documents.report import Outcome
from graph_compiler.deployment.documents.run_identity import RunIdentity
from graph_compiler.deployment.documents.staging_layout import StagingLayout
from graph_compiler.deployment.documents.wire import to_json
from graph_compiler.errors import GraphCompilerError
from graph_compiler.graphs.execution import ExecutionState
from graph_compiler.spark_runtime.results import data_files, staging_area
from graph_compiler.spark_runtime.results.data_files import WrittenResult
from graph_compiler.spark_runtime.results.staging_area import StagingArea
from graph_compiler.spark_runtime.spark_internals import direct_write
from graph_compiler.spark_runtime.spark_internals.direct_write import DirectWrite, NamedFile
from graph_compiler.spark_runtime.spark_internals.executed_plan import WriteMetrics
from graph_compiler.staging.attempts.run_marker import RunMarker, mark_run
from graph_compiler.staging.gc.collection import Policy, collect
from graph_compiler.staging.gc.liveness import AirflowRunState
from graph_compiler.staging.gc.removal import remove
from graph_compiler.staging.gc.survey import survey
from graph_compiler.staging.results.manifest_log import ManifestLog
from graph_compiler.staging.store import stores
from graph_compiler.staging.store.staging_store import StagingStore
from tests.harness.staging_trees import FIRST, REGIONS
from tests.machine.faults import Died
from tests.machine.frames import schema
from tests.machine.in_stores.rows import rows_in
from tests.machine.in_stores.server import Ground, Server, find
from tests.machine.in_stores.troubles import Late, Line, Trouble
from tests.machine.model import Row
from tests.machine.process import Process
from tests.machine.tally import TALLY

REGION = REGIONS[FIRST]
RESULT = replace(REGION.results[0], is_compared=False)
STAGED = StagedInput(id=RESULT.id, fingerprint=RESULT.fingerprint, producer=REGION.region_id, consumers=())
_HOURS, _MONTHS = 7_200.0, 100 * 86_400.0
_HALF = 2
_OVER_AT_ONCE = ("dropped", "lost", "503", "503 after", "answered twice", "denied", "death", "death after")


@dataclass(frozen=True)
class StagedRows:
    """Rows on their way to a staged result."""

    ground: Ground
    rows: tuple[Row, ...]
    schema: StructType = field(default_factory=lambda: schema("part"))

    def written(self, folder: str) -> DirectWrite:
        """Write a file for each two rows."""
        files = []
        for number, first in enumerate(range(0, max(len(self.rows), 1), _HALF)):
            self.ground.server.number += 1
            name = f"part-{number:05}-{self.ground.server.number}-c000.parquet"
            rows = self.rows[first : first + _HALF]
            content = "".join(f"{json.dumps(row)}\n" for row in rows).encode()
            self.ground.write(folder, name, content)
            files.append(NamedFile(name, len(content)))
        size = sum(file.bytes for file in files)
        counted = WriteMetrics(rows=len(self.rows), files=len(files), bytes=size)
        return DirectWrite(files=tuple(files), counted=counted)


@dataclass(frozen=True)
class Executors:
    """What has Spark's place: it reaches the store, although a driver may not."""

    server: Server
    version: str = "4.3.0"


def _write_directly(rows: StagedRows, folder: str, **_: Any) -> DirectWrite:
    return rows.written(folder)


def _write_result(rows: StagedRows, store: StagingStore, folder: str) -> WrittenResult:
    if not store.promises.atomic_move:
        return data_files.write_result(cast("DataFrame", rows), store, folder)
    written = rows.written(folder).counted.rows
    return WrittenResult(files=tuple(store.files(folder)), rows=written)


def _footers(spark: Executors) -> Callable[[str], int]:
    return lambda key: len(rows_in(spark.server, [key]))


def _read(spark: Executors, manifest: Manifest, _: StructType, files: Collection[DataFile]) -> tuple[Row, ...]:
    return rows_in(spark.server, [f"{manifest.location}/{file.name}" for file in files])


@contextmanager
def without_spark() -> Iterator[None]:
    """Let the product stage `StagedRows`."""
    with (
        patch.object(direct_write, "write_directly", _write_directly),
        patch.object(staging_area, "write_result", _write_result),
        patch.object(data_files, "footer_rows", _footers),
        patch.object(staging_area, "read_staged_files", _read),
        patch.object(staging_area, "without_files", lambda rows: rows),
        patch.object(staging_area, "pinned", lambda *_: nullcontext()),
    ):
        yield


@dataclass
class Worker:
    """A process: it stages the result, reads it, or collects garbage."""

    what: str
    line: Line
    process: Process
    rows: tuple[Row, ...] = ()
    epoch: int | None = None
    """The epoch that it may commit, or has read."""
    winner: Manifest | None = None
    read: Sequence[Row] | None = None
    error: BaseException | None = None
    may_be_refused: bool = False
    """Others have committed or removed something since it began."""

    @property
    def trace(self) -> str:
        return "\n".join([f"requests of {self.what}:", *(f"  {one}" for one in self.line.trace)])


@dataclass
class ResultWorld:
    """One result of one run, and what was committed."""

    ground: Ground
    late: list[Late] = field(default_factory=list)
    stopped: list[Worker] = field(default_factory=list)
    numbers: itertools.count[int] = field(default_factory=itertools.count)
    written: dict[str, tuple[Row, ...]] = field(default_factory=dict)
    committed: dict[int, Manifest] = field(default_factory=dict)
    has_begun: bool = False
    is_whole: bool = True
    """Whether nobody has damaged the last epoch, and no execution has committed it after gc took its files."""
    removed_under: set[str] = field(default_factory=set)
    """Executions that were silent while gc ran: it may have removed what they had written."""
    is_expiring: bool = False
    found: AssertionError | None = None

    def __post_init__(self) -> None:
        self.ground.server.watch(self._changed)
        self._layout = StagingLayout(root=self.ground.root, identity=RunIdentity.own("p", "r"))

    def stage(self, count: int, troubles: tuple[Trouble, ...]) -> None:
        """Let a new execution stage rows, until it ends or is stopped."""
        name = f"e{next(self.numbers)}"
        rows: tuple[Row, ...] = tuple((id, "a", next(self.numbers)) for id in range(count))
        self.written[name] = rows
        self.has_begun = True
        worker = self._worker(name, troubles, lambda one: self._stage(one, name))
        worker.rows = rows
        self._run(worker)

    def read(self, troubles: tuple[Trouble, ...]) -> None:
        """Let a reader read the last epoch, until it ends or is stopped."""
        self._run(self._worker("reader", troubles, self._read))

    def expire(self, troubles: tuple[Trouble, ...]) -> None:
        """Let gc remove the run, months after its last process has ended; it may be computed again."""
        assert not self.stopped
        assert not self.late
        self.is_whole, self.is_expiring = False, True
        troubles = tuple(one for one in troubles if one.kind in _OVER_AT_ONCE)
        self.collect_garbage(troubles, silent=_MONTHS)
        self.is_expiring = False

    def collect_garbage(self, troubles: tuple[Trouble, ...], *, silent: float = _HOURS) -> None:
        """Let gc run, hours or months later; Airflow says that the run has ended."""
        now = self.ground.server.now + silent
        airflow: Mapping[RunIdentity, AirflowRunState] = {self._layout.identity: AirflowRunState.FAILED}

        def work(worker: Worker) -> None:
            client, root = self.ground.client_of(worker.line), self.ground.root
            found = collect(survey(client, root), Policy(now=now, airflow=airflow))
            for _ in remove(client, found, root):
                pass

        self._run(self._worker("gc", troubles, work))

    def resume(self, which: int) -> None:
        """Let a stopped process continue."""
        self._run(self.stopped.pop(which % len(self.stopped)))

    def arrive(self, which: int) -> None:
        """Carry out a request that was delayed."""
        TALLY.steps += 1
        self.late.pop(which % len(self.late)).arrive()
        self._raise_found()

    def lose(self, which: int, *, is_changed: bool) -> None:
        """Let somebody delete or change a file of the last epoch."""
        TALLY.steps += 1
        if self.committed:
            manifest = self.committed[max(self.committed)]
            if manifest.files:
                self.is_whole = False
                file = manifest.files[which % len(manifest.files)]
                key = f"{manifest.location}/{file.name}"
                stored = find(self.ground.server, key)
                if is_changed and stored is not None:
                    self.ground.server.put(key, stored.content[::-1])
                else:
                    self.ground.server.delete([key])

    def end_well(self) -> None:
        """Lift all troubles: all processes end, all requests arrive, and the result is computed and read once more."""
        while self.stopped:
            self.resume(0)
        while self.late:
            self.arrive(0)
        self.stage(3, ())
        assert self.is_whole
        self.read(())

    def _worker(self, what: str, troubles: tuple[Trouble, ...], work: Callable[[Worker], None]) -> Worker:
        def run() -> None:
            try:
                work(worker)
            except (Died, Exception) as error:
                worker.error = error

        TALLY.steps += 1
        kind = "several" if len(troubles) > 1 else "".join(one.kind for one in troubles) or "none"
        TALLY.tried[f"results, {self.ground.name}", what if what in ("gc", "reader") else "stage", kind] += 1
        process = Process(run)
        worker = Worker(what, Line(troubles, self.late, process), process)
        return worker

    def _area(self, worker: Worker) -> StagingArea:
        client = self.ground.client_of(worker.line)
        return StagingArea(
            spark=cast("SparkSession", Executors(self.ground.server)),
            log=ManifestLog(store=client, layout=self._layout),
            attempt=ExecutionAttempt(execution_id=worker.what, attempt_number=0),
            plan_id="plan",
            contracts=tuple,
        )

    def _stage(self, worker: Worker, name: str) -> None:
        client = self.ground.client_of(worker.line)
        task = TaskDeploymentDescriptor(
            version=VERSION,
            identity=self._layout.identity,
            region=REGION,
            attempt=ExecutionAttempt(execution_id=name, attempt_number=0),
            staging_root=self.ground.root,
            parameters=(),
        )
        client.put_if_absent(self._layout.descriptor(REGION.region_id, name), task.to_json().encode())
        mark_run(client, RunMarker.of(task, host="host", time=0.0))
        area = self._area(worker).beginning(RESULT.id)
        worker.epoch = area.epochs[RESULT.id]
        rows = StagedRows(self.ground, worker.rows)
        worker.winner = area.stage(RESULT, cast("DataFrame", rows))
        outcome = Outcome(state=ExecutionState.FINISHED, ended=self.ground.server.now, reason=None)
        client.put_if_absent(
            self._layout.execution(REGION.region_id, name) + "/outcome.json", to_json(outcome).encode()
        )

    def _read(self, worker: Worker) -> None:
        area = self._area(worker)
        manifest = area.find(STAGED)
        worker.epoch = manifest.epoch
        worker.winner = manifest
        worker.read = sorted(cast("tuple[Row, ...]", area.read(manifest)))

    def _run(self, worker: Worker) -> None:
        stores.open_with(lambda _: lambda _: self.ground.client_of(worker.line))
        for other in self.stopped if worker.what == "gc" else ():
            other.may_be_refused = True
            self.removed_under.add(other.what)
        has_ended = worker.process.run()
        self._raise_found()
        if not has_ended:
            self.stopped.append(worker)
            return
        for trouble in worker.line.struck:
            TALLY.struck[trouble.call, trouble.kind] += 1
        for other in self.stopped:
            other.may_be_refused = True
        if worker.error is not None:
            self._has_failed(worker, worker.error)
        elif worker.read is not None:
            self._has_read(worker)
        elif worker.winner is not None:
            self._has_staged(worker, worker.winner)

    def _has_staged(self, worker: Worker, winner: Manifest) -> None:
        assert winner.epoch == worker.epoch, f"it began for {worker.epoch}\n{worker.trace}"
        held = self.committed.get(winner.epoch)
        assert held == winner or worker.may_be_refused, (
            f"it was told that {winner} was committed, and there is {held}\n{worker.trace}"
        )
        assert winner.rows == len(self.written[winner.attempt.execution_id])

    def _has_read(self, worker: Worker) -> None:
        assert worker.winner is not None
        assert worker.read == sorted(self.written[worker.winner.attempt.execution_id]), (
            f"read {worker.read} as {worker.winner}\n{worker.trace}"
        )

    def _has_failed(self, worker: Worker, error: BaseException) -> None:
        words = f"{worker.what} failed: {type(error).__name__}: {error}\n{worker.trace}"
        if isinstance(error, Died):
            assert worker.line.is_dead, words
            return
        may_fail = worker.line.has_struck or worker.may_be_refused
        if worker.what == "reader":
            assert isinstance(error, GraphCompilerError | OSError), words
            assert may_fail or not self.is_whole or not self.committed, words
            return
        assert isinstance(error, GraphCompilerError | OSError), words
        assert may_fail, words

    def _changed(self, key: str) -> None:
        """Check the result after each change."""
        try:
            self._take_note(key)
            self._holds(f"after {key}")
        except AssertionError as found:
            self.found = self.found or found

    def _take_note(self, key: str) -> None:
        if not key.startswith(self._layout.manifests(RESULT.id)):
            return
        name = key.rpartition("/")[2]
        if name.startswith("."):  # not renamed yet
            return
        epoch, stored = int(name.removesuffix(".json")), find(self.ground.server, key)
        if stored is None:
            assert self.is_expiring, f"{key} was removed"
            self.committed.pop(epoch, None)
            return
        quiet = self.ground.client_of(Line((), [], Process(lambda: None)))
        manifest = ManifestLog(store=quiet, layout=self._layout).manifest(RESULT.id, epoch)
        held = self.committed.get(epoch)
        assert held in (None, manifest), f"epoch {epoch} has two winners: {held} and {manifest}"
        is_last = epoch > max(self.committed, default=-1)
        self.committed[epoch] = manifest
        if is_last:
            self.is_whole = manifest.attempt.execution_id not in self.removed_under

    def _holds(self, when: str) -> None:
        """All files of the last epoch are there, with the bytes that were committed."""
        if not self.committed or not self.is_whole:
            return
        manifest = self.committed[max(self.committed)]
        for file in manifest.files:
            stored = find(self.ground.server, f"{manifest.location}/{file.name}")
            assert stored is not None, f"{when}: {file.name} of {manifest.location} is gone"
            assert stored.etag == file.checksums, f"{when}: {file.name} was changed"

    def _raise_found(self) -> None:
        if self.found is not None:
            raise self.found
