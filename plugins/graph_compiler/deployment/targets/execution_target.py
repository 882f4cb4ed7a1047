"""An execution target as a value: what Flink's PipelineExecutorFactory is, for the masters of Spark.

    ACME = ExecutionTarget(name="acme", masters=r"acme://.+", master_form="acme://HOST", …)

Another package registers its own under `graph_compiler.execution_targets` (`extensions.py`).
"""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass
from enum import StrEnum
from urllib.parse import quote

from graph_compiler.declaration.resources.application import DeployMode
from graph_compiler.identifiers import listing


class SecretWay(StrEnum):
    """How the values of secrets reach a driver, without being arguments."""

    ENVIRONMENT = "environment"
    """The driver inherits the environment of spark-submit."""
    FILE = "file"
    """A file below the staging root that only its owner can read; the driver removes it when it starts."""
    KUBERNETES_SECRET = "Kubernetes secret"
    """The cluster has the values; the pod's specification names them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DriverPlace:
    """One deploy mode of a target: whether it can be used, and what is true of a driver that runs there."""

    refused: str | None = None
    """Why the target does not have this deploy mode, None if it does."""
    ignores: tuple[str, ...] = ()
    """Resources of a group that have no effect, by their names in its declaration."""
    secrets: SecretWay | None = None
    """How secrets reach the driver, None if they cannot: pipelines with secrets are refused."""
    is_elsewhere: bool = False
    """Whether the driver runs on another host: its program is shipped, and nothing of this host's environment."""
    file_prefix: str = ""
    """What makes a URI of a file that the driver's host sees by itself; without it, Spark uploads the file."""
    is_tracked: bool = False
    """Whether Airflow's provider can find the application again after the task's process has died."""
    conf: tuple[tuple[str, str], ...] = ()
    """Settings of Spark, unless they are set."""

    def uri(self, path: str) -> str:
        """Return how spark-submit names a file below the staging root; in a URI, it decodes a run id's %3A."""
        if not path.startswith("/"):
            return spark_uri(path)
        return f"{self.file_prefix}{quote(path)}" if self.file_prefix else path


def spark_uri(key: str) -> str:
    """Return a key of any store as a URI; Spark decodes it once."""
    scheme, separator, path = key.rpartition("://")
    return f"{scheme or 'file'}{separator or '://'}{quote(path, errors='surrogateescape')}"


@dataclass(frozen=True, slots=True, kw_only=True)
class ExecutionTarget:
    """A kind of Spark master, and what is true of the applications that it runs.

    `name` is the value of `execution.target`. `masters` is a regular expression that matches a whole master URL;
    messages show `master_form` in its place.
    """

    name: str
    masters: str
    master_form: str
    client: DriverPlace
    cluster: DriverPlace
    executors_see_driver_files: bool = False
    """Whether executors run in the driver's process: nothing is shipped to them."""
    needed_with: tuple[tuple[str, str], ...] = ()
    """Pairs of a group's settings: the first has no effect without the second."""
    provider: str | None = None
    """A package that Airflow's Spark provider needs for this target."""
    why_ignored: str | None = None
    """Why settings are ignored, if it is not because of the deploy mode."""

    def has_master(self, master: str) -> bool:
        """Whether a master URL is one of this target's."""
        return re.fullmatch(self.masters, master) is not None

    def place(self, mode: DeployMode) -> DriverPlace:
        """Return what is true of a driver in this deploy mode."""
        return self.cluster if mode is DeployMode.CLUSTER else self.client

    @property
    def deploy_modes(self) -> tuple[DeployMode, ...]:
        """Return the deploy modes that it has."""
        return tuple(mode for mode in DeployMode if self.place(mode).refused is None)

    def ignored_settings(self, given: Collection[str], mode: DeployMode | None) -> tuple[str, ...]:
        """Return which of a group's resources have no effect in this mode; in any mode, if it is None."""
        modes = self.deploy_modes if mode is None else (mode,)
        ignored = set.intersection(*(set(self.place(each).ignores) for each in modes))
        ignored |= {name for name, other in self.needed_with if other not in given}
        return tuple(name for name in given if name in ignored)

    def ignored_words(self, given: Collection[str], master: str, mode: DeployMode) -> str | None:
        """Return a message with the resources of a group that the master ignores, None if there are none."""
        if not (ignored := self.ignored_settings(given, mode)):
            return None
        why = f": {self.why_ignored}" if self.why_ignored else f" in {mode} mode"
        return f"{master} ignores {listing(ignored)}{why}"
