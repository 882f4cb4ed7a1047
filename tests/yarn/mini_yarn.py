"""Hadoop's own test cluster, YARN in one process: as on hosts that see neither the project nor its environment."""

from __future__ import annotations

import json
import os
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.request import urlopen
from xml.etree import ElementTree

from tests.cluster.standalone_cluster import ENVIRONMENT, NAMESPACE, ROOT

JARS = ROOT / "tests" / "yarn" / "jars"
"""The jars of `pom.xml`; `make test-yarn` fetches them."""
_SETTINGS = "yarn-site.xml"
_SECONDS = 120


@dataclass(frozen=True)
class Yarn:
    """A running cluster. `shared` is the folder that all hosts see under one path."""

    folder: Path
    shared: Path

    @property
    def configuration(self) -> Path:
        """Return a folder for HADOOP_CONF_DIR."""
        return self.folder / "conf"

    @property
    def python(self) -> Path:
        """Return the Python of the nodes, as they see it."""
        return self.folder / "environment" / "bin" / "python"

    @property
    def resource_manager(self) -> str:
        """Return the address of the ResourceManager's REST API."""
        settings = ElementTree.parse(self.configuration / _SETTINGS).getroot()
        found = {it.findtext("name"): it.findtext("value") for it in settings}
        return f"http://{found['yarn.resourcemanager.webapp.address']}"

    def conf(self) -> dict[str, str]:
        """Return the settings of an application."""
        (packages,) = (self.folder / "environment" / "lib").glob("python*/site-packages")
        return {
            "spark.pyspark.python": str(self.python),
            "spark.yarn.jars": f"local:{packages}/pyspark/jars/*",
            "spark.yarn.stagingDir": f"file:{self.shared}/uploads",
            "spark.executor.instances": "1",
            "spark.driver.memory": "512m",
            "spark.executor.memory": "512m",
            "spark.ui.enabled": "false",
        }

    def applications(self) -> dict[str, tuple[str, str]]:
        """Return the state and the final status of each application, by its id."""
        with urlopen(f"{self.resource_manager}/ws/v1/cluster/apps", timeout=10) as answer:
            apps = json.load(answer)["apps"] or {"app": []}
        return {app["id"]: (app["state"], app["finalStatus"]) for app in apps["app"]}

    def files(self) -> Iterator[Path]:
        """Yield the files of nodes and containers: what they have fetched, and their logs."""
        return (path for path in (self.folder / "run").rglob("*") if path.is_file())


@contextmanager
def mini_yarn(folder: Path) -> Iterator[Yarn]:
    """Run a cluster in a folder; it ends with the block."""
    yarn = Yarn(folder, folder / "shared")
    for name in ("shared/uploads", "conf", "run"):
        (folder / name).mkdir(parents=True)
    (folder / "environment").symlink_to(ENVIRONMENT)
    (folder / "jars").symlink_to(JARS)
    (folder / "run" / "MiniYarn.java").write_bytes((ROOT / "tests/yarn/MiniYarn.java").read_bytes())
    seen = [folder / "environment", folder / "jars", yarn.configuration, yarn.shared]
    seen.append(folder / "run")
    spark = "environment/lib/python*/site-packages/pyspark/jars"
    start = (
        f'cd "$1/run" && exec java -cp "$(ls -d $1/jars/* $1/{spark}/hadoop-client-* '
        f"$1/{spark}/log4j-* $1/{spark}/slf4j-* $1/{spark}/snappy-* | tr '\\n' ':')\" "
        f'MiniYarn.java "$1/conf/{_SETTINGS}"'
    )
    command = ["unshare", "--mount", "--propagation", "private", str(NAMESPACE), str(ROOT)]
    with (folder / "log").open("ab") as log:
        process = subprocess.Popen(
            [*command, *map(str, seen), "--", "/bin/sh", "-c", start, "start", str(folder)],
            env={name: os.environ[name] for name in ("HOME", "PATH") if name in os.environ}
            | {"JAVA_HOME": os.environ["JAVA_HOME"], "LANG": "C.UTF-8"},
            stdin=subprocess.PIPE,
            stdout=log,
            stderr=log,
        )
    try:
        _wait_for(yarn.configuration / _SETTINGS, process, folder / "log")
        yield yarn
    finally:
        assert process.stdin is not None
        process.stdin.close()
        try:
            process.wait(30)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _wait_for(settings: Path, process: subprocess.Popen[bytes], log: Path) -> None:
    deadline = time.monotonic() + _SECONDS
    while time.monotonic() < deadline and process.poll() is None:
        if settings.exists() and settings.read_text().rstrip().endswith("</configuration>"):
            return
        time.sleep(0.5)
    raise AssertionError(f"YARN did not start\n{log.read_text(errors='replace')[-5000:]}")
