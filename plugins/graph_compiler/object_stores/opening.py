"""Open the store of a staging root on Airflow's side; a bucket with the same access once."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import lru_cache
from urllib.parse import urlsplit

from graph_compiler.errors import StagingError
from graph_compiler.object_stores.s3_access import S3Access
from graph_compiler.staging.store.staging_store import StagingStore
from graph_compiler.staging.store.stores import open_with

_SECONDS = 60.0
"""How long an access is used before it is asked for again: credentials are replaced."""


def open_stores_with(access: Callable[[], S3Access]) -> None:
    """Open object stores in this process; `access` is called when one is needed, and may raise StagingError."""

    @lru_cache(maxsize=1)
    def current(_turn: int) -> S3Access:
        return access()

    open_with(
        s3a=lambda place: _bucket(
            urlsplit(place).netloc, current(int(time.monotonic() // _SECONDS))
        )
    )


@lru_cache(maxsize=16)
def _bucket(name: str, access: S3Access) -> StagingStore:
    try:
        from graph_compiler.object_stores.s3_store import (
            ObjectStore,  # a staging root on a disk needs no obstore
        )
    except ModuleNotFoundError as error:
        if error.name != "obstore":
            raise
        raise StagingError(
            f"the staging root is in bucket '{name}', and this Python has no obstore\n"
            "  hint: pip install 'graph-compiler[s3]' where Airflow and the command line run"
        ) from None
    return ObjectStore(name, access)
