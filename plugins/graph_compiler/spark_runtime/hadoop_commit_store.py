"""Commit stores of HDFS and S3, through the file systems that Spark brings. NOT EXERCISED: no test has either of them.

    hdfs:   the content is written under a name of its own and renamed; HDFS renames to no name that is taken. To create
            the key itself without overwrite would leave an empty one for good where its writer dies
    s3a:    one conditional PUT (If-None-Match), which S3 answers with success once

Data of staged results, and documents, need `file:` still, so `local_root` refuses other roots.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Any
from uuid import uuid4

from py4j.protocol import Py4JJavaError
from pyspark.sql import SparkSession

from graph_compiler.spark_runtime.java import java_class


@dataclass(frozen=True, slots=True)
class HadoopCommitStore:
    """What both have in common: how a key is read, and how keys are listed. Keys are URIs."""

    spark: SparkSession

    def get(self, key: str) -> bytes | None:
        """Give the content, None when there is none."""
        files, path = self._at(key)
        if not files.exists(path):
            return None
        stream = files.open(path)
        try:
            return bytes(
                java_class(self.spark, "org.apache.commons.io.IOUtils").toByteArray(stream)
            )
        finally:
            stream.close()

    def keys(self, folder: str) -> list[str]:
        """List the keys directly below a folder, in no promised order."""
        files, path = self._at(folder)
        if not files.exists(path):
            return []
        names = [status.getPath().getName() for status in files.listStatus(path)]
        return [f"{folder}/{name}" for name in names if not name.startswith(".")]

    def _at(self, uri: str) -> tuple[Any, Any]:
        """Give the file system a URI is of, and its path there."""
        assert self.spark._jsc is not None
        path = java_class(self.spark, "org.apache.hadoop.fs.Path")(uri)
        return path.getFileSystem(self.spark._jsc.hadoopConfiguration()), path


class HdfsCommitStore(HadoopCommitStore):
    """`hdfs:`: who renames first has the name."""

    def put_if_absent(self, key: str, content: bytes) -> bool:
        """Write all of `content` or nothing; False when the key already exists."""
        name = PurePosixPath(key).name
        files, path = self._at(key)
        _, unnamed = self._at(f"{key.removesuffix(name)}.{name}.{uuid4().hex}")
        stream = files.create(unnamed, False)
        try:
            stream.write(content)
            stream.hsync()
        finally:
            stream.close()
        is_first = bool(files.rename(unnamed, path))
        if not is_first:
            files.delete(unnamed, False)
        return is_first


class S3CommitStore(HadoopCommitStore):
    """`s3a:`: the object comes into being when its stream is closed, if there is none."""

    def put_if_absent(self, key: str, content: bytes) -> bool:
        """Write all of `content` or nothing; False when the key already exists."""
        files, path = self._at(key)
        builder = files.createFile(path).overwrite(True)
        stream = builder.must("fs.option.create.conditional.overwrite", True).build()
        stream.write(content)
        try:
            stream.close()
        except Py4JJavaError:
            if files.exists(path):  # 412, or 409 where another write of it is under way and has won
                return False
            raise
        return True
