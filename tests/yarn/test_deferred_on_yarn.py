"""A task on YARN waits in Airflow's triggerer: no worker has it, and what ends the task ends its application."""

import os
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, fields
from functools import partial
from pathlib import Path

import pytest

from tests.end_to_end.conftest import ROOT
from tests.end_to_end.test_stream_runs import CONTINUOUS, arrive, published
from tests.harness.reference import rows
from tests.harness.standalone import processes_of, standalone, until
from tests.harness.waiting_run import PRICES, Waiting, waiting
from tests.yarn.conftest import YarnHome

pytestmark = pytest.mark.yarn
TRIGGERER = "airflow\0triggerer"
"""In the arguments of its processes."""


@dataclass(frozen=True)
class DeferringHome(YarnHome):
    """A home whose tasks defer, and take no longer than `most_seconds`."""

    most_seconds: int | None = None

    def environment(self, **more: str) -> dict[str, str]:
        settings = {"AIRFLOW__OPERATORS__DEFAULT_DEFERRABLE": "True"}
        if self.most_seconds is not None:
            settings["AIRFLOW__CORE__DEFAULT_TASK_EXECUTION_TIMEOUT"] = str(self.most_seconds)
        return super().environment(**(settings | more))


@dataclass(frozen=True)
class Deferred:
    """A run whose only task waits in the triggerer."""

    run: Waiting
    home: DeferringHome
    before: frozenset[str]

    def wait(self, number: int = 1) -> None:
        """Wait until a try is deferred, the triggerer has it, and no worker does."""

        def is_deferred() -> bool:
            task = self.run.task()
            return (task["state"], task["try_number"]) == ("deferred", number)

        until(is_deferred, f"try {number} to defer", seconds=400)
        last = max(self.run.executions(), key=lambda folder: folder.stat().st_mtime).name
        worker = f"airflow worker -- LocalExecutor: {last}"
        until(lambda: not processes_of(worker), "the worker to be free")
        log = f"logs/*/*/*/attempt={number}.log.trigger.*"
        until(lambda: [*self.home.folder.glob(log)], "the triggerer to begin")

    def states(self) -> list[str]:
        """Return the states of its applications, first to last."""
        found = self.home.yarn.applications()
        return [found[id][0] for id in sorted(found.keys() - self.before)]

    def outcomes(self) -> list[bool]:
        """Return whether each execution has an outcome."""
        return [(folder / "outcome.json").exists() for folder in self.run.executions()]


@contextmanager
def deferred(yarn_home: YarnHome, folder: Path, most_seconds: int | None = None) -> Iterator[Deferred]:
    named = {field.name: getattr(yarn_home, field.name) for field in fields(yarn_home)}
    home = DeferringHome(**named, most_seconds=most_seconds)
    before = frozenset(home.yarn.applications())
    with waiting(home, folder, home.yarn.shared, stored=True) as run:
        found = Deferred(run, home, before)
        found.wait()
        yield found


def test_a_triggerer_that_restarts_ends_nothing(yarn_home: YarnHome, tmp_path: Path) -> None:
    with deferred(yarn_home, tmp_path) as waits:
        for pid in processes_of(TRIGGERER):
            os.kill(pid, signal.SIGKILL)
        until(lambda: not processes_of(TRIGGERER), "the triggerer to end")
        waits.run.may_go.touch()
        assert waits.outcomes() == [False]
        assert waits.run.task()["state"] == "deferred"
        doctor = partial(waits.home.cli, "doctor")
        until(lambda: "1 task waits for one" in doctor().stdout, "doctor to see it")
        another = subprocess.Popen(
            [sys.executable, "-m", "airflow", "triggerer"],
            cwd=ROOT,
            env=waits.home.environment(),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        try:
            assert waits.run.end() == "success"
        finally:
            another.terminate()
            another.wait(60)
        assert waits.run.task()["try_number"] == 1
        waits.run.execution()  # there is one
        assert waits.states() == ["FINISHED"]
    assert rows(yarn_home.output / "waited") == sorted(PRICES)


def test_a_task_that_is_cleared_or_marked_ends_its_application(yarn_home: YarnHome, tmp_path: Path) -> None:
    with deferred(yarn_home, tmp_path) as waits:
        run, name = waits.run, waits.run.task()["task_id"]
        body = {"dry_run": False, "only_failed": False, "task_ids": [name]}
        body["dag_run_id"] = run.path.rpartition("/")[2]
        run.api.call("POST", "/api/v2/dags/waiting/clearTaskInstances", body)
        waits.wait(2)
        until(lambda: waits.states()[:1] == ["KILLED"], "the first application to end")
        assert sorted(waits.outcomes()) == [False, True]
        run.api.call("PATCH", f"{run.path}/taskInstances/{name}", {"new_state": "failed"})
        until(lambda: waits.states() == ["KILLED", "KILLED"], "the second application to end")
        until(lambda: all(waits.outcomes()), "its outcome")
    assert not (yarn_home.output / "waited").exists()


def test_a_timeout_ends_its_application_and_a_retry_starts_another(yarn_home: YarnHome, tmp_path: Path) -> None:
    with deferred(yarn_home, tmp_path, most_seconds=90) as waits:
        waits.run.wait_for_try(2)
        waits.run.may_go.touch()
        until(lambda: waits.states()[:1] == ["KILLED"], "the first application to end")
        assert waits.run.end() == "success"
        assert waits.states() == ["KILLED", "FINISHED"]
    assert rows(yarn_home.output / "waited") == sorted(PRICES)


def test_a_continuous_stream_waits_in_the_triggerer_until_it_is_stopped(yarn_home: YarnHome, tmp_path: Path) -> None:
    folder = yarn_home.yarn.shared / f"stream-{tmp_path.name}"
    (folder / "in").mkdir(parents=True)
    home = DeferringHome(**{each.name: getattr(yarn_home, each.name) for each in fields(yarn_home)})
    before = home.yarn.applications().keys()
    arrive(folder, "a.txt", "to be or not to be")
    with standalone(home.environment, tmp_path, {"words": CONTINUOUS.format(folder=folder)}) as api:
        run = api.call("POST", "/api/v2/dags/words/dagRuns", {"logical_date": None})
        path = f"/api/v2/dags/words/dagRuns/{run['dag_run_id']}"

        def state() -> object:
            (task,) = api.call("GET", f"{path}/taskInstances")["task_instances"]
            return task["state"]

        def is_counted(text: str) -> bool:
            return published(f"{folder}/counts") == sorted(Counter(text.split()).items(), key=repr)

        until(lambda: is_counted("to be or not to be"), "the first batch", seconds=400)
        until(lambda: state() == "deferred", "the task to defer", seconds=60)
        arrive(folder, "b.txt", "be quick")
        until(lambda: is_counted("to be or not to be be quick"), "the second batch", seconds=60)
        stopped = home.cli("streams", "stop", "words", "lines")
        assert stopped.returncode == 0, stopped.stdout + stopped.stderr
        until(lambda: api.call("GET", path)["state"] == "success", "the run to end", seconds=200)
    found = home.yarn.applications()
    assert [found[id][0] for id in found.keys() - before] == ["FINISHED"]
