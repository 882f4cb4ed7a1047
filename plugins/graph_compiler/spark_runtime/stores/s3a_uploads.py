"""Files in S3 that appear when their upload is completed, by S3A's own committer for `magic` paths.

A file that is written below `__magic_job-…/__base` in a folder is an upload in parts to its name in that folder. S3A
does not complete it. It leaves `<name>.pending` with what is needed for that, and an empty object of the name.
Executors need nothing for it but S3A.

`SinglePendingCommit`, `CommitOperations`, and their names of paths, private to Hadoop: 3.4.3 and 3.5.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, suppress
from typing import Any, TypeVar

from graph_compiler.errors import StagingError
from graph_compiler.spark_runtime.spark_internals.java import connected_jvm
from graph_compiler.spark_runtime.stores.hadoop_calls import java_errors
from graph_compiler.staging.publications.preparations import WRITING
from graph_compiler.staging.store.deferred_files import DeferredFile
from graph_compiler.stores.s3a import S3A

_PENDING = ".pending"
_STATISTICS = "iostatistics"
_AT_ONCE = 8
"""How many requests are sent at once."""

Item = TypeVar("Item")
Answer = TypeVar("Answer")


class S3aUploads:
    """The uploads below a file system that are not completed."""

    def __init__(self, files: Any, path: Callable[[str], Any]) -> None:
        self._files, self._path = files, path
        commit = connected_jvm().org.apache.hadoop.fs.s3a.commit
        self._operations = commit.impl.CommitOperations(files)
        self._serializer = commit.files.SinglePendingCommit.serializer()

    def writing_folder(self, folder: str, writer: str) -> str:
        """Return the folder whose files appear in `folder`."""
        return f"{folder}/{WRITING}{writer}/__base"

    def written_files(self, writing: str, names: Sequence[str]) -> tuple[DeferredFile, ...]:
        """Read what S3A has left beside each of these files; raises StagingError if it has left nothing."""

        def read(name: str) -> DeferredFile:
            key = f"{writing}/{name}"
            try:
                return self._read(f"{key}{_PENDING}")
            except FileNotFoundError:
                raise StagingError(
                    f"{key} was uploaded, but S3A left no `.pending` file for it\n"
                    "  hint: fs.s3a.committer.magic.enabled must be true, which it is by default"
                ) from None

        return tuple(_at_once(read, names))

    def all_written_files(self, writing: str, *, but: Collection[str] = ()) -> tuple[DeferredFile, ...]:
        """Read what S3A has left beside all files but these."""
        found = []
        with suppress(FileNotFoundError), java_errors(writing):
            listed = self._files.listFiles(self._path(writing), True)
            while listed.hasNext():
                found.append(str(listed.next().getPath().toString()))
        left = {f"{writing}/{name}{_PENDING}" for name in but}
        keys = [key for key in found if key.endswith(_PENDING) and key not in left]
        return tuple(_at_once(self._read, keys))

    def complete(self, files: Sequence[DeferredFile]) -> None:
        """Complete uploads; one that is not there has been completed or aborted."""

        def one(file: DeferredFile) -> None:
            try:
                with suppress(FileNotFoundError), java_errors(file.key):
                    self._operations.commitOrFail(self._serializer.fromJson(file.ticket))
            except OSError:
                # Not every store says that there is no such upload: Ceph 16 answers 500.
                if self._is_pending(file):
                    raise

        _at_once(one, files)

    def abort(self, files: Sequence[DeferredFile]) -> None:
        """Abort uploads; one that is not there has been completed or aborted."""

        def one(file: DeferredFile) -> None:
            with suppress(FileNotFoundError), java_errors(file.key):
                self._operations.abortSingleCommit(self._serializer.fromJson(file.ticket))

        _at_once(one, files)

    def abort_uploads(self, folder: str, keys: Collection[str]) -> frozenset[str]:
        """List the uploads to a folder, and abort those to these files; return the files that had one."""
        bucket = "/".join(folder.split("/")[:3])
        with java_errors(folder):
            listed = self._operations.listPendingUploadsUnderPath(self._path(folder))
            uploads = [(str(each.key()), str(each.uploadId())) for each in listed]
        own = [(key, upload) for key, upload in uploads if f"{bucket}/{key}" in keys]

        def one(found: tuple[str, str]) -> None:
            with suppress(FileNotFoundError), java_errors(found[0]):
                self._operations.abortMultipartCommit(*found)

        _at_once(one, own)
        return frozenset(f"{bucket}/{key}" for key, _ in own)

    def _is_pending(self, file: DeferredFile) -> bool:
        """Whether an upload is neither completed nor aborted; True if it is not known."""
        upload = json.loads(file.ticket)["uploadId"]
        try:
            with java_errors(file.key):
                folder = self._path(file.key).getParent()
                listed = self._operations.listPendingUploadsUnderPath(folder)
                return any(str(each.uploadId()) == upload for each in listed)
        except OSError:
            return True

    def delete_files(self, keys: Iterable[str]) -> None:
        """Delete objects, as many with each request as S3A sends."""
        wanted = list(keys)
        if not wanted:
            return
        with java_errors(wanted[0]):
            base = self._path("/".join([*wanted[0].split("/")[:3], ""]))
            bulk = self._files.createBulkDelete(base)
            with closing(bulk):
                size = int(bulk.pageSize())
                for first in range(0, len(wanted), size):
                    paths = connected_jvm().java.util.ArrayList()
                    for key in wanted[first : first + size]:
                        paths.add(self._path(key))
                    if failed := list(bulk.bulkDelete(paths)):
                        path, words = failed[0].getKey(), failed[0].getValue()
                        raise OSError(f"{path.toString()} cannot be deleted: {words}")

    def _read(self, key: str) -> DeferredFile:
        with java_errors(key), closing(self._files.open(self._path(key))) as stream:
            document = json.loads(bytes(stream.readAllBytes()))
        document.pop(_STATISTICS, None)
        return DeferredFile(
            key=f"{S3A.scheme}://{document['bucket']}/{document['destinationKey']}",
            bytes=int(document["length"]),
            ticket=json.dumps(document),
        )


def _at_once(call: Callable[[Item], Answer], items: Sequence[Item]) -> list[Answer]:
    if len(items) < 2:
        return [call(item) for item in items]
    with ThreadPoolExecutor(min(_AT_ONCE, len(items))) as pool:
        return list(pool.map(call, items))
