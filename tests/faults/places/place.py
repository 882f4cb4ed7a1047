"""Where the runs of the harness stage, and where their sources and targets are: on a disk, in a bucket, in HDFS."""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Protocol
from urllib.parse import urlsplit

from graph_compiler.declaration.connectors.file_uris import local_path
from graph_compiler.object_stores.s3_store import ObjectStore
from graph_compiler.staging.store.hdfs_store import HdfsStore
from graph_compiler.staging.store.local_store import LocalStore
from graph_compiler.staging.store.staging_store import StagingStore
from graph_compiler.webhdfs.webhdfs_client import WebHdfsClient
from tests.faults.places import bucket_requests, name_node_events
from tests.faults.plan import IN_A_STORE, OF_A_POSITION, Plan
from tests.harness import hdfs_server
from tests.harness.object_stores import CONNECTOR, access_at, object_server
from tests.harness.staging_in_stores import download, staging_variables, upload

BUCKET = "lake"
_S3 = "s3a://"
_ENDPOINT = "GRAPH_COMPILER_FAULTS_ENDPOINT"
"""The environment variable by which drivers know the endpoint of a bucket, or the port of WebHDFS."""


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

    def uploads(self, folder: Path) -> tuple[str, ...]:  # noqa: ARG002  # the interface
        return ()

    def watch(self, plan: Plan, run: str, plans: Path, run_id: str) -> None:
        pass

    def environment(self) -> dict[str, str]:
        return {}

    def spark_settings(self) -> dict[str, str]:
        return {}


@dataclass(frozen=True, slots=True, kw_only=True)
class InStore:
    """A store on this host: files are copied there and back, and its server is told what it lets happen.

    `place` is the URI that stands for the folder; a part of it is new, since a store may remember. `connection` is
    Airflow's, `endpoint` what drivers of the harness know. `follow` takes a plan, its run, the folder of plans and the
    run's id.
    """

    folder: Path
    place: str
    store: StagingStore
    connection: Mapping[str, object]
    endpoint: str
    settings: Mapping[str, str]
    follow: Callable[[Plan, str, str, str], None]
    pending: Callable[[str], Iterable[str]] = lambda _: ()

    @property
    def root(self) -> str:
        return f"{self.place}/staging"

    def uri(self, folder: Path) -> str:
        return f"{self.place}/{folder.relative_to(self.folder)}"

    def push(self, folder: Path) -> None:
        upload(self.store, folder, self.uri(folder))

    def pull(self, folder: Path) -> None:
        shutil.rmtree(folder)
        folder.mkdir()
        download(self.store, self.uri(folder), folder)

    def uploads(self, folder: Path) -> tuple[str, ...]:
        return tuple(self.pending(self.uri(folder)))

    def watch(self, plan: Plan, run: str, plans: Path, run_id: str) -> None:
        if plan.point in (*IN_A_STORE, *OF_A_POSITION):
            self.follow(plan, run, str(plans), run_id)

    def environment(self) -> dict[str, str]:
        return staging_variables(self.root, self.connection) | {_ENDPOINT: self.endpoint}

    def spark_settings(self) -> dict[str, str]:
        return dict(self.settings)


@contextmanager
def in_bucket(folder: Path) -> Iterator[Place]:
    """Yield a bucket of a server that is ended."""
    with object_server(folder) as server:
        server.make_bucket(BUCKET)
        yield InStore(
            folder=folder,
            place=f"{_S3}{BUCKET}/faults-{int(time.time())}",
            store=_bucket(server.endpoint),
            connection=server.connection,
            endpoint=server.endpoint,
            settings=CONNECTOR,
            follow=lambda *of: server.follows(bucket_requests.rule(*of)),
            pending=partial(server.uploads, BUCKET),
        )


@contextmanager
def in_hdfs(folder: Path) -> Iterator[Place]:
    """Yield an HDFS that is ended."""
    (folder / "hdfs").mkdir(exist_ok=True)
    with hdfs_server.hdfs_server(folder / "hdfs") as server:
        yield InStore(
            folder=folder,
            place=f"{server.place()}/faults",
            store=_hdfs(f"{server.place()}/", str(server.http)),
            connection=hdfs_server.connection_at(server.http),
            endpoint=str(server.http),
            settings={},
            follow=lambda *of: server.follows(name_node_events.rule(*of)),
        )


def store_of(key: str) -> StagingStore:
    """Return the store of a key in a process of a run."""
    if local_path(key) is not None:
        return LocalStore()
    endpoint = os.environ[_ENDPOINT]
    return _bucket(endpoint) if key.startswith(_S3) else _hdfs(key, endpoint)


def _bucket(endpoint: str) -> StagingStore:
    return ObjectStore(BUCKET, access_at(endpoint))


def _hdfs(key: str, port: str) -> StagingStore:
    return HdfsStore(WebHdfsClient(urlsplit(key).netloc, hdfs_server.access_at(int(port))))
