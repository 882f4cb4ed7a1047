"""Metrics of runs under Airflow's scheduler, read back, and compared with the history of the run."""

import json
import os
import signal
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from tests.end_to_end.conftest import Home
from tests.harness.metric_receivers import Receiver, otlp_receiver, statsd_listener
from tests.harness.standalone import processes_of, until
from tests.harness.waiting_run import PRICES, REPOSITORY, Waiting, waiting

pytestmark = [pytest.mark.e2e, pytest.mark.long]

OF_THE_PIPELINE = {"dag_id": "waiting", "pipeline": "waiting"}


@dataclass(frozen=True)
class MeasuredHome(Home):
    """An Airflow home that sends metrics, and finds the repository of the pipeline that waits."""

    settings: dict[str, str] = field(default_factory=dict)

    def environment(self, **more: str) -> dict[str, str]:
        environment = super().environment(**(self.settings | more))
        environment["PYTHONPATH"] += f"{os.pathsep}{REPOSITORY}"
        return environment


def attempts(home: Home, run: Waiting) -> list[dict[str, Any]]:
    """Return the attempts of the run's only region, as `history` shows them."""
    shown = home.cli("history", "waiting", run.path.rpartition("/")[2], "--json")
    (found,) = json.loads(shown.stdout).values()
    return list(found)


def milliseconds(receiver: Receiver, name: str, **tags: str) -> float:
    return receiver.total(f"graph_compiler.{name}", **OF_THE_PIPELINE, **tags)


def check_rows(receiver: Receiver) -> None:
    rows = {one.tags["output"]: one.value for one in receiver.own() if one.name == "graph_compiler.sink.rows"}
    assert rows["waited_rows"] == len(PRICES)


def test_a_driver_that_was_killed_agrees_with_the_history(tmp_path: Path) -> None:
    with statsd_listener() as receiver:
        settings = {
            "AIRFLOW__METRICS__STATSD_ON": "True",
            "AIRFLOW__METRICS__STATSD_HOST": "127.0.0.1",
            "AIRFLOW__METRICS__STATSD_PORT": str(receiver.port),
            "AIRFLOW__METRICS__STATSD_INFLUXDB_ENABLED": "True",
        }
        home = MeasuredHome(tmp_path / "airflow", settings=settings)
        home.output.mkdir(parents=True)
        with waiting(home, tmp_path, tmp_path) as run:
            for process in processes_of(str(run.execution())):
                os.kill(process, signal.SIGKILL)
            until(lambda: len(run.executions()) == 2, "the second try to deploy")
            run.may_go.touch()
            assert run.end() == "success"
            first, second = attempts(home, run)
            until(lambda: milliseconds(receiver, "execution.finish") == 2, "both attempts")
        assert (first["state"], second["state"]) == ("FAILED", "FINISHED")
        for one in (first, second):
            told = milliseconds(receiver, "execution.duration", state=one["state"])
            assert told == round((one["ended"] - one["started"]) * 1000)
        assert milliseconds(receiver, "restarts") == 1
        restarting = milliseconds(receiver, "restarting_time")
        assert restarting == round((second["started"] - first["ended"]) * 1000)
        down = milliseconds(receiver, "down_time")
        assert down > restarting
        spark_started = down - restarting
        duration = milliseconds(receiver, "execution.duration", state="FINISHED")
        of_first = milliseconds(receiver, "execution.duration", state="FAILED")
        up = milliseconds(receiver, "up_time")
        assert 0 < up < of_first + duration - spark_started + 2
        check_rows(receiver)


def test_a_worker_that_was_killed_is_reported_by_the_next_try(tmp_path: Path) -> None:
    with otlp_receiver() as receiver:
        settings = {
            "AIRFLOW__METRICS__OTEL_ON": "True",
            "OTEL_EXPORTER_OTLP_METRICS_ENDPOINT": f"http://127.0.0.1:{receiver.port}/v1/metrics",
            "OTEL_EXPORTER_OTLP_METRICS_PROTOCOL": "http/protobuf",
            "OTEL_EXPORTER_OTLP_METRICS_TEMPORALITY_PREFERENCE": "delta",
        }
        home = MeasuredHome(tmp_path / "airflow", settings=settings)
        home.output.mkdir(parents=True)
        with waiting(home, tmp_path, tmp_path) as run:
            run.lose("supervisor", "task")
            first, second = attempts(home, run)
            until(lambda: milliseconds(receiver, "execution.finish") == 2, "both attempts")
        assert (first["state"], second["state"]) == ("FAILED", "FINISHED")
        assert milliseconds(receiver, "execution.finish", state="FAILED") == 1
        assert milliseconds(receiver, "restarts") == 1
        duration = milliseconds(receiver, "execution.duration", state="FINISHED")
        assert duration == round((second["ended"] - second["started"]) * 1000)
        restarting = milliseconds(receiver, "restarting_time")
        assert 0 < restarting < (second["started"] - first["started"]) * 1000
        assert milliseconds(receiver, "down_time") > restarting
        check_rows(receiver)
