"""Stand-ins for pods of drivers: each runs what its pod would run, as a process of this host.

The command, its program, code, settings and descriptor are those that were posted, but the driver's address. Image,
volumes, network and executors of Kubernetes are not tested: with `spark.kubernetes.driver.master`, the driver is alone.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.kubernetes.recording_api import RecordingApi, Resource

ALONE = {"spark.kubernetes.driver.master": "local[2]"}
"""Settings of the tasks whose drivers are played."""
_OF_AN_IMAGE = ("HOME", "JAVA_HOME", "LANG", "PATH")
_OF_THIS_HOST = {
    "spark.driver.host": "127.0.0.1",
    "spark.driver.port": "0",
    "spark.driver.blockManager.port": "0",
    "spark.ui.enabled": "false",
}


@dataclass
class LocalDrivers:
    """The drivers of a server's pods; `folder` is where they run, and has their logs."""

    api: RecordingApi
    folder: Path
    processes: dict[str, subprocess.Popen[bytes]] = field(default_factory=dict)

    def run(self, pod: Resource) -> None:
        """Run the driver of a pod until it ends, and say how it has ended."""
        name = pod["metadata"]["name"]
        file = self.folder / f"{name}.properties"
        file.write_text(self._settings(pod))
        _, option, _, *program = pod["spec"]["containers"][0]["args"]
        own = [word for pair in _OF_THIS_HOST.items() for word in ("--conf", "=".join(pair))]
        environment = {key: os.environ[key] for key in _OF_AN_IMAGE if key in os.environ}
        environment |= {"PYSPARK_PYTHON": sys.executable, "SPARK_LOCAL_IP": "127.0.0.1"}
        with (self.folder / f"{name}.log").open("wb") as log:
            process = self.processes[name] = subprocess.Popen(
                ["spark-submit", *own, "--deploy-mode", "client", option, str(file), *program],
                env=environment,
                cwd=self.folder,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
            self.api.set_phase(name, "Running")
            code = process.wait()
        with suppress(KeyError):  # it is deleted
            self.api.set_phase(name, "Failed" if code else "Succeeded")

    def end(self, name: str) -> None:
        """End the driver of a pod that is deleted."""
        process = self.processes[name]
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)

    def _settings(self, pod: Resource) -> str:
        """Return the file that a pod mounts; spark-submit posts it after the pod."""
        volumes: list[Any] = pod["spec"]["volumes"]
        (name,) = [it["configMap"]["name"] for it in volumes if "configMap" in it]
        deadline = time.monotonic() + 30
        while ("configmaps", name) not in self.api.written:
            assert time.monotonic() < deadline, "no ConfigMap has been posted"
            time.sleep(0.1)
        return str(self.api.written["configmaps", name]["data"]["spark.properties"])
