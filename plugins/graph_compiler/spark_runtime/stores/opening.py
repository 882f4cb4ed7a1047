"""Open the store of a staging root on the driver; each bucket once."""

from __future__ import annotations

from functools import cache
from urllib.parse import urlsplit

from graph_compiler.staging.store.staging_store import StagingStore
from graph_compiler.staging.store.stores import open_with


def open_stores_in_jvm() -> None:
    """Open object stores through Spark's JVM in this process."""
    open_with(lambda place: _bucket(urlsplit(place).netloc))


@cache
def _bucket(name: str) -> StagingStore:
    from graph_compiler.spark_runtime.stores.s3a_store import S3aStore  # most drivers need none

    return S3aStore(f"s3a://{name}/")
