"""A pgbouncer in front of the tests' PostgreSQL, which gives a client a connection for one transaction at a time.

Debian's package is installed if that is allowed (root, apt-get); otherwise, tests that need it are skipped.
"""

import os
import pwd
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.harness.postgres import Postgres

_PROGRAM = "/usr/sbin/pgbouncer"
_PATIENCE = 20.0
"""Seconds until the pooler answers."""


@dataclass(frozen=True)
class Pooler:
    """A running pooler, for the server's database of the same name."""

    port: int
    database: str

    def url(self, parameters: str = "") -> str:
        """Return the url of the database behind the pooler."""
        return f"jdbc:postgresql://127.0.0.1:{self.port}/{self.database}{parameters}"


@contextmanager
def running_pooler(server: Postgres, connections: int) -> Iterator[Pooler]:
    """Start a pooler with so many connections to a server, and stop it; skip if there is none."""
    _install()
    folder = Path(tempfile.mkdtemp(prefix="pooler-"))
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    users, settings = folder / "users", folder / "pooler.ini"
    users.write_text(f'"{server.user}" "{server.password}"\n')
    settings.write_text(
        f"[databases]\n* = host=127.0.0.1 port={server.port}\n"
        f"[pgbouncer]\nlisten_addr = 127.0.0.1\nlisten_port = {port}\nunix_socket_dir =\n"
        f"auth_type = scram-sha-256\nauth_file = {users}\npool_mode = transaction\n"
        f"default_pool_size = {connections}\nquery_wait_timeout = 20\n"
        "ignore_startup_parameters = extra_float_digits\n"
    )
    user = "postgres" if os.geteuid() == 0 else pwd.getpwuid(os.geteuid()).pw_name
    if os.geteuid() == 0:
        for path in (folder, users, settings):
            shutil.chown(path, user)
    prefix = ["setpriv", f"--reuid={user}", f"--regid={user}", "--init-groups"]
    with (folder / "log").open("w") as log:
        pooler = subprocess.Popen(
            [*(prefix if os.geteuid() == 0 else []), _PROGRAM, str(settings)], stdout=log, stderr=log
        )
    try:
        _wait_for(port, pooler)
        yield Pooler(port=port, database=server.database)
    finally:
        pooler.kill()
        pooler.wait()
        shutil.rmtree(folder, ignore_errors=True)


def _install() -> None:
    if not Path(_PROGRAM).exists() and os.geteuid() == 0 and shutil.which("apt-get"):
        environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
        for command in (["update"], ["install", "-y", "--no-install-recommends", "pgbouncer"]):
            subprocess.run(["apt-get", "-qq", *command], env=environment, capture_output=True, check=False)
    if not Path(_PROGRAM).exists():
        pytest.skip("needs pgbouncer (apt-get install, as root)")


def _wait_for(port: int, pooler: "subprocess.Popen[bytes]") -> None:
    until = time.monotonic() + _PATIENCE
    while time.monotonic() < until and pooler.poll() is None:
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.05)
    raise AssertionError(f"pgbouncer does not answer; exit code {pooler.poll()}")
