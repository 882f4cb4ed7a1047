"""Calls to HDFS by Hadoop's client, in Spark's JVM, with its settings and its identity."""

from __future__ import annotations

from contextlib import closing
from typing import Any

from graph_compiler.spark_runtime.spark_internals.java import connected_jvm, java_array
from graph_compiler.spark_runtime.stores.hadoop_calls import file_system, java_errors
from graph_compiler.staging.store.hdfs_store import HdfsStatus, HdfsStore

_SETTINGS = {
    # WebHDFS answers with this checksum, whatever is set.
    "dfs.checksum.combine.mode": "MD5MD5CRC"
}


class JvmClient:
    """The client of one HDFS; keys are URIs in it."""

    def __init__(self, place: str) -> None:
        self._files, self._path = file_system(place, _SETTINGS)
        renames = getattr(connected_jvm(), "org.apache.hadoop.fs.Options$Rename")
        self._keeps = java_array(renames, renames.NONE)
        self._replaces = java_array(renames, renames.OVERWRITE)

    def status(self, key: str) -> HdfsStatus:
        """Return what is under a name."""
        with java_errors(key):
            return _status(self._files.getFileStatus(self._path(key)))

    def list(self, folder: str) -> list[HdfsStatus]:
        """Return what is directly in a folder."""
        with java_errors(folder):
            found = [_status(each) for each in self._files.listStatus(self._path(folder))]
        itself = folder.rstrip("/").rpartition("/")[2]
        is_a_file = len(found) == 1 and not found[0].is_folder and found[0].name == itself
        return [] if is_a_file and not self.status(folder).is_folder else found

    def create(self, key: str, content: bytes) -> None:
        """Write a new file."""
        with java_errors(key):
            stream = self._files.create(self._path(key), False)
            with closing(stream):
                stream.write(bytearray(content))

    def read(self, key: str) -> bytes:
        """Return the content of a file."""
        with java_errors(key), closing(self._files.open(self._path(key))) as opened:
            return bytes(opened.readAllBytes())

    def rename(self, key: str, to: str, *, replaces: bool = False) -> None:
        """Rename in one step."""
        options = self._replaces if replaces else self._keeps
        with java_errors(key):
            # DistributedFileSystem's, which is public; that of FileSystem with two arguments moves into a folder.
            self._files.rename(self._path(key), self._path(to), options)

    def make_folder(self, folder: str) -> None:
        """Create a folder, and those around it."""
        with java_errors(folder):
            self._files.mkdirs(self._path(folder))

    def delete(self, key: str, *, recursive: bool) -> None:
        """Delete a file, or a folder."""
        with java_errors(key):
            self._files.delete(self._path(key), recursive)

    def checksum(self, key: str) -> str:
        """Return the digest of a file's checksums."""
        with java_errors(key):
            found = self._files.getFileChecksum(self._path(key))
            return f"{found.getAlgorithmName()}:{bytes(found.getBytes()).hex()}"


def _status(found: Any) -> HdfsStatus:
    """Return a status; that of HDFS is an HdfsFileStatus, which has the id."""
    return HdfsStatus(
        name=str(found.getPath().getName()),
        is_folder=bool(found.isDirectory()),
        bytes=int(found.getLen()),
        written=found.getModificationTime() / 1000,
        id=int(found.getFileId()),
    )


def hdfs_in_jvm(place: str) -> HdfsStore:
    """Return the store of one HDFS."""
    return HdfsStore(JvmClient(place))
