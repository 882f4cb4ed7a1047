"""The stores that places may be in: ours, and those that installed packages register.

    [project.entry-points."graph_compiler.stores"]
    box = "acme_box.store:BOX"

The entry point names a StoreKind, and its name is the scheme. A package is imported only for a place with its scheme.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from shlex import quote

from graph_compiler.errors import ExtensionError
from graph_compiler.extensions import find_value, registered_values
from graph_compiler.stores.hdfs import HDFS
from graph_compiler.stores.s3a import S3A
from graph_compiler.stores.store_kind import DatasetNames, SparkPackage, StoreKind

ENTRY_POINTS = "graph_compiler.stores"
BUILT_IN = (S3A, HDFS)
_AUTHORITY = re.compile(r"([a-z][a-z0-9+.-]*)://")


def store_kind(scheme: str) -> StoreKind | None:
    """Return the store of a scheme, None if there is none; raises ExtensionError if its package cannot be used."""
    own = next((kind for kind in BUILT_IN if kind.scheme == scheme), None)
    found = own or find_value(ENTRY_POINTS, scheme, StoreKind)
    if found is not None and found.scheme != scheme:
        raise ExtensionError(f"the entry point '{scheme}' names the store of '{found.scheme}:'")
    return found


def kind_of_place(place: str) -> StoreKind | None:
    """Return the store that a place is in, `scheme://…`; None for a place on a disk, and for any other."""
    found = _AUTHORITY.match(place)
    return None if found is None else store_kind(found[1])


def putting(text: str, *places: str) -> str:
    """Return how a person puts a text in place of what is at some places of one store: commands, or a sentence."""
    kind = kind_of_place(places[0])
    if kind is None:
        return " && ".join(f"echo {quote(text)} > {quote(place)}" for place in places)
    if kind.put_command is None:
        return f"put the text {text} into {' and into '.join(places)}"
    paths = (quote(place.removeprefix(f"{kind.scheme}:")) for place in places)
    return " && ".join(f"echo {quote(text)} | {kind.put_command.format(path)}" for path in paths)


def kind_by_any_name(scheme: str) -> StoreKind | None:
    """Return the store that others mean by a scheme, in any case: that of `s3a:` for `S3:`."""
    name = scheme.lower()
    return next((kind for kind in BUILT_IN if name in kind.other_names), None) or store_kind(name)


def store_kinds() -> tuple[StoreKind, ...]:
    """Return all stores, ours first; a package that cannot be used is left out."""
    others = (entry.name for entry in registered_values(ENTRY_POINTS))
    found = {}
    for scheme in (*(kind.scheme for kind in BUILT_IN), *others):
        with suppress(ExtensionError):
            found[scheme] = store_kind(scheme)
    return tuple(kind for kind in found.values() if kind is not None)


@dataclass(frozen=True, slots=True, kw_only=True)
class Untried:
    """A file system that Spark reads, and that has no store yet; the package that has it, if it is known."""

    names: DatasetNames = DatasetNames.TABLE
    spark_package: SparkPackage | None = None


_AZURE = SparkPackage(group="org.apache.hadoop", artifact="hadoop-azure", has_hadoops_version=True)
_GOOGLE = SparkPackage(group="com.google.cloud.bigdataoss", artifact="gcs-connector")
UNTRIED: Mapping[str, Untried] = {
    "gs": Untried(names=DatasetNames.KEY, spark_package=_GOOGLE),
    **dict.fromkeys(("abfs", "abfss", "wasb"), Untried(names=DatasetNames.KEY, spark_package=_AZURE)),
    "wasbs": Untried(names=DatasetNames.KEY),
    **dict.fromkeys(("oss", "cosn", "swebhdfs"), Untried()),
    **dict.fromkeys(("webhdfs", "viewfs"), Untried(names=DatasetNames.PATH)),
}
"""By their schemes."""


def spark_package_of(scheme: str) -> SparkPackage | None:
    """Return the package that Spark needs for a scheme, None if it is Spark's own, or not known."""
    found = store_kind(scheme.lower()) or UNTRIED.get(scheme.lower())
    return None if found is None else found.spark_package


def asset_scheme(scheme: str) -> str:
    """Return the scheme of an asset for that of a place: `s3` for `s3a`."""
    kind = kind_by_any_name(scheme)
    return (kind.asset_scheme if kind is not None else None) or scheme.lower()


def dataset_names(scheme: str) -> DatasetNames:
    """Return how OpenLineage names what is in a file system, by the scheme of its assets."""
    found = kind_by_any_name(scheme) or UNTRIED.get(scheme)
    return DatasetNames.TABLE if found is None else found.names
