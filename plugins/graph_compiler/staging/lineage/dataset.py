"""Datasets as OpenLineage names them: a namespace for each file system, bucket or database, and a name in it.

file:///data/out/delays                  file                  /data/out/delays
hdfs://nn:8020/out                       hdfs://nn:8020        /out
s3://lake/out/delays                     s3://lake             out/delays
postgresql://db:5432/shop/sales/orders   postgres://db:5432    shop.sales.orders
x-spark-table:///shop/orders             spark_catalog         shop.orders
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self
from urllib.parse import unquote, urlsplit

_DATABASES = {"postgresql": "postgres"}
"""OpenLineage's names of databases, where they differ from those in JDBC's urls."""
_WITH_ROOT = frozenset({"hdfs", "viewfs", "webhdfs"})
"""File systems whose names in OpenLineage begin with a slash; the keys of a bucket do not."""
_BUCKETS = frozenset({"abfs", "abfss", "gs", "s3", "wasb", "wasbs"})


@dataclass(frozen=True, slots=True, kw_only=True)
class DatasetName:
    """A dataset's identity, the same in every run."""

    namespace: str
    name: str

    @classmethod
    def of_uri(cls, uri: str) -> Self:
        """Return the name of a place, from the URI of its asset; a text that is no URI is a file's path."""
        place = urlsplit(uri)
        path = unquote(place.path)
        if place.scheme in ("", "file"):
            host = f"file://{place.netloc}" if place.netloc else "file"
            return cls(namespace=host, name=path)
        if place.scheme == "x-spark-table":
            return cls(namespace="spark_catalog", name=path.strip("/").replace("/", "."))
        namespace = f"{_DATABASES.get(place.scheme, place.scheme)}://{place.netloc}"
        if place.scheme in _WITH_ROOT:
            return cls(namespace=namespace, name=path or "/")
        if place.scheme in _BUCKETS:
            return cls(namespace=namespace, name=path.strip("/") or "/")
        return cls(namespace=namespace, name=path.strip("/").replace("/", "."))

    def within(self, *parts: str) -> DatasetName:
        """Return the name of a place below this one."""
        return DatasetName(namespace=self.namespace, name="/".join([self.name.rstrip("/"), *parts]))


@dataclass(frozen=True, slots=True, kw_only=True)
class Dataset:
    """A dataset as one attempt has read or written it; None is what is not known.

    `schema` is Spark's schema JSON. `version` names one state of a staged result: run and epoch. `rows` and `bytes` are
    those that were written, or all of a staged result that was read.
    """

    place: DatasetName
    schema: str | None = None
    version: str | None = None
    rows: int | None = None
    bytes: int | None = None
