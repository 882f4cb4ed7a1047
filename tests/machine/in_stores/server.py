"""What a store in memory shows the machine, which looks past all requests."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Protocol

from graph_compiler.staging.store.staging_store import StagingStore
from tests.machine.in_stores.troubles import Line


@dataclass(frozen=True)
class Stored:
    """A file; `id` is that of its write, `written` in seconds."""

    content: bytes
    id: str
    written: float

    @property
    def etag(self) -> str:
        """Return the digest that the store keeps."""
        return hashlib.md5(self.content, usedforsecurity=False).hexdigest()


class Server(Protocol):
    """Files by key; `now` in seconds, `number` is the last that has given something its name."""

    now: float
    number: int

    def watch(self, changed: Callable[[str], None]) -> None:
        """Call this after each change of a file, with its key."""

    def put(self, key: str, content: bytes) -> None:
        """Write a file, in place of another."""

    def get(self, key: str) -> Stored:
        """Return a file; raises FileNotFoundError."""

    def below(self, folder: str) -> list[tuple[str, Stored]]:
        """List the files below a folder."""

    def delete(self, keys: Iterable[str]) -> None:
        """Delete exactly these files."""


@dataclass(frozen=True)
class Ground:
    """A kind of store: what its places are called, and how processes reach it.

    `client_of` returns the store as the process with a line sees it. `write` is what executors do, whom no trouble
    meets: it takes a folder, a file's name, its content; a task attempt that does not count leaves something, too.
    """

    name: str
    place: str
    server: Server
    client_of: Callable[[Line], StagingStore]
    write: Callable[[str, str, bytes], None]

    @property
    def root(self) -> str:
        """Return the staging root."""
        return f"{self.place}/staging"

    @property
    def target(self) -> str:
        """Return the folder that sinks publish to."""
        return f"{self.place}/out"

    @property
    def scheme(self) -> str:
        """Return by what the product opens the store."""
        return self.place.partition(":")[0]


def find(server: Server, key: str) -> Stored | None:
    """Return a file, None if there is none."""
    try:
        return server.get(key)
    except FileNotFoundError:
        return None
