"""Requests to this host's Airflow: its database, and what it refuses."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from graph_compiler.run_client import AirflowUnreachableError, RunClient

pytestmark = [pytest.mark.airflow, pytest.mark.filterwarnings("default")]


def test_a_home_without_a_database_is_reported_and_left_alone(tmp_path: Path) -> None:
    (tmp_path / "sitecustomize.py").write_text("print('what is imported prints', flush=True)\n")
    path = f"{tmp_path}:{os.environ.get('PYTHONPATH', '')}"
    environment = os.environ | {"AIRFLOW_HOME": str(tmp_path), "PYTHONPATH": path}
    environment.pop("AIRFLOW__DATABASE__SQL_ALCHEMY_CONN", None)
    with (
        RunClient.local(environment) as client,
        pytest.raises(AirflowUnreachableError, match="there is no database"),
    ):
        client.status("sales")
    assert not (tmp_path / "airflow.db").exists()


@pytest.fixture
def program(tmp_path: Path) -> Iterator["subprocess.Popen[str]"]:
    """Start a program that prints as a part of Airflow may, and fails for what it does not know."""
    program = """
import json
from graph_compiler.airflow_backend.client import local_requests
from graph_compiler.airflow_backend.client.local_requests import RefusedError

def find_dag(session, *, dag_id):
    print("a plugin of Airflow prints this")
    if dag_id == "refused":
        raise RefusedError(409, "it runs")
    if dag_id == "broken":
        raise KeyError("gone")
    return {"is_paused": True, "has_import_errors": False}

local_requests.REQUESTS = {"find_dag": find_dag}
local_requests.main()
"""
    (tmp_path / "airflow.db").touch()
    started = subprocess.Popen(
        [sys.executable, "-c", program],
        env=os.environ | {"AIRFLOW_HOME": str(tmp_path)},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    yield started
    started.communicate(timeout=30)


def test_each_request_has_one_line_as_its_answer_whatever_airflow_prints(
    program: "subprocess.Popen[str]",
) -> None:
    assert program.stdin is not None
    assert program.stdout is not None
    found: list[dict[str, Any]] = []
    for dag_id in ("refused", "broken", "sales"):
        program.stdin.write(json.dumps({"request": "find_dag", "dag_id": dag_id}) + "\n")
        program.stdin.flush()
        found.append(json.loads(program.stdout.readline()))
    assert found == [
        {"status": 409, "detail": "it runs"},
        {"status": 500, "detail": "KeyError: 'gone'"},
        {"answer": {"is_paused": True, "has_import_errors": False}},
    ]
