"""A staging root in S3, or in a store with S3's protocol, through Hadoop's S3A.

A document is one object, written by one request (`staging/store/conditional_put.py`). Folders are what keys have in
common: none is made, and none is renamed.

    put_if_absent    PUT; if it was refused, or not answered, HEAD
    get              HEAD, GET
    written, digest  HEAD
    files, keys      LIST for each thousand
    delete           LIST for each thousand, and POST for each 250
"""

from __future__ import annotations

import uuid
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import closing
from functools import cached_property
from typing import Any

from graph_compiler.errors import DamagedDocumentError
from graph_compiler.spark_runtime.spark_internals.java import connected_jvm
from graph_compiler.spark_runtime.stores.hadoop_calls import file_system, java_errors
from graph_compiler.spark_runtime.stores.s3a_uploads import S3aUploads
from graph_compiler.staging.store.conditional_put import PUT_ID, put_once
from graph_compiler.staging.store.deferred_files import DeferredFile
from graph_compiler.staging.store.staging_store import MOST_BYTES, BucketStore, StoredFile
from graph_compiler.stores.s3a import S3A

_HEADER = f"header.{PUT_ID}"
_HEADER_OF_WRITES = f"fs.s3a.create.header.{PUT_ID}"
_COPIED_AT_ONCE = 1 << 20
_SETTINGS = {
    # No question before a write: a conditional one needs none.
    "fs.s3a.performance.flags": "create,delete,mkdir,open",
    "fs.s3a.directory.marker.retention": "keep",
}


class S3aStore(BucketStore):
    """The store of one bucket, with the settings and the identity of Spark's JVM."""

    promises = S3A.promises

    def __init__(self, place: str) -> None:
        self._files, self._path = file_system(place, _SETTINGS)

    def put_if_absent(self, key: str, content: bytes) -> bool:
        """Write on the condition that there is no object; False if there is one of another write."""

        def write(own: str) -> None:
            with java_errors(key):
                self._write(key, content, own)

        return put_once(write, lambda: self.file_id(key))

    def put(self, key: str, content: bytes) -> None:
        """Replace an object."""
        with java_errors(key):
            self._write(key, content, None)

    def get(self, key: str, *, most: int = MOST_BYTES) -> bytes | None:
        """Return the content of an object; raises DamagedDocumentError if it is too large."""
        try:
            with java_errors(key):
                status = self._files.getFileStatus(self._path(key))
                if status.isDirectory():
                    raise DamagedDocumentError(key, "is a folder")
                if (size := int(status.getLen())) > most:
                    raise DamagedDocumentError(key, f"has {size:,} bytes, more than {most:,}")
                opened = self._files.openFile(self._path(key)).withFileStatus(status).build().get()
                with closing(opened):
                    return bytes(opened.readNBytes(size))
        except FileNotFoundError:
            return None

    def written(self, key: str) -> float | None:
        """Return when an object was written, None if there is none."""
        status = self._status(key)
        return None if status is None else status.getModificationTime() / 1000

    def keys(self, folder: str) -> list[str]:
        """List the objects directly below a folder, without hidden ones."""
        found = (each for each in self._listed(folder) if not each.isDirectory())
        names = (str(each.getPath().getName()) for each in found)
        return [f"{folder}/{name}" for name in names if not name.startswith(".")]

    def folders(self, folder: str) -> list[str]:
        """List the names that more than one key may have in common, directly below a folder."""
        found = (each for each in self._listed(folder) if each.isDirectory())
        return sorted(str(each.getPath().getName()) for each in found)

    def files(self, folder: str, *, most: int | None = None) -> Iterator[StoredFile]:
        """Yield every object below a folder, with its ETag."""
        try:
            with java_errors(folder):
                found = self._files.listFiles(self._path(folder), True)
                seen = 0
                while found.hasNext():
                    seen += 1
                    if most is not None and seen > most:
                        raise DamagedDocumentError(folder, f"has more than {most:,} entries")
                    each = found.next()
                    yield StoredFile(
                        key=str(each.getPath().toString()),
                        bytes=int(each.getLen()),
                        written=each.getModificationTime() / 1000,
                        digest=_etag(each),
                    )
        except FileNotFoundError:
            return

    def digest(self, key: str) -> str | None:
        status = self._status(key)
        return None if status is None else _etag(status)

    def is_there(self, key: str) -> bool:
        """Whether there is an object, or one below it."""
        return self._status(key) is not None

    def delete(self, key: str) -> bool:
        """Delete an object, and all below it; False if some of it could not be deleted."""
        try:
            # S3A's own deletion of a folder writes an empty object in place of the folder around it.
            self.delete_files([key, *(file.key for file in self.files(key))])
        except OSError:
            return False
        return True

    def writing_folder(self, folder: str, writer: str) -> str:
        """Return where Spark has to write, so that files appear in a folder when they are completed."""
        return self._uploads.writing_folder(folder, writer)

    def written_files(self, writing: str, names: Sequence[str]) -> tuple[DeferredFile, ...]:
        """Return these files that were written there."""
        return self._uploads.written_files(writing, names)

    def defer_copy(self, key: str, to: str, writing: str) -> tuple[str, DeferredFile]:
        """Copy an object into an upload; its bytes pass through this process's JVM."""
        own, name = uuid.uuid4().hex, to.rpartition("/")[2]
        with java_errors(key), closing(self._files.open(self._path(key))) as opened:
            builder = self._files.createFile(self._path(f"{writing}/{name}")).recursive().overwrite(True)
            stream = builder.must(_HEADER_OF_WRITES, own).build()
            try:
                connected_jvm().org.apache.hadoop.io.IOUtils.copyBytes(opened, stream, _COPIED_AT_ONCE, False)
            except BaseException:
                stream.abort()
                raise
            stream.close()
        (file,) = self.written_files(writing, [name])
        return own, file

    def all_written_files(self, writing: str, *, but: Collection[str] = ()) -> tuple[DeferredFile, ...]:
        """Return all files that were written there but these."""
        return self._uploads.all_written_files(writing, but=but)

    def complete(self, files: Sequence[DeferredFile]) -> None:
        """Let files appear."""
        self._uploads.complete(files)

    def abort(self, files: Sequence[DeferredFile]) -> None:
        """Remove files that have not appeared."""
        self._uploads.abort(files)

    def abort_uploads(self, folder: str, keys: Collection[str]) -> frozenset[str]:
        """Abort all uploads to these files that are not completed."""
        return self._uploads.abort_uploads(folder, keys)

    def delete_files(self, keys: Iterable[str]) -> None:
        """Delete exactly these objects."""
        self._uploads.delete_files(keys)

    @cached_property
    def _uploads(self) -> S3aUploads:
        return S3aUploads(self._files, self._path)

    def _write(self, key: str, content: bytes, own: str | None) -> None:
        builder = self._files.createFile(self._path(key)).recursive().overwrite(True)
        if own is not None:
            builder.must("fs.option.create.conditional.overwrite", True)
            builder.must(_HEADER_OF_WRITES, own)
        stream = builder.build()
        try:
            stream.write(bytearray(content))
        except BaseException:
            stream.abort()
            raise
        stream.close()

    def file_id(self, key: str) -> str | None:
        """Return the id of the write that made an object, "" if it has none, None if there is no object."""
        try:
            with java_errors(key):
                found = self._files.getXAttrs(self._path(key))
        except FileNotFoundError:
            return None
        return bytes(found[_HEADER]).decode() if _HEADER in found else ""

    def _status(self, key: str) -> Any:
        try:
            with java_errors(key):
                return self._files.getFileStatus(self._path(key))
        except FileNotFoundError:
            return None

    def _listed(self, folder: str) -> list[Any]:
        try:
            with java_errors(folder):
                return list(self._files.listStatus(self._path(folder)))
        except FileNotFoundError:
            return []


def _etag(status: Any) -> str | None:
    """Return the ETag of a listed object; S3A's status is an EtagSource."""
    found = status.getEtag()
    return None if found is None else str(found).strip('"')
