"""Open the store of a staging root in HDFS on Airflow's side."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import lru_cache
from urllib.parse import urlsplit

from graph_compiler.staging.store.hdfs_store import HdfsStore
from graph_compiler.staging.store.staging_store import StagingStore
from graph_compiler.staging.store.stores import open_with
from graph_compiler.webhdfs.webhdfs_access import HdfsAccess
from graph_compiler.webhdfs.webhdfs_client import WebHdfsClient

_SECONDS = 60.0
"""How long an access is used before it is asked for again."""


def open_hdfs_with(access: Callable[[], HdfsAccess]) -> None:
    """Open HDFS in this process; `access` is called when it is needed, and may raise StagingError."""

    @lru_cache(maxsize=1)
    def current(_turn: int) -> HdfsAccess:
        return access()

    open_with(
        hdfs=lambda place: _store(
            urlsplit(place).netloc, current(int(time.monotonic() // _SECONDS))
        )
    )


@lru_cache(maxsize=16)
def _store(authority: str, access: HdfsAccess) -> StagingStore:
    return HdfsStore(WebHdfsClient(authority, access))
