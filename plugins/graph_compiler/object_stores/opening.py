"""Open the store of a staging root on Airflow's side; a bucket with the same access once."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache

from graph_compiler.errors import StagingError
from graph_compiler.object_stores.s3_access import S3Access
from graph_compiler.staging.store.staging_store import StagingStore
from graph_compiler.staging.store.stores import open_with, opener

INSTALL_OBSTORE = "pip install 'obstore>=0.9' where Airflow and the command line run"
"""What to do if a staging root is in a bucket, and obstore is missing."""


def open_stores_with(access: Callable[[], S3Access]) -> None:
    """Open object stores in this process; `access` is called when one is needed, and may raise StagingError."""
    open_with(s3a=opener(access, _bucket))


@lru_cache(maxsize=16)
def _bucket(name: str, access: S3Access) -> StagingStore:
    try:
        from graph_compiler.object_stores.s3_store import ObjectStore  # a staging root on a disk needs no obstore
    except ModuleNotFoundError as error:
        if error.name != "obstore":
            raise
        raise StagingError(
            f"the staging root is in bucket '{name}', and this Python has no obstore\n  hint: {INSTALL_OBSTORE}"
        ) from None
    return ObjectStore(name, access)
