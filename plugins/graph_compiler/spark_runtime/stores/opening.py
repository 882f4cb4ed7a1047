"""Open the store of a place on the driver; each bucket, and each HDFS, once."""

from __future__ import annotations

from functools import cache
from urllib.parse import urlsplit

from graph_compiler.staging.store.staging_store import StagingStore
from graph_compiler.staging.store.stores import open_with


def open_stores_in_jvm() -> None:
    """Open stores that are not on a disk through Spark's JVM in this process."""
    open_with(s3a=lambda place: _bucket(urlsplit(place).netloc), hdfs=_hdfs_of)


@cache
def _bucket(name: str) -> StagingStore:
    from graph_compiler.spark_runtime.stores.s3a_store import S3aStore  # most drivers need none

    return S3aStore(f"s3a://{name}/")


def _hdfs_of(place: str) -> StagingStore:
    return _hdfs(urlsplit(place).netloc)


@cache
def _hdfs(authority: str) -> StagingStore:
    from graph_compiler.spark_runtime.stores.hdfs_client import JvmClient  # the same
    from graph_compiler.staging.store.hdfs_store import HdfsStore

    return HdfsStore(JvmClient(f"hdfs://{authority}/"))
