"""A store in one process, for tests; a subclass may make every call fail."""

from __future__ import annotations

import errno
import hashlib
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import PurePosixPath
from typing import TypeVar

from graph_compiler.errors import DamagedDocumentError
from graph_compiler.staging.store.staging_store import MOST_BYTES, StoredFile
from graph_compiler.stores.store_kind import Promises

Answer = TypeVar("Answer")


class InMemoryStore:
    """Contents by key. Listings are deliberately in an unexpected order, so that no caller relies on one."""

    promises = Promises(conditional_put=True, atomic_move=True, atomic_exchange=True, atomic_replace=True)

    def __init__(self) -> None:
        self.content: dict[str, bytes] = {}
        self._times: dict[str, float] = {}
        self._lock = threading.Lock()

    def put_if_absent(self, key: str, content: bytes) -> bool:
        """Store the content, unless the key exists."""
        return self._step(f"put {_name(key)}", lambda: self._put(key, content, over=False))

    def put(self, key: str, content: bytes) -> None:
        """Store the content, even if the key exists."""
        self._step(f"put {_name(key)}", lambda: self._put(key, content, over=True))

    def get(self, key: str, *, most: int = MOST_BYTES) -> bytes | None:
        """Return the content of a key."""
        content = self._step(f"get {_name(key)}", lambda: self.content.get(key))
        if content is not None and len(content) > most:
            raise DamagedDocumentError(key, f"has {len(content):,} bytes, more than {most:,}")
        return content

    def written(self, key: str) -> float | None:
        """Return when a key was written."""
        return self._step(f"stat {_name(key)}", lambda: self._times.get(key))

    def keys(self, folder: str) -> list[str]:
        """Return the keys directly below a folder."""
        parent = PurePosixPath(folder)
        return self._step(
            "list",
            lambda: sorted((one for one in self.content if PurePosixPath(one).parent == parent), reverse=True),
        )  # fmt: skip

    def folders(self, folder: str) -> list[str]:
        """Return the folders directly below a folder: keys name them."""
        parts = len(PurePosixPath(folder).parts)
        found = self._step("list", lambda: [PurePosixPath(one).parts for one in self._below(folder)])
        return sorted({one[parts] for one in found if len(one) > parts + 1})

    def files(self, folder: str, *, most: int | None = None) -> Iterator[StoredFile]:
        """Yield every key below a folder."""
        found = self._step("list", lambda: self._below(folder))
        if most is not None and len(found) > most:
            raise DamagedDocumentError(folder, f"has more than {most:,} entries")
        for key in found:
            if (content := self.content.get(key)) is not None:
                yield StoredFile(key, len(content), self._times[key])

    def digest(self, key: str) -> str | None:
        """Return a digest of the content."""
        content = self._step(f"get {_name(key)}", lambda: self.content.get(key))
        return None if content is None else hashlib.sha256(content).hexdigest()

    def why_differs(self, key: str, digest: str) -> str | None:
        """Return a message if the content has another digest, None if it has this one."""
        return None if self.digest(key) == digest else "it was changed"

    def why_damaged(self, key: str) -> str | None:
        """Return None: there are no checksums."""

    def make_folder(self, folder: str) -> None:
        """Do nothing: a folder is only a common prefix of keys."""

    def is_open_to_group(self, folder: str) -> bool:  # noqa: ARG002  # the interface
        """Return False: there is one user."""
        return False

    def is_there(self, key: str) -> bool:
        """Whether a key, or one below it, exists."""
        return self._step(f"stat {_name(key)}", lambda: key in self.content or bool(self._below(key)))

    def move(self, folder: str, to: str) -> bool:
        """Move all keys below a folder."""
        return self._step(f"move {_name(folder)}", lambda: self._move(folder, to))

    def exchange(self, one: str, other: str) -> bool:
        """Exchange all keys below two folders."""
        return self._step(f"exchange {_name(one)}", lambda: self._exchange(one, other))

    def replace(self, file: str, to: str) -> bool:
        """Move a key over another."""
        return self._step(f"replace {_name(to)}", lambda: self._replace(file, to))

    def file_id(self, key: str) -> str | None:
        """Return a digest of the content."""
        return self.digest(key)

    def delete(self, key: str) -> bool:
        """Delete a key, and all keys below it."""
        self._step(f"delete {_name(key)}", lambda: self._forget([key, *self._below(key)]))
        return True

    def discard_empty(self, folder: str) -> None:
        """Do nothing: a folder is a common prefix of keys."""

    def _step(self, what: str, do: Callable[[], Answer]) -> Answer:  # noqa: ARG002  # for subclasses
        with self._lock:
            return do()

    def _replace(self, file: str, to: str) -> bool:
        if file not in self.content:
            return False
        return self._put(to, self.content.pop(file), over=True)

    def _put(self, key: str, content: bytes, *, over: bool) -> bool:
        if key in self.content and not over:
            return False
        self.content[key], self._times[key] = content, time.time()
        return True

    def _below(self, folder: str) -> list[str]:
        return sorted((one for one in self.content if one.startswith(f"{folder}/")), reverse=True)

    def _move(self, folder: str, to: str) -> bool:
        found = self._below(folder)
        if found and self._below(to):
            raise FileExistsError(errno.EEXIST, "exists", folder, None, to)
        for key in found:
            moved = f"{to}{key.removeprefix(folder)}"
            self.content[moved], self._times[moved] = self.content.pop(key), self._times.pop(key)
        return bool(found)

    def _exchange(self, one: str, other: str) -> bool:
        aside = f"{one}.aside"
        self._move(one, aside)
        self._move(other, one)
        return self._move(aside, other)

    def _forget(self, keys: list[str]) -> None:
        for key in keys:
            self.content.pop(key, None)
            self._times.pop(key, None)


def _name(key: str) -> str:
    return PurePosixPath(key).name
