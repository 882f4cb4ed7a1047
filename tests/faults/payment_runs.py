"""Runs that remember, one after the other: what happens to the second must neither lose nor double rows of any."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass

from graph_compiler.deployment.documents.run_identity import RunIdentity
from graph_compiler.deployment.documents.staging_layout import StagingLayout, positions_of
from tests.faults.facts import attempts_of
from tests.faults.plan import Fault, Point
from tests.faults.trial import Trial
from tests.faults.workloads import DAYS, add_payments, payment_days
from tests.harness.standalone import until

BEFORE, AFTER = ".before", ".after"
_ROUNDS = 8
_MANY_SECONDS = 900
GIVEN_AWAY = "was given to run"
PENDING = "clear the failed tasks of run"
LEAVE = "hint: leave this run as it is"


@dataclass(frozen=True, kw_only=True)  # without slots: it calls what it overrides
class PaymentRuns(Trial):
    """Three runs, each for its day; the fault is in the second, or between them."""

    @property
    def _date(self) -> str | None:
        return _midnight(payment_days()[1])

    def _run(self) -> tuple[str, str, dict[str, int]]:
        self._forget_other_cases()
        first, second, third, fourth, fifth, _ = payment_days()
        among_others = {
            Fault.TWO_RUNS: lambda: self._two_runs(third),
            Fault.BESIDE: lambda: self._beside(second, third, fourth, fifth),
            Fault.NEXT_RUN: lambda: self._next_run(third),
            Fault.DELETED: lambda: self._deleted(third),
            Fault.CLEARED_LATE: lambda: self._cleared_late(third),
        }
        try:
            self._arrive(first)
            self._trigger(_midnight(first), BEFORE)
            self._expect("success", BEFORE)
            self._arrive(second)
            if self.case.fault in among_others:
                among_others[self.case.fault]()
                return "", "success", {}
            late, state, cleared = super()._run()
            if state == "success":
                self._follow(third)
        except AssertionError as error:
            return str(error), "failed", {}
        return late, state, cleared

    def _two_runs(self, other: str) -> None:
        self._arrive(other)
        self._trigger(self._date)
        self._trigger(_midnight(other), AFTER)
        self._clear_until_all_succeed(3)

    def _beside(self, *days: str) -> None:
        """Backfill all days but the last, for which a run is triggered."""
        *backfilled, by_hand = days
        self._arrive(*days[1:])
        self._backfill(backfilled[0], backfilled[-1])
        self._trigger(_midnight(by_hand))
        self._clear_until_all_succeed(1 + len(days))

    def _next_run(self, day: str) -> None:
        """Start the next run when the run has failed, and do what the messages say."""
        self._trigger(self._date)
        self._end_by_hand()
        self._arrive(day)
        self._trigger(_midnight(day), AFTER)
        region, point = self.case.region, self.case.point
        if point is Point.AFTER_ENTRY:  # nobody has claimed it: the next run has all
            self._expect("success", AFTER)
            self._clear_failed()
            self._expect("failed", words=GIVEN_AWAY)
        elif (region, point) == ("totals", Point.BEFORE_POSITION):  # all is published, and only that is not recorded
            self._expect("success", AFTER)
            self._clear_failed()
            self._expect("failed", words=LEAVE)
        else:
            self._expect("failed", AFTER, words=PENDING)
            self._clear_failed()
            self._expect("success")
            self._clear_failed(AFTER)
            self._expect("success", AFTER)

    def _deleted(self, day: str) -> None:
        """Delete the run when it has failed, or succeeded, and create it again with the same id."""
        self._trigger(self._date)
        if self.case.region:
            self._end_by_hand()
        else:
            self._expect("success")
        self.api.call("DELETE", self.path)
        self._trigger(self._date)
        self._expect("success")
        self._follow(day)

    def _cleared_late(self, day: str) -> None:
        self._trigger(self._date)
        self._expect("success")
        self._follow(day)
        self._clear(list(self.workload.tasks))
        self._expect("failed", words=LEAVE)

    def _follow(self, day: str) -> None:
        """Let the next run come, which must read what is new, and nothing again."""
        self._arrive(day)
        self._trigger(_midnight(day), AFTER)
        self._expect("success", AFTER)

    def _arrive(self, *days: str) -> None:
        """Put the payments of days where they are new, and note that a run of each day comes."""
        known = self.output / DAYS
        runs = json.loads(known.read_text()) if known.exists() else []
        for day in days:
            self.place.push(add_payments(self.input, day))
        known.parent.mkdir(exist_ok=True)
        known.write_text(json.dumps([*runs, *days]))
        self.place.push(known.parent)  # what else the output had at first would come back

    def _forget_other_cases(self) -> None:
        """Remove the runs and the position of earlier cases: a day has one run, and a position one folder."""
        dag = f"/api/v2/dags/{self.workload.name}/dagRuns"
        for run in self.api.call("GET", f"{dag}?limit=100")["dag_runs"]:
            self.api.call("DELETE", f"{dag}/{run['dag_run_id']}")
        assert self.place.store.delete(positions_of(self.place.root, self.layout.identity.owner))

    def _expect(self, state: str, suffix: str = "", *, words: str = "") -> None:
        """Wait until a run ends; raise AssertionError if it ends in another way, or if no attempt says the words."""
        found, reasons = self._ended(suffix), self._reasons(suffix)
        assert found == state, f"run {suffix or 'of the case'} is {found}, expected {state}: {reasons[-1:]}"
        assert any(words in reason for reason in reasons), f"no attempt says '{words}': {reasons}"

    def _reasons(self, suffix: str) -> Sequence[str]:
        layout = StagingLayout(root=self.place.root, identity=RunIdentity.own(self.workload.name, self.run_id + suffix))
        history = attempts_of(self.place.store, layout)
        return [attempt.reason for attempts in history.values() for attempt in attempts] or [""]

    def _clear_failed(self, suffix: str = "") -> None:
        """Clear the failed tasks of a run, with those that did not run for them."""
        self._clear_run(self.run_id + suffix)

    def _clear_run(self, run_id: str) -> None:
        dag = f"/api/v2/dags/{self.workload.name}"
        body = {"dry_run": False, "only_failed": True, "dag_run_id": run_id, "include_downstream": False}
        self.api.call("POST", f"{dag}/clearTaskInstances", body)

    def _backfill(self, first: str, last: str) -> None:
        asked = {
            "dag_id": self.workload.name,
            "from_date": _midnight(first),
            "to_date": _midnight(last),
            "reprocess_behavior": "none",
            "max_active_runs": 3,
            "dag_run_conf": self._conf,
        }
        self.api.call("POST", "/api/v2/backfills", asked)

    def _clear_until_all_succeed(self, count: int) -> None:
        """Clear what has failed, as long as something has: who finds a position busy comes later."""
        dag = f"/api/v2/dags/{self.workload.name}/dagRuns"

        def ended() -> dict[str, str]:
            runs = self.api.call("GET", f"{dag}?limit=100")["dag_runs"]
            found = {run["dag_run_id"]: run["state"] for run in runs}
            return found if len(found) == count and {*found.values()} <= {"success", "failed"} else {}

        for _ in range(_ROUNDS):
            states = until(ended, "all runs to end", seconds=_MANY_SECONDS)
            failed = [run_id for run_id, state in states.items() if state == "failed"]
            if not failed:
                return
            for run_id in failed:
                self._clear_run(run_id)
        raise AssertionError(f"not all runs succeed after {_ROUNDS} times of clearing: {states}")


def _midnight(day: str) -> str:
    return f"{day}T00:00:00Z"
