"""An object store on loopback, as a process of its own, and what it was asked.

It is moto, or the store that the environment names; then the process passes requests on:

    TEST_STORE_ENDPOINT=http://127.0.0.1:9402 TEST_STORE_KEY=… TEST_STORE_SECRET=…
    TEST_STORE_SPARK_CONF='{"spark.hadoop.fs.s3a.…": "…"}'    if S3A needs settings for it

Its bucket `lake` must be empty or missing.
"""

from __future__ import annotations

import json
import os
import re
import socket
import subprocess
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from urllib.error import URLError
from urllib.request import Request, urlopen

from graph_compiler.object_stores.s3_access import S3Access

_PROJECT = Path(__file__).parents[2]
_PYTHON = _PROJECT / ".venv-objects/bin/python"
JARS = _PROJECT / "tests/object_stores/jars"
"""Hadoop's connector to S3, which Maven brings."""
_SERVER = Path(__file__).with_name("s3_server.py")
_SECONDS = 30
OTHER = os.environ.get("TEST_STORE_ENDPOINT")
"""The endpoint of a store that is not moto."""
KEY = os.environ.get("TEST_STORE_KEY", "test")
SECRET = os.environ.get("TEST_STORE_SECRET", "test-secret")
CONNECTOR: dict[str, str] = {
    "spark.driver.extraClassPath": f"{JARS}/*",
    **json.loads(os.environ.get("TEST_STORE_SPARK_CONF", "{}")),
}
"""Settings of Spark with which a driver on this host has the connector."""


@dataclass(frozen=True, slots=True)
class ObjectServer:
    """Its endpoint, and the file in which it logs requests."""

    endpoint: str
    log: Path

    @property
    def access(self) -> S3Access:
        return access_at(self.endpoint)

    @property
    def connection(self) -> dict[str, object]:
        """Return the Airflow connection that says the same."""
        extra = {"endpoint_url": self.endpoint}
        return {"conn_type": "aws", "login": KEY, "password": SECRET, "extra": extra}

    def make_bucket(self, name: str) -> None:
        self._call("PUT", f"/{name}")

    def breaks(self, method: str, path: str, fault: str, times: int = 1) -> None:
        """Break the next requests with this method whose path contains a text (`s3_server.py` has the faults)."""
        self.follows({"method": method, "path": re.escape(path), "fault": fault, "times": times})

    def follows(self, *rules: Mapping[str, object]) -> None:
        """Replace all rules for the next requests (`s3_server.Rule`)."""
        self._call("POST", "/_faults", json.dumps(rules).encode())

    def requests(self, *, since: int = 0) -> list[str]:
        """Return the logged requests, without faults being set and buckets being made."""
        return self.log.read_text().splitlines()[since:]

    @contextmanager
    def counting(self) -> Iterator[list[str]]:
        """Yield a list that has the methods of the block's requests after it; a listing is LIST."""
        before, found = len(self.requests()), list[str]()
        yield found
        for line in self.requests(since=before):
            method, path, *_ = line.split()
            found.append("LIST" if method == "GET" and "list-type=2" in path else method)

    def uploads(self, bucket: str, place: str) -> list[str]:
        """Return the keys below a place whose uploads are neither completed nor aborted."""
        answer = self._call("GET", f"/{bucket}?uploads")
        prefix = place.removeprefix(f"s3a://{bucket}/")
        return [key for key in re.findall("<Key>(.*?)</Key>", answer) if key.startswith(prefix)]

    def _call(self, method: str, path: str, body: bytes | None = None) -> str:
        with urlopen(Request(self.endpoint + path, data=body, method=method), timeout=10) as answer:
            return str(answer.read().decode())


def access_at(endpoint: str) -> S3Access:
    """Return how the server at an endpoint is reached."""
    return S3Access(endpoint=endpoint, is_path_style=True, access_key=KEY, secret_key=SECRET)


@contextmanager
def object_server(folder: Path) -> Iterator[ObjectServer]:
    """Yield moto, which has forgotten everything, or the other store; end the process."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    log = folder / "requests.log"
    log.touch()
    with (folder / "server.out").open("wb") as output:
        process = subprocess.Popen(
            [str(_PYTHON), str(_SERVER), str(port), str(log), *([OTHER] if OTHER else [])],
            env=os.environ | {"AWS_ACCESS_KEY_ID": KEY, "AWS_SECRET_ACCESS_KEY": SECRET},
            stdout=output,
            stderr=output,
        )
    try:
        server = ObjectServer(f"http://127.0.0.1:{port}", log)
        _wait(server, process, folder)
        yield server
    finally:
        process.terminate()
        process.wait(10)


def _wait(server: ObjectServer, process: subprocess.Popen[bytes], folder: Path) -> None:
    until = time.monotonic() + _SECONDS
    while time.monotonic() < until and process.poll() is None:
        with suppress(URLError, ConnectionError):
            server.breaks("-", "-", "-", 0)
            return
        time.sleep(0.1)
    raise AssertionError(f"no store on {server.endpoint}: {(folder / 'server.out').read_text()}")
