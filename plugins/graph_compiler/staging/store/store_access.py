"""How Airflow's side reaches the stores of places that are not on a disk: worker, API server and command line.

the staging root's store      with the Airflow connection that `staging_conn_id` names, if there is one
any other                     with the identity of the process
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache, partial
from importlib.util import find_spec
from typing import Any, Self, TypeVar, cast

from graph_compiler.declaration.connectors.file_uris import local_path, store_part
from graph_compiler.errors import StagingError
from graph_compiler.extensions import load_reference
from graph_compiler.staging.store.staging_store import StagingStore
from graph_compiler.staging.store.stores import StoreOpener, open_with
from graph_compiler.stores.known_stores import kind_of_place
from graph_compiler.stores.store_kind import StoreKind

_ACCESS_SECONDS = 60.0


@dataclass(frozen=True, slots=True, kw_only=True)
class StoreConnection:
    """The fields of an Airflow connection that count."""

    conn_id: str
    type: str
    host: str | None
    port: int | None
    login: str | None
    password: str | None
    extra: Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class StoreAccess:
    """What reaches a store; made without arguments, the identity of the process.

    A kind of store that needs more has a subclass. This class is also the access to a staging root on a disk.
    """

    @classmethod
    def of(cls, connection: StoreConnection) -> Self:
        """Return what a connection says; raises StagingError for what it has and is not supported."""
        raise StagingError(
            f"Airflow connection '{connection.conn_id}' of the staging root is not used by the root's store\n"
            "  hint: remove [graph_compiler] staging_conn_id"
        )

    @property
    def has_keys(self) -> bool:
        """Whether the environment has keys: they do not reach a driver on another host."""
        return False

    def spark_settings(self) -> dict[str, str]:
        """Return what Spark's JVM needs besides the environment, as settings for spark-submit."""
        return {}

    def environment(self) -> dict[str, str]:
        """Return variables for spark-submit's process."""
        return {}


@dataclass(frozen=True, slots=True, kw_only=True)
class RootAccess:
    """The staging root, and its connection; each is asked when it is needed, and may raise an error."""

    root: Callable[[], str]
    connection: Callable[[], StoreConnection | None]

    def to_root(self) -> StoreAccess:
        """Return what Spark needs to reach the staging root: nothing for one on a disk."""
        kind = kind_of_place(self.root())
        return StoreAccess() if kind is None else self.to(kind)

    def to(self, kind: StoreKind) -> StoreAccess:
        """Return the access to the stores of a kind; raises StagingError."""
        access = cast("type[StoreAccess]", load_reference(kind.access, kind.scheme))
        root = self.root()
        is_its = kind.serves_disk_roots if local_path(root) is not None else kind is kind_of_place(root)
        connection = self.connection() if is_its else None
        return access() if connection is None else access.of(connection)

    def open_stores(self) -> None:
        """Open stores in this process with these accesses, from now on."""
        open_with(lambda kind: opener(lambda: self.to(kind), partial(_open, kind)))


Access = TypeVar("Access")


def opener(access: Callable[[], Access], store_at: Callable[[str, Access], StagingStore]) -> StoreOpener:
    """Return a function that opens a place's store by bucket or host and access; `access` is asked once a minute.

    Credentials are replaced while a process runs. `access` may raise StagingError.
    """

    @lru_cache(maxsize=1)
    def current(_turn: int) -> Access:
        return access()

    def open_store(place: str) -> StagingStore:
        authority = str(store_part(place)).partition("://")[2]
        return store_at(authority, current(int(time.monotonic() // _ACCESS_SECONDS)))

    return open_store


@lru_cache(maxsize=16)
def _open(kind: StoreKind, authority: str, access: StoreAccess) -> StagingStore:
    needed = kind.python_package
    if needed is not None and find_spec(needed.module) is None:
        raise StagingError(
            f"the staging root is in bucket '{authority}', and this Python has no {needed.module}\n"
            f"  hint: {needed.install}"
        )
    return cast("StagingStore", load_reference(kind.airflow, kind.scheme)(authority, access))
