"""Carry out one case in a running Airflow."""

from __future__ import annotations

import json
import os
import re
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from graph_compiler.compiler.pipeline_compiler import compile_pipeline
from graph_compiler.deployment.describe.region_descriptors import describe_regions
from graph_compiler.deployment.documents.staging_layout import StagingLayout
from tests.faults.cases import Case, every_order
from tests.faults.facts import REFUSED, Facts, attempts_of, difference, leftovers
from tests.faults.places.place import Place
from tests.faults.plan import Fault, Firing, Plan, Point, firing_path, plan_path
from tests.faults.workloads import DAYS, WORKLOADS, Workload
from tests.harness.standalone import Api, processes_of, until

_RUN_SECONDS = 420
_MANY_SECONDS = 1200
_MANY = 20
_BACKFILLED = 5
_END_SECONDS = 120
"""A task that is marked failed notices with its next heartbeat (within five seconds, more on a busy machine).

Then TERM, five seconds, KILL.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Trial:
    """One run of one case; the place has `input` and `output`, its fault plan is below `plans`."""

    api: Api
    case: Case
    run_id: str
    place: Place
    layout: StagingLayout
    plans: Path
    input: Path
    output: Path
    collect_garbage: Callable[[], None]

    @property
    def workload(self) -> Workload:
        return WORKLOADS[self.case.workload]

    @property
    def path(self) -> str:
        return f"/api/v2/dags/{self.workload.name}/dagRuns/{self.run_id}"

    def carry_out(self) -> tuple[Facts, float]:
        """Trigger the run, do what the case wants done from outside, and look; return the run's seconds too."""
        self.output.mkdir(parents=True)
        self.workload.fill_targets(self.output)
        self.place.push(self.output)
        if self.case.region:
            plan = self._plan()
            plan_path(self.plans, self.run_id).write_text(plan.to_json())
            self.place.watch(plan, self.layout.run, self.plans, self.run_id)
        started = time.monotonic()
        late, state, cleared = self._run()
        seconds = time.monotonic() - started
        alive = self._wake_and_wait()
        self.place.pull(self.input)  # some faults change it
        rows = self._difference()
        facts = Facts(
            fired=self._firing() is not None,
            state=state,
            attempts=attempts_of(self.place.store, self.layout),
            cleared=cleared,
            rows=rows,
            beside=leftovers(self.output) + self.place.uploads(self.output),
            alive=alive,
            late=late,
        )
        return facts, seconds

    def _run(self) -> tuple[str, str, dict[str, int]]:
        """Trigger, and do what the case wants; return what did not happen in time, the state, and what was cleared."""
        if self.case.fault in (Fault.MANY_RUNS, Fault.BACKFILL):
            return "", self._run_many(), {}
        self._trigger(self._date)
        late = self._disturb()
        state = self._ended()
        cleared: dict[str, int] = {}
        if state == "failed" and self.case.lost:
            cleared = self._clear_as_told()
            state = self._ended()
        if self.case.fault is Fault.CLEAR:
            state = self._clear_all()
        return late, state, cleared

    @property
    def _date(self) -> str | None:
        """Return the logical date of the run that is hit; None: now."""
        return None

    def _difference(self) -> str:
        self.place.pull(self.output)
        return difference(self.workload.compare, self.input, self.output)

    def _plan(self) -> Plan:
        compiled = compile_pipeline(self.workload.environment().pipeline())
        staged = {
            str(region.region_id): [str(result.id) for result in region.results]
            for region in describe_regions(compiled)
        }
        return Plan(
            fault=self.case.fault,
            point=self.case.point,
            region=self.case.region,
            input=self._conf["input"],
            output=self._conf["output"],
            lost=tuple(id for task in self.case.lost for id in staged[task]),
        )

    @property
    def _conf(self) -> dict[str, str]:
        return {"input": self.place.uri(self.input), "output": self.place.uri(self.output)}

    def _trigger(self, date: str | None = None, suffix: str = "") -> None:
        body = {
            "logical_date": date or datetime.now(UTC).isoformat(),
            "dag_run_id": self.run_id + suffix,
            "conf": self._conf,
        }
        self.api.call("POST", f"/api/v2/dags/{self.workload.name}/dagRuns", body)

    def _disturb(self) -> str:
        """Do from outside what the case requires while the run continues; return what did not happen in time."""
        try:
            match self.case.fault:
                case Fault.HANG_AND_FAIL:
                    self._fail_by_hand()
                case Fault.GC_WHILE_PAUSED:
                    self._pause_and_collect()
        except AssertionError as error:
            return str(error)
        return ""

    def _pause_and_collect(self) -> None:
        """Pause the Dag after its first task, collect garbage older than a second, and let the run continue."""
        dag, (first, *_) = f"/api/v2/dags/{self.workload.name}", self.workload.tasks

        def has_ended() -> bool:
            found = self.api.call("GET", f"{self.path}/taskInstances/{first}")
            return bool(found["state"] == "success")

        until(has_ended, f"{first} to end", seconds=_RUN_SECONDS)
        self.api.call("PATCH", dag, {"is_paused": True})
        try:
            until(lambda: not self._processes(), "other tasks to end", seconds=_RUN_SECONDS)
            time.sleep(2)
            self.collect_garbage()
        finally:
            self.api.call("PATCH", dag, {"is_paused": False})

    def _run_many(self) -> str:
        """Start many runs that share a target, and wait for all; returns the state of the worst."""
        dag = f"/api/v2/dags/{self.workload.name}"
        # Days of their own: a Dag has one run for each logical date.
        by_hand, backfilled = _days(1, _MANY), list[str]()
        if self.case.fault is Fault.BACKFILL:
            backfilled = _days(_MANY + 1, _BACKFILLED)
            by_hand = _days(_MANY + 1 + _BACKFILLED, 2)
        days = self.output / DAYS
        days.parent.mkdir(exist_ok=True)
        days.write_text(json.dumps(backfilled + by_hand))
        self.place.push(days.parent)
        if backfilled:
            asked = {
                "dag_id": self.workload.name,
                "from_date": f"{backfilled[0]}T00:00:00Z",
                "to_date": f"{backfilled[-1]}T00:00:00Z",
                "reprocess_behavior": "none",
                "max_active_runs": _BACKFILLED,
                "dag_run_conf": self._conf,
            }
            self.api.call("POST", "/api/v2/backfills", asked)
        for number, day in enumerate(by_hand):
            self._trigger(f"{day}T00:00:00Z", f".{number}")
        since = f"{dag}/dagRuns?limit=100&logical_date_lte=2013-02-01T00:00:00Z"

        def states() -> list[str]:
            runs = self.api.call("GET", since)["dag_runs"]
            found = [run["state"] for run in runs if run["conf"] == self._conf]
            are_ended = all(state in ("success", "failed") for state in found)
            return found if len(found) == len(backfilled + by_hand) and are_ended else []

        found = until(states, "all runs to end", seconds=_MANY_SECONDS)
        return "failed" if "failed" in found else "success"

    def _ended(self, suffix: str = "") -> str:
        """Wait for the end of the run, or of the one with this suffix; return its state."""
        path = self.path + suffix

        def state() -> str | None:
            found = self.api.attempt("GET", path)
            return str(found["state"]) if found and found["state"] in ("success", "failed") else None

        try:
            return until(state, "the run to end", seconds=_RUN_SECONDS)
        except AssertionError:
            self.api.call("PATCH", path, {"state": "failed"})
            return f"not at all within {_RUN_SECONDS} s"

    def _firing(self) -> Firing | None:
        path = firing_path(self.plans, self.run_id)
        return Firing.from_json(path.read_text()) if path.exists() else None

    def _fail_by_hand(self) -> None:
        """Let the hanging task fail, and clear it."""
        self._end_by_hand()
        self._clear([self.workload.task_of(self.case.region)], downstream=True)

    def _end_by_hand(self) -> None:
        """Mark the hanging task as failed, wait until its application ends, and then its run."""
        task = self.workload.task_of(self.case.region)
        until(self._firing, "the fault", seconds=_RUN_SECONDS)
        self.api.call("PATCH", f"{self.path}/taskInstances/{task}", {"new_state": "failed"})
        until(lambda: not self._processes(), "its application to end", seconds=_END_SECONDS)
        self._ended()

    def _clear_as_told(self) -> dict[str, int]:
        """Clear the tasks in the failed task's message; return all that run again, and how often they have run."""
        history = attempts_of(self.place.store, self.layout)
        reasons = [attempt.reason for attempts in history.values() for attempt in attempts]
        told = [found[1] for reason in reasons if (found := re.search(f"{re.escape(REFUSED)}(.*?) of run ", reason))]
        if not told:
            return {}
        cleared = self._clear(re.split(", | and ", told[-1]), downstream=True)
        return {task: len(history.get(task, ())) for task in cleared}

    def _clear_all(self) -> str:
        tasks = self.workload.tasks
        if self.case.point is Point.AT_ONCE:
            for task in reversed(tasks):
                self._clear([task])
            return self._ended()
        state = "success"
        for task in every_order(tasks):
            self._clear([task])
            state = self._ended()
            if state != "success" or self._difference():
                break
        return state

    def _clear(self, tasks: list[str], *, downstream: bool = False) -> tuple[str, ...]:
        answer = self.api.call(
            "POST",
            f"/api/v2/dags/{self.workload.name}/clearTaskInstances",
            {
                "dry_run": False,
                "only_failed": False,
                "dag_run_id": self.run_id,
                "task_ids": tasks,
                "include_downstream": downstream,
            },
        )
        return tuple(found["task_id"] for found in answer["task_instances"])

    def _wake_and_wait(self) -> int:
        """Let stopped processes continue, and wait until none of the run is alive; return how many still are."""
        if firing := self._firing():
            for pid in self._still(firing):
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGCONT)
        with suppress(AssertionError):
            until(lambda: not self._processes(), "the run's processes to end", seconds=90)
        time.sleep(1)
        alive = self._processes()
        for pid in alive:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        return len(alive)

    def _still(self, firing: Firing) -> Iterator[int]:
        """Yield the processes of a firing that are stopped now: their ids may belong to other processes later."""
        for pid in (firing.supervisor, firing.runner, firing.jvm, firing.driver):
            with suppress(OSError):
                if Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "T":
                    yield pid

    def _processes(self) -> list[int]:
        return processes_of(f"{self.layout.tasks}/")


def _days(first: int, count: int) -> list[str]:
    """Return this many days of January."""
    return [f"2013-01-{day:02}" for day in range(first, first + count)]
