"""A stream in HDFS: its drivers, its savepoints, `staging gc`, people who reset it, and what readers see of its target.

A stream has published a prefix of what has arrived, each row once. That is compared after each request that changes
something. While a decided publication is not finished, rows of a batch that is repeated may be there twice.
"""

from __future__ import annotations

import itertools
import json
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field

from graph_compiler.deployment.documents.report import Outcome
from graph_compiler.deployment.documents.staging_layout import DONE, INTENT, OUTCOME, savepoint_in
from graph_compiler.deployment.documents.stream import SavepointRestoreSettings
from graph_compiler.deployment.documents.wire import to_json
from graph_compiler.errors import GraphCompilerError
from graph_compiler.graphs.execution import ExecutionState
from graph_compiler.staging.publications.folded_batches import batch_of
from graph_compiler.staging.publications.publications import GIVEN_UP
from graph_compiler.staging.store import stores
from graph_compiler.staging.store.staging_store import StagingStore
from graph_compiler.staging.streams.batch_log import ReadSoFar, nothing_arrived
from graph_compiler.staging.streams.checkpoint import CheckpointError, known_streams
from graph_compiler.staging.streams.savepoints import take_savepoint
from tests.machine.faults import Died
from tests.machine.in_stores.execution import REGION, layout_of
from tests.machine.in_stores.rows import seen_rows
from tests.machine.in_stores.server import Ground, find
from tests.machine.in_stores.stream_driver import QUERY, OtherQueryError, StreamDriver, path_of, read_by, streams_in
from tests.machine.in_stores.target_world import policy_of, remove_waste
from tests.machine.in_stores.troubles import Late, Line, Trouble
from tests.machine.process import Process
from tests.machine.tally import TALLY


@dataclass
class Tool:
    """A process that is not a driver: gc, a savepoint, a worker that asks whether anything has arrived."""

    what: str
    line: Line
    process: Process
    error: BaseException | None = None

    @property
    def trace(self) -> str:
        return "\n".join([f"requests of {self.what}:", *(f"  {line}" for line in self.line.trace[-120:])])


@dataclass
class Open:
    """What is decided and not finished: its files, and those of them that were there before."""

    number: int
    batch: str
    files: list[int]
    before: frozenset[int]
    is_repeated: bool


@dataclass
class Publications:
    """The files of which the target has rows, and those that the stream has published, in their order.

    Behind a savepoint, a sink that merges publishes again what is there.
    """

    there: set[int] = field(default_factory=set)
    published: list[int] = field(default_factory=list)
    by_batch: dict[str, list[int]] = field(default_factory=dict)
    merges: bool = False
    open: Open | None = None
    drivers: dict[int, StreamDriver] = field(default_factory=dict)
    void: set[int] = field(default_factory=set)
    """What drivers have decided whose stream was reset."""

    def decide(self, driver: StreamDriver, number: int, batch: str, arrived: list[int]) -> None:
        """Take note of a decision: its files are the next ones, or those of the same batch before."""
        if number in self.drivers:
            return  # of a driver that has slept since the record of this number was folded
        stream, of_stream = batch_of(batch) or ("", -1)
        files = [file for file, _, _ in driver.rows[of_stream]]
        words = f"batch {of_stream} of {stream} was decided as {number} with {files}"
        assert self.open is None, f"{words} while another one was open\n{driver.trace}"
        is_repeated = batch in self.by_batch
        if is_repeated:
            assert self.by_batch[batch] == files, f"{words}, and had {self.by_batch[batch]} before\n{driver.trace}"
        else:
            behind = [*self.published, *files]
            assert behind == arrived[: len(behind)], f"{words} behind {self.published}\n{driver.trace}"
            assert self.merges or self.there.isdisjoint(files), f"{words}, which are there\n{driver.trace}"
            self.published = behind
        self.drivers[number], self.by_batch[batch] = driver, files
        self.open = Open(number, batch, files, frozenset(files) & self.there, is_repeated)
        self.there |= set(files)

    def finish(self, number: int, *, is_given_up: bool) -> None:
        """Take note of an end; only a publication whose files may have been removed is given up."""
        assert number in self.drivers or number in self.void, f"the end of {number} ends nothing"
        assert is_given_up or number not in self.void, f"{number} was carried out, though its stream was reset"
        if self.open is None or self.open.number != number:
            return  # a driver that has slept since its record was folded
        last, self.open = self.open, None
        if is_given_up:
            driver = self.drivers[number]
            assert driver.was_silent, f"{number} was given up, though nobody removed its files\n{driver.trace}"
            self.there -= set(last.files) - last.before
            if not last.is_repeated:
                del self.published[-len(last.files) :], self.by_batch[last.batch]

    def check(self, seen: Counter[int], when: str, trace: str) -> None:
        """Compare what readers see with what they may see."""
        for file in {*seen, *self.there}:
            least, most = int(file in self.there), int(file in self.there)
            if self.open is not None and file in self.open.files:
                least, most = int(file in self.open.before), 1 + int(file in self.open.before)
            elif self.open is not None and self.merges:
                most *= 2
            assert least <= seen[file] <= most, (
                f"{when}: the row of file {file} is there {seen[file]} times; it has those of {self.there}\n{trace}"
            )


@dataclass
class StreamWorld:
    """The store, what has arrived, and the processes that have begun and not ended."""

    ground: Ground
    mode: str = "append"
    late: list[Late] = field(default_factory=list)
    stopped: list[StreamDriver | Tool] = field(default_factory=list)
    drivers: dict[str, StreamDriver] = field(default_factory=dict)
    numbers: itertools.count[int] = field(default_factory=itertools.count)
    arrived: list[int] = field(default_factory=list)
    published: Publications = field(default_factory=Publications)
    savepoints: dict[str, list[int]] = field(default_factory=dict)
    """The files that each has read."""
    start: str | None = None
    """The savepoint from which runs are to start since the last reset."""
    is_behind: bool = False
    """Whether the target has rows that the savepoint has not read."""
    is_damaged: bool = False
    """Whether somebody has replaced or removed the checkpoint."""
    found: AssertionError | None = None
    _resets: int = 0
    _copies: dict[str, list[dict[str, bytes]]] = field(default_factory=dict)
    """What each run has left of a checkpoint."""
    _last: str = ""

    def __post_init__(self) -> None:
        self.published.merges = self.mode == "merge"
        self.ground.server.watch(self._changed)
        self._quiet = self.ground.client_of(Line((), [], Process(lambda: None)))
        """What people see."""
        self._ledger = layout_of(self.ground, "any").publications(self.ground.target)

    @property
    def is_quiet(self) -> bool:
        """Whether nothing is stopped, and no request is on its way."""
        return not self.stopped and not self.late

    @property
    def may_be_reset(self) -> bool:
        """Whether no request is on its way, and no run about to begin a stream."""
        drivers = (one for one in self.stopped if isinstance(one, StreamDriver))
        return not self.late and all(driver.has_opened for driver in drivers)

    def arrive(self, count: int) -> None:
        """Let files come."""
        first = len(self.arrived)
        self.arrived += range(first, first + count)

    def run(self, run: str, most: int, troubles: tuple[Trouble, ...]) -> StreamDriver:
        """Let a new execution of a run publish what has arrived, until it ends or is stopped."""
        start = None if self.start is None else SavepointRestoreSettings(path=self.start)
        driver = StreamDriver(
            id=f"e{next(self.numbers)}",
            run=run,
            ground=self.ground,
            arrived=self.arrived,
            numbers=self.numbers,
            mode=self.mode,
            most=most,
            start=start,
        )
        driver.process = Process(driver.work)
        driver.line = Line(troubles, self.late, driver.process)
        self.drivers[driver.id] = driver
        self._count("run", troubles)
        self._go_on(driver)
        return driver

    def collect_garbage(self, ended: frozenset[str], troubles: tuple[Trouble, ...], *, is_old: bool) -> None:
        """Let `staging gc` run, hours or months later; Airflow says of these runs that they have ended."""
        runs = {driver.run for driver in self.drivers.values()}
        policy = policy_of(self.ground, runs, ended, is_old=is_old)
        self._tool("gc", troubles, lambda client: remove_waste(client, self.ground.root, policy))

    def ask(self, troubles: tuple[Trouble, ...]) -> None:
        """Let a worker ask whether anything has arrived; if not, all of it is published."""
        start = None if self.start is None else SavepointRestoreSettings(path=self.start)

        def is_read(known: ReadSoFar) -> bool:
            return all(path_of(file) in known.files for file in arrived)

        are_read = {source.uid: is_read for source in QUERY.sources}

        def work(client: StagingStore) -> None:
            if nothing_arrived(client, streams_in(self.ground), QUERY, are_read, start):
                missing = [file for file in arrived if file not in self.published.there]
                if missing and before == self._resets:
                    self.found = AssertionError(f"nothing has arrived, and {missing} are not published")

        arrived, before = list(self.arrived), self._resets
        self._tool("ask", troubles, work)

    def save(self, troubles: tuple[Trouble, ...]) -> None:
        """Take a savepoint."""

        def work(client: StagingStore) -> None:
            for stream in known_streams(client, self.ground.root):
                run = None if stream.last is None else layout_of(self.ground, stream.last.run_id)
                saved = take_savepoint(client, stream, run, None, self.ground.server.now)
                last = saved.savepoint.own.batch
                folder = f"{saved.place}/checkpoint"
                self.savepoints[saved.place] = read_by(self._quiet, folder, last)

        self._tool("savepoint", troubles, work)

    def begin_with(self, which: int) -> None:
        """Reset the stream, and let the next runs start from a savepoint."""
        if not self._is_finished():
            return
        self._reset()
        places = [place for place in self.savepoints if find(self.ground.server, savepoint_in(place)) is not None]
        self.start = places[which % len(places)] if places else None
        if self.start is None:
            self._clear()
        else:
            self.published.published = list(self.savepoints[self.start])
            self.is_behind = self.mode == "append" and set(self.published.published) != self.published.there

    def begin_again(self) -> None:
        """Remove the rows of the stream, and let it read again all that is there."""
        if not self._is_finished():
            self.run("run 9", 1, ())
            self._raise_found()
        if (last := self.published.open) is not None:  # no run can do it
            self._clear()
            self.published.drivers[last.number].was_silent = True
            self.ground.server.put(f"{self._ledger}/{last.number}{DONE}", GIVEN_UP)
        self._reset()
        self._clear()

    def damage(self, which: int) -> None:
        """Let somebody remove the checkpoint, and put back what an earlier run had left, or nothing."""
        TALLY.steps += 1
        for folder in self._checkpoints():
            copies = [{}, *self._copies.get(folder, ())]
            self.is_damaged = True
            self.ground.server.delete([key for key, _ in self.ground.server.below(folder)])
            for key, content in copies[which % len(copies)].items():
                self.ground.server.put(key, content)

    def resume(self, which: int) -> None:
        """Let a stopped process continue."""
        self._go_on(self.stopped.pop(which % len(self.stopped)))

    def deliver(self, which: int) -> None:
        """Carry out a request that was delayed."""
        TALLY.steps += 1
        for other in self.stopped:
            if isinstance(other, StreamDriver):
                other.is_alone = False
        self.late.pop(which % len(self.late)).arrive()
        self._raise_found()

    def end_well(self) -> None:
        """Lift all troubles: all processes end, all requests arrive, and one more run publishes what is left."""
        while self.stopped:
            self.resume(0)
        while self.late:
            self.deliver(0)
        self.arrive(1)
        if self.is_damaged or self.run("run 9", 2, ()).error is not None:
            self.begin_again()
            self.run("run 9", 2, ())
        assert self.published.open is None, "the last run has succeeded, and its publication is not finished"
        assert self.published.published == self.arrived, f"{self.arrived} have arrived, and it has {self.published}"

    def seen(self) -> Counter[int]:
        """Count the rows that readers of the target see, by their files."""
        return Counter(file for file, _, _ in seen_rows(self.ground.server, self.ground.target))

    def _checkpoints(self) -> list[str]:
        found = known_streams(self._quiet, self.ground.root)
        return [stream.layout.checkpoint(stream.stream_id) for stream in found]

    def _is_finished(self) -> bool:
        """Whether a stream can be reset."""
        try:
            for stream in known_streams(self._quiet, self.ground.root):
                stream.check_finished(self._quiet)
        except CheckpointError:
            assert self.published.open is not None
            return False
        return True

    def _clear(self) -> None:
        self.ground.server.watch(lambda _: None)
        self.ground.server.delete([key for key, _ in self.ground.server.below(self.ground.target)])
        self.ground.server.watch(self._changed)
        self.published.there, self.published.published = set(), []
        self.savepoints, self.start, self.is_behind = {}, None, False

    def _reset(self) -> None:
        TALLY.steps += 1
        assert self.may_be_reset
        for driver in self.drivers.values():
            driver.is_alone = driver.is_alone and driver.process.has_ended
        self._resets += 1
        for stream in known_streams(self._quiet, self.ground.root):
            stream.reset(self._quiet)
        self.is_damaged = False

    def _tool(self, what: str, troubles: tuple[Trouble, ...], work: Callable[[StagingStore], None]) -> None:
        def run() -> None:
            try:
                work(self.ground.client_of(tool.line))
            except (Died, Exception) as error:
                tool.error = error

        process = Process(run)
        tool = Tool(what, Line(troubles, self.late, process), process)
        self._count(what, troubles)
        self._go_on(tool)

    def _count(self, what: str, troubles: tuple[Trouble, ...]) -> None:
        TALLY.steps += 1
        kinds = "+".join(sorted(one.kind for one in troubles)) or "none"
        TALLY.tried["stream", what, kinds if len(troubles) < 2 else "several"] += 1

    def _go_on(self, one: StreamDriver | Tool) -> None:
        """Let a process run, with its own line to the store, and judge how it has ended."""
        for other in self.drivers.values():
            other.is_alone = other.is_alone and (other is one or other.process.has_ended)
            is_gone = other is not one and isinstance(one, Tool) and one.what == "gc"
            other.was_silent = other.was_silent or is_gone
        self._last = one.trace
        stores.open_with(lambda _: lambda _: self.ground.client_of(one.line))
        has_ended = one.process.run()
        self._raise_found()
        if not has_ended:
            self.stopped.append(one)
            return
        for trouble in one.line.struck:
            TALLY.struck[trouble.call, trouble.kind] += 1
        if isinstance(one, Tool):
            self._tool_has_ended(one)
            return
        self._airflow_sees_the_end(one)
        for folder in self._checkpoints():
            copy = {key: stored.content for key, stored in self.ground.server.below(folder)}
            self._copies.setdefault(folder, []).append(copy)
        if one.error is not None:
            self._has_failed(one, one.error)

    def _tool_has_ended(self, tool: Tool) -> None:
        words = f"{tool.what} ended with {tool.error!r}\n{tool.trace}"
        assert tool.error is None or isinstance(tool.error, GraphCompilerError | OSError | Died), words
        may_be_refused = tool.what == "savepoint" or self.is_damaged
        assert tool.error is None or tool.line.has_struck or may_be_refused, words

    def _airflow_sees_the_end(self, driver: StreamDriver) -> None:
        state = ExecutionState.FINISHED if driver.error is None else ExecutionState.FAILED
        outcome = Outcome(state=state, ended=self.ground.server.now, reason=None)
        folder = layout_of(self.ground, driver.run).execution(REGION, driver.id)
        self.ground.server.put(f"{folder}/{OUTCOME}", to_json(outcome).encode())

    def _has_failed(self, driver: StreamDriver, error: BaseException) -> None:
        words = f"{driver.id} failed: {type(error).__name__}: {error}\n{driver.trace}"
        if isinstance(error, Died):
            assert driver.line.is_dead, words
            return
        assert isinstance(error, GraphCompilerError | OSError | OtherQueryError), words
        if driver.line.has_struck:
            return
        TALLY.refusals[f"{type(error).__name__}: {error}"[:200]] += 1
        may_refuse = self.is_damaged or not driver.is_alone or self.is_behind
        assert may_refuse, words

    def _changed(self, key: str) -> None:
        """Check the target after each change; the process that has made it must not take a finding for its own."""
        try:
            if key.startswith(f"{self._ledger}/"):
                self._take_note(key)
            if key.startswith((self._ledger, self.ground.target)):
                self.published.check(self.seen(), f"after {key}", self._last)
        except AssertionError as found:
            self.found = self.found or found

    def _take_note(self, key: str) -> None:
        name = key.removeprefix(f"{self._ledger}/")
        stored = find(self.ground.server, key)
        if stored is None or name.startswith("."):
            return  # it is folded, or not renamed yet
        if name.endswith(INTENT):
            document = json.loads(stored.content)
            driver = self.drivers[document["execution_id"].partition(".")[0]]
            stream, _ = batch_of(document["batch"]) or ("", -1)
            if not self.ground.server.below(streams_in(self.ground).turns(stream)):
                self.published.void.add(int(document["number"]))  # it was reset
                return
            self.published.decide(driver, int(document["number"]), document["batch"], self.arrived)
        elif name.endswith(DONE):
            number = int(name.removesuffix(DONE))
            self.published.finish(number, is_given_up=stored.content == GIVEN_UP)

    def _raise_found(self) -> None:
        if self.found is not None:
            raise self.found
