"""A staging root that does not answer blocks few threads of the API server, and Airflow's own routes keep theirs."""

import os
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from graph_compiler.deployment.documents.run_identity import RunIdentity

pytestmark = [
    pytest.mark.airflow,
    pytest.mark.filterwarnings("default"),  # Airflow's own imports warn of much
]


@pytest.fixture
def hang() -> Iterator[threading.Event]:
    """Yield the event that a hanging disk waits for."""
    event = threading.Event()
    yield event
    event.set()


def reads(**limits: Any) -> Any:
    from graph_compiler.airflow_backend.web.routes.answers import StagingReads

    return StagingReads(**limits)


def refused(call: Any) -> str:
    from fastapi import HTTPException

    with pytest.raises(HTTPException) as raised:
        call()
    assert raised.value.status_code == 503
    return str(raised.value.detail)


def test_results_and_exceptions_of_a_read_are_passed_on() -> None:
    read = reads()
    assert read(lambda: 7) == 7
    for error in (FileNotFoundError("x"), TimeoutError("the disk says so")):

        def fail(error: OSError = error) -> None:
            raise error

        with pytest.raises(type(error)):
            read(fail)


def test_a_hanging_read_is_abandoned(hang: threading.Event) -> None:
    read = reads(patience=0.05)
    assert "does not return" in refused(lambda: read(hang.wait))


def test_hanging_threads_are_limited(hang: threading.Event) -> None:
    read = reads(running=3, waiting=2, patience=0.05)
    with ThreadPoolExecutor(45) as requests:
        asked = [requests.submit(lambda: refused(lambda: read(hang.wait))) for _ in range(45)]
        assert all(one.result() for one in asked)
    hanging = [one for one in threading.enumerate() if one.name == "staging-read" and one.is_alive()]
    assert len(hanging) == 3
    assert refused(lambda: read(lambda: 7)) == ("the staging root does not answer: reads of it do not return")


def test_reads_recover_when_the_disk_does(hang: threading.Event) -> None:
    read = reads(running=1, patience=0.05)
    refused(lambda: read(hang.wait))
    hang.set()
    for thread in threading.enumerate():
        if thread.name == "staging-read":
            thread.join()
    assert read(lambda: 7) == 7


def test_45_requests_for_a_fifo_block_no_other_route(tmp_path: Path) -> None:
    """They are sent to an application with our routes' functions, in as many threads as Airflow has."""
    from fastapi import FastAPI, HTTPException
    from fastapi.testclient import TestClient

    from graph_compiler.airflow_backend.web.rows.staged_files import find_result
    from graph_compiler.deployment.documents.staging_layout import StagingLayout
    from graph_compiler.errors import StagingError
    from tests.airflow.staged_rows import RESULT

    layout = StagingLayout(root=str(tmp_path), identity=RunIdentity.own("p", "r"))
    Path(layout.manifests(RESULT)).mkdir(parents=True)
    os.mkfifo(layout.manifest(RESULT, 0))
    application, read = FastAPI(), reads()

    @application.get("/result")
    def result() -> None:
        try:
            read(lambda: find_result(layout, RESULT, rows_are_shown=False))
        except StagingError as error:
            raise HTTPException(404, str(error)) from None

    @application.get("/health")
    def health() -> str:
        return "well"

    with TestClient(application) as client, ThreadPoolExecutor(45) as requests:
        asked = [requests.submit(client.get, "/result") for _ in range(45)]
        assert client.get("/health").json() == "well"
        codes = {one.result().status_code for one in asked}
    assert codes <= {404, 503}
    assert 404 in codes
