"""Where the runs of the harness stage, and where their sources and targets are: a disk, or a bucket."""

from __future__ import annotations

import json
import os
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from graph_compiler.object_stores.s3_access import S3Access
from graph_compiler.object_stores.s3_store import ObjectStore
from graph_compiler.staging.store.local_store import LocalStore
from graph_compiler.staging.store.staging_store import StagingStore
from tests.faults.plan import Plan
from tests.faults.requests import is_in_a_request, rule
from tests.harness.object_stores import CONNECTOR, KEY, SECRET, ObjectServer

BUCKET = "lake"
_URI = f"s3a://{BUCKET}"
_ENDPOINT = "GRAPH_COMPILER_FAULTS_ENDPOINT"
"""The environment variable by which drivers know the bucket's server."""


class Place(Protocol):
    """What the harness needs of a place; files of sources and targets have a copy below the harness's folder."""

    @property
    def folder(self) -> Path:
        """Return the harness's folder."""

    @property
    def root(self) -> str:
        """Return the staging root."""

    @property
    def store(self) -> StagingStore:
        """Return the store of the root."""

    def uri(self, folder: Path) -> str:
        """Return what a pipeline is told instead of a folder of the harness."""

    def push(self, folder: Path) -> None:
        """Bring a folder's files to the place."""

    def pull(self, folder: Path) -> None:
        """Replace a folder's files by those at the place."""

    def uploads(self, folder: Path) -> tuple[str, ...]:
        """Return the files below a folder that are neither completed nor aborted."""

    def watch(self, plan: Plan, run: str, plans: Path, run_id: str) -> None:
        """Let a fault happen where drivers cannot see that a run is at a plan's point."""

    def environment(self) -> dict[str, str]:
        """Return what Airflow and drivers are told."""

    def spark_settings(self) -> dict[str, str]:
        """Return what Spark is told."""


@dataclass(frozen=True, slots=True)
class OnDisk:
    """The harness's own folder."""

    folder: Path
    store = LocalStore()

    @property
    def root(self) -> str:
        return str(self.folder / "home" / "staging")

    def uri(self, folder: Path) -> str:
        return str(folder)

    def push(self, folder: Path) -> None:
        pass

    def pull(self, folder: Path) -> None:
        pass

    def uploads(self, folder: Path) -> tuple[str, ...]:  # noqa: ARG002  # as in a bucket
        return ()

    def watch(self, plan: Plan, run: str, plans: Path, run_id: str) -> None:
        pass

    def environment(self) -> dict[str, str]:
        return {}

    def spark_settings(self) -> dict[str, str]:
        return {}


@dataclass(frozen=True, slots=True)
class InBucket:
    """A bucket with a prefix of its own, since a store that is not moto remembers."""

    folder: Path
    server: ObjectServer
    prefix: str

    @property
    def root(self) -> str:
        return f"{_URI}/{self.prefix}/staging"

    @property
    def store(self) -> StagingStore:
        return ObjectStore(BUCKET, self.server.access)

    def uri(self, folder: Path) -> str:
        return f"{_URI}/{self.prefix}/{folder.relative_to(self.folder)}"

    def push(self, folder: Path) -> None:
        store, place = self.store, self.uri(folder)
        for path in folder.rglob("*"):
            if path.is_file() and not path.name.startswith("."):
                store.put(f"{place}/{path.relative_to(folder)}", path.read_bytes())

    def pull(self, folder: Path) -> None:
        store, place = self.store, self.uri(folder)
        found = {file.key: store.get(file.key) or b"" for file in store.files(place)}
        shutil.rmtree(folder)
        folder.mkdir()
        for key, content in found.items():
            path = folder / key.removeprefix(f"{place}/")
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)

    def uploads(self, folder: Path) -> tuple[str, ...]:
        return tuple(self.server.uploads(BUCKET, self.uri(folder)))

    def watch(self, plan: Plan, run: str, plans: Path, run_id: str) -> None:
        rules = [rule(plan, run, str(plans), run_id)] if is_in_a_request(plan.point) else []
        self.server.follows(*rules)

    def environment(self) -> dict[str, str]:
        extra = {"endpoint_url": self.server.endpoint}
        connection = {"conn_type": "aws", "login": KEY, "password": SECRET, "extra": extra}
        return {
            "AIRFLOW__GRAPH_COMPILER__STAGING_ROOT": self.root,
            "AIRFLOW__GRAPH_COMPILER__STAGING_CONN_ID": "lake",
            "AIRFLOW_CONN_LAKE": json.dumps(connection),
            _ENDPOINT: self.server.endpoint,
        }

    def spark_settings(self) -> dict[str, str]:
        return CONNECTOR


def is_in_a_bucket(key: str) -> bool:
    """Whether a key of a run is one in a bucket."""
    return key.startswith(_URI)


def store_of(key: str) -> StagingStore:
    """Return the store of a key in a process of a run."""
    if not is_in_a_bucket(key):
        return LocalStore()
    access = S3Access(
        endpoint=os.environ[_ENDPOINT], is_path_style=True, access_key=KEY, secret_key=SECRET
    )
    return ObjectStore(BUCKET, access)
