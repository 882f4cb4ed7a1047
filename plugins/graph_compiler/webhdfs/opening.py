"""Open the store of a staging root in HDFS on Airflow's side."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache

from graph_compiler.staging.store.hdfs_store import HdfsStore
from graph_compiler.staging.store.staging_store import StagingStore
from graph_compiler.staging.store.stores import open_with, opener
from graph_compiler.webhdfs.webhdfs_access import HdfsAccess
from graph_compiler.webhdfs.webhdfs_client import WebHdfsClient


def open_hdfs_with(access: Callable[[], HdfsAccess]) -> None:
    """Open HDFS in this process; `access` is called when it is needed, and may raise StagingError."""
    open_with(hdfs=opener(access, _store))


@lru_cache(maxsize=16)
def _store(authority: str, access: HdfsAccess) -> StagingStore:
    return HdfsStore(WebHdfsClient(authority, access))
