"""The store itself, on either side: box://shelf/box/x is <folder>/shelf/box/x."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import ClassVar

from acme_box.store import BOX
from graph_compiler.extending.stores import MOST_BYTES, LocalStore, Promises, StoredFile


@dataclass(frozen=True)
class Boxes(LocalStore):
    """A folder of this host, whose paths begin with `box://`."""

    promises: ClassVar[Promises] = BOX.promises
    folder: str

    def put_if_absent(self, key: str, content: bytes) -> bool:
        return super().put_if_absent(self._path(key), content)

    def put(self, key: str, content: bytes) -> None:
        super().put(self._path(key), content)

    def get(self, key: str, *, most: int = MOST_BYTES) -> bytes | None:
        return super().get(self._path(key), most=most)

    def written(self, key: str) -> float | None:
        return super().written(self._path(key))

    def keys(self, folder: str) -> list[str]:
        return [self._key(path) for path in super().keys(self._path(folder))]

    def folders(self, folder: str) -> list[str]:
        return super().folders(self._path(folder))

    def files(self, folder: str, *, most: int | None = None) -> Iterator[StoredFile]:
        return (replace(file, key=self._key(file.key)) for file in super().files(self._path(folder), most=most))

    def digest(self, key: str) -> str | None:
        return super().digest(self._path(key))

    def why_differs(self, key: str, digest: str) -> str | None:
        return super().why_differs(self._path(key), digest)

    def why_damaged(self, key: str) -> str | None:
        return super().why_damaged(self._path(key))

    def make_folder(self, folder: str) -> None:
        super().make_folder(self._path(folder))

    def is_open_to_group(self, folder: str) -> bool:
        return super().is_open_to_group(self._path(folder))

    def is_there(self, key: str) -> bool:
        return super().is_there(self._path(key))

    def move(self, folder: str, to: str) -> bool:
        return super().move(self._path(folder), self._path(to))

    def delete(self, key: str) -> bool:
        return super().delete(self._path(key))

    def discard_empty(self, folder: str) -> None:
        super().discard_empty(self._path(folder))

    def _path(self, key: str) -> str:
        return key.replace("box:/", self.folder, 1)

    def _key(self, path: str) -> str:
        return path.replace(self.folder, "box:/", 1)
