"""A PostgreSQL for the tests: in a separate folder, on a free port of loopback, removed afterwards.

Its database `postgres` sorts text by bytes, `english` as English does. Both have the collation IGNORES_CASE.

Debian's packages are installed if that is allowed (root, apt-get); otherwise, tests that need them are skipped.
"""

import os
import pwd
import secrets
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from graph_compiler import Secret

JAR = Path("/usr/share/java/postgresql.jar")
DRIVER = "org.postgresql.Driver"
PASSWORD = Secret("warehouse", "password")
_PACKAGES = ("postgresql", "libpostgresql-jdbc-java")
ENGLISH = "english"
"""The database whose collation is English (ICU)."""
IGNORES_CASE = "collations.ignores_case"
"""The name of a collation for which a and A are equal."""
_COLLATIONS = (
    "CREATE SCHEMA collations; CREATE COLLATION collations.ignores_case "
    "(provider = icu, locale = 'und-u-ks-level2', deterministic = false)"
)
_PATIENCE = 60.0
"""Seconds for statements of psql."""


@dataclass(frozen=True)
class Postgres:
    """A running server; `user` is a superuser of it, and must give `password`."""

    port: int
    password: str
    programs: Path
    control: tuple[str, ...]
    user: str = "etl"
    database: str = "postgres"

    @property
    def url(self) -> str:
        return f"jdbc:postgresql://127.0.0.1:{self.port}/{self.database}"

    def restart(self) -> None:
        """Stop the server as a failing machine does, and start it again; every connection is gone."""
        _run(*self.control, "-m", "immediate", "restart")

    def sql(self, statements: str) -> list[tuple[str, ...]]:
        """Run statements with psql; return the rows of the last as text. What waits for a lock fails after a minute."""
        done = subprocess.run(
            [*self._psql, "-c", statements],
            env=self._environment,
            capture_output=True,
            text=True,
            check=False,
            timeout=_PATIENCE,
        )
        assert done.returncode == 0, done.stderr
        return [tuple(line.split("\t")) for line in done.stdout.splitlines()]

    def session(self, statements: str) -> "subprocess.Popen[bytes]":
        """Run statements with psql, and stay connected: what is written to its standard input runs next."""
        psql = subprocess.Popen(
            self._psql, env=self._environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
        )
        assert psql.stdin is not None
        assert psql.stdout is not None
        psql.stdin.write(f"{statements}\n\\echo ready\n".encode())
        psql.stdin.flush()
        while psql.stdout.readline().strip() not in (b"ready", b""):
            pass
        return psql

    @property
    def _psql(self) -> list[str]:
        return [
            *(str(self.programs / "psql"), "-X", "-q", "-A", "-t", "-F", "\t"),
            *("-h", "127.0.0.1", "-p", str(self.port), "-U", self.user, "-d", self.database),
            *("-v", "ON_ERROR_STOP=1"),
        ]

    @property
    def _environment(self) -> dict[str, str]:
        return {**os.environ, "PGPASSWORD": self.password, "PGCLIENTENCODING": "UTF8"}


@contextmanager
def running_postgres() -> Iterator[Postgres]:
    """Start a server, and stop it; skip if there is none and none can be installed."""
    programs = _programs()
    folder = Path(tempfile.mkdtemp(prefix="postgres-"))
    password = secrets.token_hex(8)
    (folder / "password").write_text(password)
    # The server refuses to run as root.
    user = "postgres" if os.geteuid() == 0 else pwd.getpwuid(os.geteuid()).pw_name
    if os.geteuid() == 0:
        shutil.chown(folder, user)
        shutil.chown(folder / "password", user)
    as_user = ["setpriv", f"--reuid={user}", f"--regid={user}", "--init-groups"]
    prefix = as_user if os.geteuid() == 0 else []
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    data, log = folder / "data", folder / "log"
    control = [*prefix, str(programs / "pg_ctl"), "-D", str(data), "-w"]
    try:
        _run(
            *prefix,
            *(str(programs / "initdb"), "-D", str(data), "-U", "etl", "-A", "scram-sha-256"),
            *("-E", "UTF8", "--locale=C", f"--pwfile={folder / 'password'}"),
        )
        # Spark keeps the catalogs of all tests of tables, and each of them two connections.
        options = f"-c listen_addresses=127.0.0.1 -c port={port} -c fsync=off -c max_connections=500 -k {folder}"
        _run(*control, "-l", str(log), "-o", options, "start")
        try:
            started = (*control, "-l", str(log), "-o", options)
            server = Postgres(port=port, password=password, programs=programs, control=started)
            server.sql(
                f"CREATE DATABASE {ENGLISH} TEMPLATE template0 LOCALE 'C' LOCALE_PROVIDER icu ICU_LOCALE 'en-US'"
            )
            for database in (server, replace(server, database=ENGLISH)):
                database.sql(_COLLATIONS)
            yield server
        finally:
            _run(*control, "-m", "immediate", "stop")
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _programs() -> Path:
    found = _find_programs()
    if (found is None or not JAR.exists()) and os.geteuid() == 0 and shutil.which("apt-get"):
        environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
        for command in (["update"], ["install", "-y", "--no-install-recommends", *_PACKAGES]):
            subprocess.run(["apt-get", "-qq", *command], env=environment, capture_output=True, check=False)
        found = _find_programs()
    if found is None or not JAR.exists():
        pytest.skip(f"needs {' and '.join(_PACKAGES)} (apt-get install, as root)")
    return found


def _find_programs() -> Path | None:
    folders = sorted(Path("/usr/lib/postgresql").glob("*/bin"))
    return next((folder for folder in reversed(folders) if (folder / "initdb").exists()), None)


def _run(*command: str) -> None:
    # Not captured: the server inherits the output, and a pipe would stay open as long as it runs.
    with tempfile.TemporaryFile("w+") as output:
        done = subprocess.run(command, stdout=output, stderr=output, cwd="/", check=False)
        output.seek(0)
        assert done.returncode == 0, output.read()
