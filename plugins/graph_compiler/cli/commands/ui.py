"""`graph-compiler ui`: Airflow's own UI with this project's pipelines, for this machine only."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated
from urllib.error import URLError
from urllib.request import urlopen

import typer

from graph_compiler.cli.console import speaking_plainly, standard_output
from graph_compiler.cli.running.embedded_airflow import (
    UI_PASSWORDS,
    AirflowFailedError,
    EmbeddedAirflow,
    starting_this_airflow,
)
from graph_compiler.cli.running.signals import ended_as_by_ctrl_c
from graph_compiler.projects.airflow_configuration import variable_of
from graph_compiler.staging.store.folder_access import make_private_folder

USER = PASSWORD = "admin"
_LOOPBACK = "127.0.0.1"
_SECONDS_TO_START = 300
_SECONDS_TO_END = 30
_SECONDS_BETWEEN = 0.2
_SECONDS_TO_ANSWER = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Standalone:
    """An `airflow standalone`: its home, its port on the loopback interface, its users, all with one password."""

    home: Path
    port: int
    users: Mapping[str, str]

    @property
    def url(self) -> str:
        """Return the address of the UI."""
        return f"http://{_LOOPBACK}:{self.port}"

    def settings(self) -> dict[str, str]:
        """Return its variables, on top of those of any Airflow of the project; writes the password file."""
        passwords = self.home / UI_PASSWORDS
        passwords.touch(mode=0o600)
        passwords.write_text(json.dumps(dict.fromkeys(self.users, PASSWORD)))
        users = ",".join(f"{name}:{role}" for name, role in self.users.items())
        return {
            "AIRFLOW__API__HOST": _LOOPBACK,
            "AIRFLOW__API__PORT": str(self.port),
            "AIRFLOW__API__WORKERS": "1",
            "AIRFLOW__CORE__EXECUTION_API_SERVER_URL": f"{self.url}/execution/",
            "AIRFLOW__CORE__PARALLELISM": "4",
            "AIRFLOW__CORE__SIMPLE_AUTH_MANAGER_PASSWORDS_FILE": str(passwords),
            "AIRFLOW__CORE__SIMPLE_AUTH_MANAGER_USERS": users,
        }


def ui(port: Annotated[int, typer.Option(help="Port on 127.0.0.1; other machines cannot reach it.")] = 8080) -> None:
    """Start Airflow's UI with the pipelines, ready to be triggered; Ctrl-C stops it.

    Its Airflow has its own home and database. `history` and `replay` find its runs.
    """
    console = standard_output()
    airflow = EmbeddedAirflow(Path.cwd())
    home = airflow.ui_home
    make_private_folder(home)
    server = Standalone(home=home, port=port, users={USER: "admin"})
    log = home / "standalone.log"
    shared = {"AIRFLOW_CONFIG": str(airflow.configuration_file), variable_of("staging_root"): airflow.staging_root}
    environment = starting_this_airflow(airflow.child_environment(), home)
    environment |= server.settings() | shared | {"AIRFLOW_HOME": str(home)}
    with speaking_plainly(), ended_as_by_ctrl_c(), log.open("w") as output:
        _refuse_taken(port)
        process = subprocess.Popen(
            [sys.executable, "-m", "airflow", "standalone"],
            env=environment,
            stdout=output,
            stderr=output,
            start_new_session=True,
        )
        try:
            with console.status("starting Airflow (half a minute; the first time more)"):
                _wait(server, process, log)
            console.print(f"{server.url}   user {USER}, password {PASSWORD}", highlight=False)
            console.print(f"Logs: {log}\nCtrl-C stops it.", highlight=False, soft_wrap=True)
            process.wait()
        except KeyboardInterrupt:
            console.print("ending")
        finally:
            end(process)


def _refuse_taken(port: int) -> None:
    """Raise AirflowFailedError for a port that is in use: the server there would be mistaken for ours."""
    with socket.socket() as asking:
        asking.settimeout(_SECONDS_TO_ANSWER)
        if asking.connect_ex((_LOOPBACK, port)) == 0:
            raise AirflowFailedError(
                f"another process listens on {_LOOPBACK}:{port}\n  hint: stop it, or use another --port"
            )


def _wait(server: Standalone, process: subprocess.Popen[bytes], log: Path) -> None:
    """Wait until the UI answers. Raises AirflowFailedError if it does not."""
    deadline = time.monotonic() + _SECONDS_TO_START
    while process.poll() is None and time.monotonic() < deadline:
        try:
            with urlopen(f"{server.url}/api/v2/version", timeout=5):
                return
        except (URLError, OSError):
            time.sleep(1)
    raise AirflowFailedError(f"Airflow's UI did not start\n  log: {log}")


def end(process: subprocess.Popen[bytes]) -> None:
    """End a process with all its child processes, some of which outlive it."""
    deadline = time.monotonic() + _SECONDS_TO_END
    with suppress(ProcessLookupError):  # the group is gone
        os.killpg(process.pid, signal.SIGTERM)
        while time.monotonic() < deadline:
            process.poll()
            os.killpg(process.pid, 0)
            time.sleep(_SECONDS_BETWEEN)
        os.killpg(process.pid, signal.SIGKILL)
