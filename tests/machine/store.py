"""A store in which every call may fail."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import PurePath
from typing import TypeVar, cast

from graph_compiler.staging.store.staging_store import MOST_BYTES, StagingStore, StoredFile
from graph_compiler.stores.store_kind import Promises
from tests.machine.faults import Fate

Answer = TypeVar("Answer")


@dataclass(frozen=True)
class FatefulStore:
    """A store as one execution sees it."""

    store: StagingStore
    fate: Fate

    @property
    def promises(self) -> Promises:
        return self.store.promises

    def put_if_absent(self, key: str, content: bytes) -> bool:
        return self._call("put", key, lambda: self.store.put_if_absent(key, content))

    def put(self, key: str, content: bytes) -> None:
        self._call("put", key, lambda: self.store.put(key, content))

    def get(self, key: str, *, most: int = MOST_BYTES) -> bytes | None:
        return self._call("get", key, lambda: self.store.get(key, most=most))

    def written(self, key: str) -> float | None:
        return self._call("stat", key, lambda: self.store.written(key))

    def keys(self, folder: str) -> list[str]:
        return self._call("keys", folder, lambda: self.store.keys(folder))

    def folders(self, folder: str) -> list[str]:
        return self._call("keys", folder, lambda: self.store.folders(folder))

    def files(self, folder: str, *, most: int | None = None) -> Iterator[StoredFile]:
        return iter(self._call("keys", folder, lambda: list(self.store.files(folder, most=most))))

    def digest(self, key: str) -> str | None:
        return self._call("get", key, lambda: self.store.digest(key))

    def why_differs(self, key: str, digest: str) -> str | None:
        return self._call("get", key, lambda: self.store.why_differs(key, digest))

    def why_damaged(self, key: str) -> str | None:
        return self._call("get", key, lambda: self.store.why_damaged(key))

    def make_folder(self, folder: str) -> None:
        self._call("put", folder, lambda: self.store.make_folder(folder))

    def is_open_to_group(self, folder: str) -> bool:
        return self._call("stat", folder, lambda: self.store.is_open_to_group(folder))

    def is_there(self, key: str) -> bool:
        return self._call("stat", key, lambda: self.store.is_there(key))

    def move(self, folder: str, to: str) -> bool:
        return self._call("move", folder, lambda: self.store.move(folder, to))

    def exchange(self, one: str, other: str) -> bool:
        return self._call("move", one, lambda: self.store.exchange(one, other))

    def replace(self, file: str, to: str) -> bool:
        return self._call("move", file, lambda: self.store.replace(file, to))

    def file_id(self, key: str) -> str | None:
        return self._call("get", key, lambda: self.store.file_id(key))

    def delete(self, key: str) -> bool:
        return self._call("delete", key, lambda: self.store.delete(key))

    def discard_empty(self, folder: str) -> None:
        self._call("delete", folder, lambda: self.store.discard_empty(folder))

    def _call(self, kind: str, key: str, do: Callable[[], Answer]) -> Answer:
        return cast("Answer", self.fate.call(kind, PurePath(key).name, do))
