"""The Airflow of this host, by its database: in one separate process, so that its caller does not import Airflow.

Each request and each answer is a line of JSON, in the form of the API (`airflow_backend/client/local_requests.py`).
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Mapping, Sequence
from http import HTTPStatus
from tempfile import TemporaryFile
from typing import IO, Any

from graph_compiler.run_client.airflow_end import DagFacts, Trigger
from graph_compiler.run_client.refusals import AirflowRefusedError, AirflowUnreachableError
from graph_compiler.run_client.run_status import RunStatus, TaskStatus, run_status

_PROGRAM = "graph_compiler.airflow_backend.client.local_requests"
_SECONDS_TO_END = 30


def _is_answer(line: str) -> bool:
    """Whether a line is an answer: what Airflow prints while it is imported is none."""
    return line.startswith(('{"answer": ', '{"status": '))


class LocalEnd:
    """The Airflow whose home and settings an environment names; its process starts with the first request."""

    def __init__(self, environment: Mapping[str, str]) -> None:
        self._environment = dict(environment)
        self._process: subprocess.Popen[str] | None = None
        self._log: IO[bytes] | None = None

    @property
    def name(self) -> str:
        """Return the name of this Airflow for messages."""
        return f"the Airflow of {self._environment.get('AIRFLOW_HOME', '~/airflow')}"

    def find_dag(self, dag_id: str) -> DagFacts | None:
        """Return a Dag."""
        found = self._call("find_dag", dag_id=dag_id)
        return None if found is None else DagFacts(**found)

    def find_run(self, dag_id: str, run_id: str | None) -> RunStatus | None:
        """Return a run with its tasks."""
        found = self._call("find_run", dag_id=dag_id, run_id=run_id)
        return None if found is None else run_status(found["run"], found["tasks"], None)

    def run_of_date(self, dag_id: str, logical_date: str) -> str | None:
        """Return the id of the run with a logical date."""
        found: str | None = self._call("run_of_date", dag_id=dag_id, logical_date=logical_date)
        return found

    def trigger(self, wanted: Trigger) -> None:
        """Start a run."""
        self._call(
            "trigger",
            dag_id=wanted.dag_id,
            run_id=wanted.run_id,
            logical_date=wanted.logical_date,
            conf=dict(wanted.conf),
        )

    def fail(self, dag_id: str, run_id: str) -> None:
        """Mark a run as failed."""
        self._call("fail", dag_id=dag_id, run_id=run_id)

    def clear(self, dag_id: str, run_id: str, tasks: Sequence[TaskStatus]) -> None:
        """Let these tasks run again."""
        wanted = [[task.task_id, task.map_index] for task in tasks]
        self._call("clear", dag_id=dag_id, run_id=run_id, tasks=wanted)

    def has_scheduler(self) -> bool:
        """Whether a scheduler is alive."""
        return bool(self._call("has_scheduler"))

    def close(self) -> None:
        """End the process."""
        if self._process is not None and self._process.stdin is not None:
            self._process.stdin.close()
            try:
                self._process.wait(_SECONDS_TO_END)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait()
            if self._process.stdout is not None:
                self._process.stdout.close()
        if self._log is not None:
            self._log.close()
        self._process = self._log = None

    def _call(self, request: str, **arguments: object) -> Any:
        process = self._process or self._start()
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            process.stdin.write(json.dumps({"request": request, **arguments}) + "\n")
            process.stdin.flush()
            line = next(filter(_is_answer, process.stdout), "")
        except OSError:
            line = ""
        if not line:
            raise self._silence()
        answer = json.loads(line)
        if "answer" in answer:
            return answer["answer"]
        status, message = answer["status"], f"{self.name}: {answer['detail']}"
        if status >= HTTPStatus.INTERNAL_SERVER_ERROR:
            raise AirflowUnreachableError(message)
        raise AirflowRefusedError(status, message)

    def _start(self) -> subprocess.Popen[str]:
        self._log = TemporaryFile()  # noqa: SIM115  # close() closes it
        self._process = subprocess.Popen(
            [sys.executable, "-m", _PROGRAM],
            env=self._environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._log,
            text=True,
            start_new_session=True,  # Ctrl-C is for its caller, which decides
        )
        return self._process

    def _silence(self) -> AirflowUnreachableError:
        lines = []
        if self._log is not None:
            self._log.seek(0)
            lines = self._log.read().decode(errors="replace").strip().splitlines()
        self.close()
        last = (lines or ["it printed nothing"])[-1]
        return AirflowUnreachableError(
            f"{self.name} does not answer: {last[:500]}\n"
            "  hint: is AIRFLOW_HOME that of your Airflow? An Airflow of another host has an address: --api-url"
        )
