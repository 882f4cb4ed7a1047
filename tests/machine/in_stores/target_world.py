"""A store with a target and a staging root, and the processes that write there, remove there, and wait.

What readers see is compared with the model after each request that changes something (`versions.py`).
"""

from __future__ import annotations

import itertools
import json
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from graph_compiler.deployment.documents.run_identity import RunIdentity
from graph_compiler.deployment.documents.staging_layout import DONE, INTENT
from graph_compiler.errors import GraphCompilerError
from graph_compiler.staging.gc.collection import Policy, collect
from graph_compiler.staging.gc.liveness import AirflowRunState
from graph_compiler.staging.gc.removal import remove
from graph_compiler.staging.gc.survey import survey
from graph_compiler.staging.publications.ledger import is_in_place
from graph_compiler.staging.publications.publications import GIVEN_UP
from graph_compiler.staging.store import stores
from graph_compiler.staging.store.staging_store import StagingStore
from tests.machine.faults import Died
from tests.machine.in_stores.execution import Execution, layout_of
from tests.machine.in_stores.rows import seen_rows
from tests.machine.in_stores.server import Ground, find
from tests.machine.in_stores.troubles import Late, Line, Trouble
from tests.machine.in_stores.versions import Versions
from tests.machine.model import Row, Written
from tests.machine.process import Process
from tests.machine.tally import TALLY

MODES = ("append", "overwrite", "overwrite-partitions", "error-if-exists", "merge")
_HOURS, _MONTHS = 7_200.0, 100 * 86_400.0


def policy_of(ground: Ground, runs: Iterable[str], ended: frozenset[str], *, is_old: bool) -> Policy:
    """Return what `staging gc` is told hours or months later; Airflow says that some of the runs have ended."""
    airflow: Mapping[RunIdentity, AirflowRunState] = {
        layout_of(ground, run).identity: AirflowRunState.FAILED if run in ended else AirflowRunState.RUNNING
        for run in runs
    }
    return Policy(now=ground.server.now + (_MONTHS if is_old else _HOURS), airflow=airflow)


def remove_waste(client: StagingStore, root: str, policy: Policy) -> None:
    """Do what `staging gc` does."""
    for _ in remove(client, collect(survey(client, root), policy), root):
        pass


@dataclass
class GarbageCollection:
    """A `staging gc`, and what has ended it."""

    line: Line
    process: Process
    error: BaseException | None = None


@dataclass
class TargetWorld:
    """The store, the model of its target, and the processes that have begun and not ended."""

    ground: Ground
    partitioned: bool
    late: list[Late] = field(default_factory=list)
    stopped: list[Execution] = field(default_factory=list)
    collecting: list[GarbageCollection] = field(default_factory=list)
    executions: dict[str, Execution] = field(default_factory=dict)
    unfinished: dict[str, Written] = field(default_factory=dict)
    numbers: itertools.count[int] = field(default_factory=itertools.count)
    versions: Versions = field(default_factory=Versions)
    found: AssertionError | None = None

    def __post_init__(self) -> None:
        self.ground.server.watch(self._changed)
        self._ledger = layout_of(self.ground, "any").publications(self.ground.target)

    def write(self, run: str, mode: str, rows: Iterable[Row], troubles: tuple[Trouble, ...]) -> None:
        """Let a new execution of a run write, until it ends or is stopped."""
        written = Written(run=run, mode=mode, rows=tuple(rows), keys=("id",))
        TALLY.steps += 1
        kinds = "+".join(sorted(one.kind for one in troubles)) or "none"
        TALLY.tried[self.ground.name, mode, kinds if len(troubles) < 2 else "several"] += 1
        name = f"e{next(self.numbers)}"
        execution = self.executions[name] = self._execution(name, written, troubles)
        self.unfinished[run] = written
        self._run(execution)

    def resume(self, which: int) -> None:
        """Let a stopped execution continue."""
        self._run(self.stopped.pop(which % len(self.stopped)))

    def arrive(self, which: int) -> None:
        """Carry out a request that was delayed."""
        TALLY.steps += 1
        self.late.pop(which % len(self.late)).arrive()
        self._raise_found()

    def others_put(self, part: str | None) -> None:
        """Let somebody else write a file with one row into the target."""
        TALLY.steps += 1
        row: Row = (99, part, next(self.numbers))
        target = self.ground.target
        folder = f"{target}/part={part}" if self.partitioned else target
        self.versions.add(row)
        for execution in self.stopped:
            execution.others_came.append(row)
        self.ground.server.put(f"{folder}/foreign-{row[2]}.json", f"{json.dumps(row)}\n".encode())
        self._raise_found()

    def collect_garbage(self, ended: frozenset[str], troubles: tuple[Trouble, ...], *, is_old: bool) -> None:
        """Let `staging gc` run, hours or months later; Airflow says of these runs that they have ended."""
        TALLY.steps += 1
        collection = self._collection(ended, troubles, is_old=is_old)
        self._go_on(collection)

    def resume_collection(self, which: int) -> None:
        """Let a stopped gc continue."""
        self._go_on(self.collecting.pop(which % len(self.collecting)))

    def end_well(self) -> None:
        """Lift all troubles: all executions end, all requests arrive, failed runs are retried, one more succeeds."""
        while self.stopped:
            self.resume(0)
        while self.collecting:
            self.resume_collection(0)
        while self.late:
            self.arrive(0)
        for written in list(self.unfinished.values()):
            rows = [(id, part, next(self.numbers)) for id, part, _ in written.rows]
            self.write(written.run, written.mode, rows, ())
        self.write("run 9", "append", [(0, "a", next(self.numbers))], ())
        assert not self.versions.is_open, "the last run has succeeded, and its publication is not finished"
        self.versions.check(self.seen(), "at the end")
        self._is_in_place()

    def _is_in_place(self) -> None:
        """A retry would keep what each publication has added, except what later ones have removed."""
        client = self.ground.client_of(Line((), [], self.versions.decided[-1].process))
        for one in self.versions.decided:
            layout = layout_of(self.ground, one.written.run)
            kept = one.is_given_up or is_in_place(client, layout, self.ground.target, one.id)
            assert kept, f"{one.written} counts as lost\n{one.trace}"

    def seen(self) -> Counter[Row]:
        """Count the rows that readers of the target see."""
        return Counter(seen_rows(self.ground.server, self.ground.target))

    def _execution(self, name: str, written: Written, troubles: tuple[Trouble, ...]) -> Execution:
        execution = Execution(name, written, self.ground, self.partitioned)
        execution.process = Process(execution.work)
        execution.line = Line(troubles, self.late, execution.process)
        return execution

    def _run(self, execution: Execution) -> None:
        """Let an execution run, with its own line to the store, and judge how it has ended."""
        stores.open_with(lambda _: lambda _: self.ground.client_of(execution.line))
        has_ended = execution.process.run()
        self._raise_found()
        if not has_ended:
            self.stopped.append(execution)
            return
        for trouble in execution.line.struck:
            TALLY.struck[trouble.call, trouble.kind] += 1
        execution.may_be_given_up |= execution.number is None
        if execution.error is None:
            self._has_succeeded(execution)
        else:
            self._has_failed(execution, execution.error)

    def _has_succeeded(self, execution: Execution) -> None:
        written = execution.written
        words = f"{written} succeeded"
        assert execution.number is not None, f"{words}, and nothing is decided\n{execution.trace}"
        done = find(self.ground.server, f"{self._ledger}/{execution.number}{DONE}")
        assert done is not None, f"{words}, and it is not finished\n{execution.trace}"
        assert done.content != GIVEN_UP, f"{words}, and it was given up\n{execution.trace}"
        assert execution.rows == len(written.rows), f"{words}: {execution.rows} rows were counted"
        if self.unfinished.get(written.run) is written:
            del self.unfinished[written.run]

    def _has_failed(self, execution: Execution, error: BaseException) -> None:
        words = f"{execution.written} failed: {type(error).__name__}: {error}\n{execution.trace}"
        if isinstance(error, Died):
            assert execution.line.is_dead, words
            return
        assert isinstance(error, GraphCompilerError | OSError), words
        if execution.line.has_struck:
            return
        TALLY.refusals[f"{execution.written.mode}: {type(error).__name__}: {error}"[:200]] += 1
        assert execution.published_since or execution.others_came or self._may_refuse(execution), words
        if self.unfinished.get(execution.written.run) is execution.written:
            del self.unfinished[execution.written.run]

    def _may_refuse(self, execution: Execution) -> bool:
        is_new = execution.written.mode == "error-if-exists"
        return is_new and self.versions.may_hold_others(execution.written.run)

    def _changed(self, key: str) -> None:
        """Check the target after each change; the process that has made it must not take a finding for its own."""
        try:
            if key.startswith(f"{self._ledger}/"):
                self._take_note(key)
            if key.startswith((self._ledger, self.ground.target)):
                self.versions.check(self.seen(), f"after {key}")
        except AssertionError as found:
            self.found = self.found or found

    def _take_note(self, key: str) -> None:
        name = key.removeprefix(f"{self._ledger}/")
        stored = find(self.ground.server, key)
        if stored is None:
            assert name.startswith("."), f"{key} was removed"
        elif name.endswith(INTENT):
            document = json.loads(stored.content)
            self._decide(self.executions[document["execution_id"]], int(document["number"]))
        elif name.endswith(DONE):
            number = int(name.removesuffix(DONE))
            self.versions.finish(number, is_given_up=stored.content == GIVEN_UP)

    def _decide(self, execution: Execution, number: int) -> None:
        self.versions.decide(execution, number)
        for other in self.executions.values():
            if other is not execution and not other.process.has_ended:
                other.published_since.add(execution.written.run)
                if other.has_claimed:
                    other.overtaken_by.append(execution)

    def _raise_found(self) -> None:
        if self.found is not None:
            raise self.found

    def _collection(self, ended: frozenset[str], troubles: tuple[Trouble, ...], *, is_old: bool) -> GarbageCollection:
        runs = {one.written.run for one in self.executions.values()}
        policy = policy_of(self.ground, runs, ended, is_old=is_old)

        def work() -> None:
            try:
                remove_waste(self.ground.client_of(collection.line), self.ground.root, policy)
            except (Died, Exception) as error:
                collection.error = error

        process = Process(work)
        collection = GarbageCollection(Line(troubles, self.late, process), process)
        return collection

    def _go_on(self, collection: GarbageCollection) -> None:
        for execution in self.stopped:
            execution.may_be_given_up |= execution.number is None
            execution.published_since.add("gc")
        has_ended = collection.process.run()
        self._raise_found()
        if not has_ended:
            self.collecting.append(collection)
            return
        error = collection.error
        is_known = error is None or isinstance(error, GraphCompilerError | OSError | Died)
        words = f"gc ended with {error!r}\n{collection.line.trace}"
        assert is_known, words
        assert error is None or collection.line.has_struck, words
