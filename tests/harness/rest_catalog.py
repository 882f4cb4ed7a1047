"""Iceberg's own test server of a REST catalog, on a free port of loopback, with SQLite behind it."""

import os
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.error import URLError
from urllib.request import urlopen

from tests.end_to_end.conftest import ROOT

JARS = ROOT / "tests" / "lake" / "jars" / "rest"
_PATIENCE = 60.0


@contextmanager
def running_rest_catalog(folder: Path) -> Iterator[str]:
    """Start a server whose tables are below a folder; yield its URL."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    folder.mkdir(parents=True, exist_ok=True)
    settings = {
        "CATALOG_WAREHOUSE": str(folder),
        "CATALOG_URI": f"jdbc:sqlite:{folder}/catalog.db",
        "CATALOG_REST_PORT": str(port),
        "CATALOG_JDBC_INITIALIZE": "true",
    }
    classes = f"{JARS}/*:{_hadoop()}"
    command = ["java", "-Xmx256m", "-XX:TieredStopAtLevel=1", "-cp", classes]
    with (folder / "server.log").open("w") as log:
        server = subprocess.Popen(
            [*command, "org.apache.iceberg.rest.RESTCatalogServer"],
            env={**os.environ, **settings},
            stdout=log,
            stderr=subprocess.STDOUT,
        )
        try:
            url = f"http://127.0.0.1:{port}"
            _wait(f"{url}/v1/config", server, folder)
            yield url
        finally:
            server.kill()
            server.wait()


def _hadoop() -> str:
    import pyspark  # only what uses Spark needs it

    return ":".join(map(str, (Path(pyspark.__file__).parent / "jars").glob("hadoop-client-*.jar")))


def _wait(url: str, server: "subprocess.Popen[bytes]", folder: Path) -> None:
    deadline = time.monotonic() + _PATIENCE
    while time.monotonic() < deadline and server.poll() is None:
        try:
            urlopen(url, timeout=5).close()  # of loopback
        except (URLError, OSError):
            time.sleep(0.2)
        else:
            return
    raise AssertionError((folder / "server.log").read_text()[-2000:])
