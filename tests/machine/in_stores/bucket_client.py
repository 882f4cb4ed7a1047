"""The store of a bucket as one process reaches it: the requests of `spark_runtime/stores/s3a_store.py`, without a JVM.

Where Spark writes, S3A leaves `<name>.pending` for each file whose parts it has sent; so do the writers of this room.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

from graph_compiler.errors import DamagedDocumentError, StagingError
from graph_compiler.staging.publications.preparations import WRITING
from graph_compiler.staging.store.conditional_put import put_once
from graph_compiler.staging.store.deferred_files import DeferredFile
from graph_compiler.staging.store.staging_store import MOST_BYTES, BucketStore, StoredFile
from tests.machine.in_stores.bucket import Bucket
from tests.machine.in_stores.server import Stored
from tests.machine.in_stores.troubles import Line

PENDING = ".pending"
_PAGE = 2
"""How many objects a request deletes."""
_LISTED = 5
"""How many objects a request lists."""


@dataclass(frozen=True)
class BucketClient(BucketStore):
    """A bucket, and the line to it."""

    bucket: Bucket
    line: Line
    promises = replace(BucketStore.promises, deferred_files=True)

    def put_if_absent(self, key: str, content: bytes) -> bool:
        def write(own: str) -> None:
            self._send("put once", key, lambda: self.bucket.put(key, content, own, only_if_absent=True))

        return put_once(write, lambda: None if (found := self._head(key)) is None else found.id)

    def put(self, key: str, content: bytes) -> None:
        self._send("put", key, lambda: self.bucket.put(key, content))

    def get(self, key: str, *, most: int = MOST_BYTES) -> bytes | None:
        try:
            found: Stored = self._send("get", key, lambda: self.bucket.get(key))
        except FileNotFoundError:
            return None
        if len(found.content) > most:
            raise DamagedDocumentError(key, f"has {len(found.content):,} bytes")
        return found.content

    def written(self, key: str) -> float | None:
        return None if (found := self._head(key)) is None else found.written

    def keys(self, folder: str) -> list[str]:
        names = (key.removeprefix(f"{folder}/") for key, _ in self._listed(folder))
        return [f"{folder}/{name}" for name in names if "/" not in name and not name.startswith(".")]

    def folders(self, folder: str) -> list[str]:
        names = (key.removeprefix(f"{folder}/") for key, _ in self._listed(folder))
        return sorted({name.partition("/")[0] for name in names if "/" in name})

    def files(self, folder: str, *, most: int | None = None) -> Iterator[StoredFile]:
        found = self._listed(folder)
        if most is not None and len(found) > most:
            raise DamagedDocumentError(folder, f"has more than {most:,} entries")
        for key, each in found:
            yield StoredFile(key, len(each.content), each.written, each.etag)

    def digest(self, key: str) -> str | None:
        return None if (found := self._head(key)) is None else found.etag

    def is_there(self, key: str) -> bool:
        return self._head(key) is not None or bool(self._listed(key))

    def delete(self, key: str) -> bool:
        try:
            self.delete_files([key, *(file.key for file in self.files(key))])
        except OSError:
            return False
        return True

    def writing_folder(self, folder: str, writer: str) -> str:
        return f"{folder}/{WRITING}{writer}/__base"

    def written_files(self, writing: str, names: Sequence[str]) -> tuple[DeferredFile, ...]:
        found = tuple(self._deferred(f"{writing}/{name}{PENDING}") for name in names)
        if any(each is None for each in found):
            raise StagingError(f"a file in {writing} was not deferred")
        return tuple(each for each in found if each is not None)

    def all_written_files(self, writing: str, *, but: Collection[str] = ()) -> tuple[DeferredFile, ...]:
        left = {f"{writing}/{name}{PENDING}" for name in but}
        keys = [key for key, _ in self._listed(writing) if key.endswith(PENDING)]
        found = (self._deferred(key) for key in keys if key not in left)
        return tuple(each for each in found if each is not None)

    def file_id(self, key: str) -> str | None:
        return None if (found := self._head(key)) is None else found.id

    def defer_copy(self, key: str, to: str, writing: str) -> tuple[str, DeferredFile]:  # noqa: ARG002  # nothing is left there
        found: Stored = self._send("get", key, lambda: self.bucket.get(key))
        own = f"write-{self.bucket.number}"
        upload = self._send("upload", to, lambda: self.bucket.upload(to, found.content, own))
        return own, DeferredFile(key=to, bytes=len(found.content), ticket=upload)

    def complete(self, files: Sequence[DeferredFile]) -> None:
        self._each("complete", files, self.bucket.complete)

    def abort(self, files: Sequence[DeferredFile]) -> None:
        self._each("abort", files, self.bucket.abort)

    def abort_uploads(self, folder: str, keys: Collection[str]) -> frozenset[str]:
        uploads = self._send("uploads", folder, lambda: dict(self.bucket.uploads))
        own = {id: key for id, (key, _) in uploads.items() if key in keys}
        for id, key in own.items():
            with suppress(FileNotFoundError):
                self._send("abort", key, lambda id=id: self.bucket.abort(id))
        return frozenset(own.values())

    def delete_files(self, keys: Iterable[str]) -> None:
        wanted = list(keys)
        for first in range(0, len(wanted), _PAGE):
            page = wanted[first : first + _PAGE]
            self._send("delete", page[0], lambda page=page: self.bucket.delete(page))

    def _each(self, call: str, files: Sequence[DeferredFile], do: Any) -> None:
        """Send a request for each file, even if another one fails, as several threads do."""
        errors = []
        for file in files:
            try:
                self._send(call, file.key, lambda file=file: do(file.ticket))
            except FileNotFoundError:
                pass
            except OSError as error:
                errors.append(error)
        if errors:
            raise errors[0]

    def _deferred(self, key: str) -> DeferredFile | None:
        content = self.get(key)
        return None if content is None else DeferredFile(**json.loads(content))

    def _head(self, key: str) -> Stored | None:
        try:
            return self._send("head", key, lambda: self.bucket.get(key))  # type: ignore[no-any-return]
        except FileNotFoundError:
            return None

    def _listed(self, folder: str) -> list[tuple[str, Stored]]:
        found: list[tuple[str, Stored]] = []
        while True:
            after = found[-1][0] if found else folder
            page = self._send("list", folder, lambda after=after: self._page(folder, after))
            found += page
            if len(page) < _LISTED:
                return found

    def _page(self, folder: str, after: str) -> list[tuple[str, Stored]]:
        return [each for each in self.bucket.below(folder) if each[0] > after][:_LISTED]

    def _send(self, call: str, key: str, do: Any) -> Any:
        # `0.intent.json` is also an "intent": troubles may be asked for at these.
        return self.line.send(call, key, do, key.rpartition("/")[2].split(".")[-2:][0])
