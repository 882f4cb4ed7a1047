"""A Spark standalone cluster on loopback: a master and two workers, each as on a host of its own.

A worker sees the folders that all hosts share, its own disk, and an environment with Spark and pandas. It sees neither
the project nor its environment, nor /tmp: what a function imports must travel. A cluster may do without shared folders.
"""

from __future__ import annotations

import json
import os
import secrets
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.request import urlopen

ROOT = Path(__file__).parents[2]
ENVIRONMENT = ROOT / ".venv-executor"
"""The environment of `requirements-executor.lock`; `make test-cluster` makes it."""
NAMESPACE = Path(__file__).with_name("in_a_namespace.sh")
_SECONDS = 300


def free_ports(number: int) -> list[int]:
    """Return ports of loopback that nobody uses now."""
    probes = [socket.socket() for _ in range(number)]
    try:
        for probe in probes:
            probe.bind(("127.0.0.1", 0))
        return [probe.getsockname()[1] for probe in probes]
    finally:
        for probe in probes:
            probe.close()


@dataclass
class Cluster:
    """The daemons of a cluster, by name: `master`, `worker-1`, `worker-2`, `history`; each can be killed and started.

    `shared` is the folder that all hosts see under one path.
    """

    folder: Path
    shared: Path
    port: int
    web_port: int
    history_port: int
    users: dict[str, tuple[int, int]] = field(default_factory=dict)
    """User and group of a daemon, by its name; those of the test if it is not there."""
    copies: dict[str, Path] = field(default_factory=dict)
    """More folders that each host has, by their names in `folder`."""
    is_sharing: bool = True
    """Whether hosts see `shared`."""
    daemons: dict[str, subprocess.Popen[bytes]] = field(default_factory=dict)

    @property
    def master(self) -> str:
        """Return the address of the master, as spark-submit takes it."""
        return f"spark://127.0.0.1:{self.port}"

    @property
    def python(self) -> Path:
        """Return the executors' Python, as they see it."""
        return self.folder / "environment" / "bin" / "python"

    @property
    def configuration(self) -> Path:
        """Return a folder for SPARK_CONF_DIR: the secret with which master, workers and drivers know each other."""
        return self.folder / "conf"

    def conf(self) -> dict[str, str]:
        """Return what a driver's settings must say."""
        return {
            "spark.pyspark.python": str(self.python),
            "spark.driver.host": "127.0.0.1",
            "spark.ui.enabled": "false",
            "spark.cores.max": "2",
            "spark.executor.memory": "512m",
        }

    @property
    def events(self) -> Path:
        """Return the folder of event logs, which the history server reads."""
        return self.shared / "events"

    def history(self, path: str) -> str:
        """Return a page of the history server, which must be started; raises OSError if it has none."""
        with urlopen(f"http://127.0.0.1:{self.history_port}/{path}", timeout=10) as answer:
            return bytes(answer.read()).decode()

    def disk(self, name: str) -> Path:
        """Return the folder of a daemon's own disk."""
        return self.folder / name

    def log(self, name: str) -> str:
        """Return what a daemon has said."""
        return (self.folder / f"{name}.log").read_text(errors="replace")

    def state(self) -> Any:
        """Return what the master says of itself."""
        with urlopen(f"http://127.0.0.1:{self.web_port}/json/", timeout=10) as answer:
            return json.load(answer)

    def start(self, name: str) -> None:
        """Start a daemon that does not run."""
        home = self.folder / "environment" / "lib"
        disk = self.disk(name)
        disk.mkdir(exist_ok=True)
        seen = [self.folder / "environment", self.configuration, disk]
        seen += [self.folder / copy for copy in self.copies]
        if self.is_sharing:
            seen.append(self.shared)
        spark_class = 'exec "$0"/python*/site-packages/pyspark/bin/spark-class "$@"'
        as_user = []
        if name in self.users:
            user, group = self.users[name]
            os.chown(disk, user, group)
            as_user = ["setpriv", f"--reuid={user}", f"--regid={group}", "--clear-groups"]
        command = [
            *("unshare", "--mount", "--propagation", "private", str(NAMESPACE), str(ROOT)),
            *(*map(str, seen), "--", *as_user, "/bin/sh", "-c", spark_class, str(home)),
            *self._command(name),
        ]
        with (self.folder / f"{name}.log").open("ab") as log:
            self.daemons[name] = subprocess.Popen(
                command, env=self._environment(name), stdout=log, stderr=log, start_new_session=True
            )

    def kill(self, name: str) -> None:
        """Kill a daemon, and what it has started, as a host that fails does."""
        daemon = self.daemons.pop(name)
        for pid in [*_descendants(daemon.pid), daemon.pid]:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        daemon.wait()

    def executors(self, name: str) -> list[int]:
        """Return the processes of a worker's executors."""
        return [
            pid for pid in _descendants(self.daemons[name].pid) if b"CoarseGrainedExecutorBackend" in _arguments(pid)
        ]

    def wait_for_workers(self, number: int) -> None:
        """Wait until so many workers are registered."""
        self.wait(lambda: _alive(self.state()) == number, f"{number} workers")

    def wait(self, holds: Callable[[], bool], what: str) -> None:
        """Wait until something holds; raises AssertionError with the daemons' logs."""
        deadline = time.monotonic() + _SECONDS
        while time.monotonic() < deadline:
            with suppress(OSError, ValueError):
                if holds():
                    return
            time.sleep(0.5)
        logs = "\n".join(f"{name}: {self.log(name)[-3000:]}" for name in self.daemons)
        raise AssertionError(f"waited {_SECONDS} s for {what}\n{logs}")

    def _command(self, name: str) -> list[str]:
        if name == "master":
            ports = ["--port", str(self.port), "--webui-port", str(self.web_port)]
            return ["org.apache.spark.deploy.master.Master", "--host", "127.0.0.1", *ports]
        if name == "history":
            return ["org.apache.spark.deploy.history.HistoryServer"]
        return [
            "org.apache.spark.deploy.worker.Worker",
            *("--host", host_of(name), "--webui-port", "0", "-c", "1", "-m", "1g"),
            *("-d", str(self.disk(name) / "work"), self.master),
        ]

    def _environment(self, name: str) -> dict[str, str]:
        """Return the environment of a daemon: nothing of the project's."""
        recovery = self.disk("master") / "recovery"
        own = {
            "SPARK_CONF_DIR": str(self.configuration),
            "SPARK_DAEMON_MEMORY": "256m",
            "SPARK_LOCAL_DIRS": str(self.disk(name) / "local"),
            "SPARK_LOCAL_IP": host_of(name),
            "SPARK_HISTORY_OPTS": f"-Dspark.history.ui.port={self.history_port} "
            f"-Dspark.history.fs.logDirectory=file://{self.events}",
            "SPARK_MASTER_OPTS": f"-Dspark.deploy.recoveryMode=FILESYSTEM -Dspark.deploy.recoveryDirectory={recovery}",
        }
        kept = ("HOME", "JAVA_HOME", "LANG", "PATH")
        return {name: os.environ[name] for name in kept if name in os.environ} | own


@contextmanager
def standalone_cluster(
    folder: Path,
    users: dict[str, tuple[int, int]] | None = None,
    *,
    copies: dict[str, Path] | None = None,
    is_sharing: bool = True,
) -> Iterator[Cluster]:
    """Run a cluster in a folder, without a history server; it ends with the block."""
    port, web_port, history_port = free_ports(3)
    cluster = Cluster(
        folder=folder,
        shared=folder / "shared",
        port=port,
        web_port=web_port,
        history_port=history_port,
        users=users or {},
        copies=copies or {},
        is_sharing=is_sharing,
    )
    for each in (cluster.shared, cluster.events, cluster.configuration):
        each.mkdir(parents=True)
    for name, place in {"environment": ENVIRONMENT, **cluster.copies}.items():
        (folder / name).symlink_to(place)
    settings = {"spark.authenticate": "true", "spark.authenticate.secret": secrets.token_hex(16)}
    settings |= {"spark.network.crypto.enabled": "true"}
    text = "".join(f"{key} {value}\n" for key, value in settings.items())
    (cluster.configuration / "spark-defaults.conf").write_text(text)
    try:
        for name in ("master", "worker-1", "worker-2"):
            cluster.start(name)
        cluster.wait_for_workers(2)
        yield cluster
    finally:
        for name in [*cluster.daemons]:
            cluster.kill(name)


def host_of(name: str) -> str:
    """Return a daemon's address; executors of one address would read each other's files instead of asking for them."""
    return {"worker-1": "127.0.0.2", "worker-2": "127.0.0.3"}.get(name, "127.0.0.1")


def _alive(state: Any) -> int:
    return sum(worker["state"] == "ALIVE" for worker in state["workers"])


def _descendants(pid: int) -> list[int]:
    """Return the processes below a process, the last ones first."""
    try:
        tasks = [*Path(f"/proc/{pid}/task").iterdir()]
        children = [int(it) for task in tasks for it in (task / "children").read_text().split()]
    except OSError:
        return []
    return [each for child in children for each in (*_descendants(child), child)]


def _arguments(pid: int) -> bytes:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return b""
