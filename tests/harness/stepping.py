"""Run several writers of one store through every order of their steps, with deaths and lost answers.

    for run in every_order([writer_a, writer_b], faults=1): …

A step is one operation on the store, or on the disk beside it. Writers are threads of which one runs at a time, up to
its next step. Which one, and what happens to it, is chosen in each run until every choice has been made (stateless
model checking).
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any, TypeVar

from graph_compiler.staging.store.in_memory_store import InMemoryStore

Answer = TypeVar("Answer")


class Fault(Enum):
    """What may happen at a step: the writer dies before it; or it is done, and its answer is lost or repeated."""

    DEATH = "death"
    LOST_ANSWER = "lost answer"
    SENT_AGAIN = "sent again"


class Died(BaseException):
    """The writer is dead, and cleans up nothing."""


class Scheduler:
    """Lets one writer at a time go one step; `choices` says which, in order; after them, the first that can."""

    def __init__(self, choices: Sequence[int], faults: int) -> None:
        self.choices, self.faults = list(choices), faults
        self.taken: list[tuple[int, int]] = []  # what was chosen, of how many
        self.trace: list[str] = []
        self._turn = threading.Condition()
        self._granted: tuple[str, Fault | None] | None = None
        self._waiting: set[str] = set()
        self._ended: set[str] = set()

    def step(self, what: str, do: Callable[[], Answer]) -> Answer:
        """Wait for this thread's turn, then do; called by writers."""
        me = threading.current_thread().name
        with self._turn:
            self._waiting.add(me)
            self._turn.notify_all()
            self._turn.wait_for(lambda: self._granted is not None and self._granted[0] == me)
            assert self._granted is not None
            fault = self._granted[1]
            self._granted = None
            self._waiting.discard(me)
        self.trace.append(f"{me}: {what}{f' ({fault.value})' if fault else ''}")
        if fault is Fault.DEATH:
            raise Died
        answer = do()
        if fault is Fault.LOST_ANSWER:
            raise TimeoutError(what)
        return do() if fault is Fault.SENT_AGAIN else answer

    def end(self) -> None:
        """Take no more steps; called by writers."""
        with self._turn:
            self._ended.add(threading.current_thread().name)
            self._turn.notify_all()

    def drive(self, threads: Sequence[threading.Thread]) -> None:
        """Run the threads to their ends."""
        for thread in threads:
            thread.start()
        while True:
            with self._turn:
                self._turn.wait_for(
                    lambda: self._granted is None and {thread.name for thread in threads} <= self._waiting | self._ended
                )
                alive = [thread.name for thread in threads if thread.name not in self._ended]
                if not alive:
                    break
                options = [(name, fault) for fault in self._possible() for name in alive]
                index = self._choose(len(options))
                self._granted = options[index]
                if options[index][1]:
                    self.faults -= 1
                self._turn.notify_all()

        for thread in threads:
            thread.join()

    def _possible(self) -> list[Fault | None]:
        return [None, *Fault] if self.faults else [None]

    def _choose(self, count: int) -> int:
        number = len(self.taken)
        index = self.choices[number] if number < len(self.choices) else 0
        self.taken.append((index, count))
        return index


class SteppedStore(InMemoryStore):
    """A store in one process, in which every call is a step of a scheduler, if there is one."""

    def __init__(self, scheduler: Scheduler | None = None) -> None:
        super().__init__()
        self.scheduler = scheduler

    def _step(self, what: str, do: Callable[[], Answer]) -> Answer:
        return self.scheduler.step(what, do) if self.scheduler else do()


@dataclass(frozen=True)
class Run:
    """One order: what each writer returned or raised, None for one that died; and the steps taken."""

    outcomes: dict[str, Any]
    trace: list[str]

    def __str__(self) -> str:
        return "\n".join(self.trace)


def every_order(make: Callable[[Scheduler], dict[str, Callable[[], object]]], *, faults: int = 0) -> Iterator[Run]:
    """Run the writers that `make` returns, each time with a new world, in every order of their steps."""
    choices: list[int] | None = []
    while choices is not None:
        scheduler = Scheduler(choices, faults)
        outcomes: dict[str, Any] = {}
        threads = [
            threading.Thread(target=_run, args=(name, work, outcomes, scheduler), name=name, daemon=True)
            for name, work in make(scheduler).items()
        ]
        scheduler.drive(threads)
        yield Run(outcomes, scheduler.trace)
        choices = _next(scheduler.taken)


def _run(name: str, work: Callable[[], object], outcomes: dict[str, Any], scheduler: Scheduler) -> None:
    try:
        outcomes[name] = work()
    except Died:
        outcomes[name] = None
    except Exception as error:  # what a writer raises is an outcome
        outcomes[name] = error
    finally:
        scheduler.end()


def _next(taken: list[tuple[int, int]]) -> list[int] | None:
    """Return the choices of the next run: the last one that can still be changed is changed."""
    while taken and taken[-1][0] + 1 >= taken[-1][1]:
        taken.pop()
    if not taken:
        return None
    *before, (index, _) = taken
    return [*(choice for choice, _ in before), index + 1]
