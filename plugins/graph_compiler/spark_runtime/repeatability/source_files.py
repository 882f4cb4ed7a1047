"""The files that were listed for a source: one snapshot for a region, checked before the region commits anything.

Spark lists a path when a DataFrame is made, and every action reads what was listed then. A file that arrives later is
not read. A deleted file fails the action. A file that is overwritten in place is read in its current state: half of the
rows old, half new, or a different half in each sink. So its size and modification time are compared again.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass
from urllib.parse import unquote

from pyspark.sql import DataFrame, SparkSession

from graph_compiler.deployment.documents.report import SourceFiles
from graph_compiler.errors import SourceChangedError, UnreadFilesError
from graph_compiler.identifiers import counted
from graph_compiler.spark_runtime.spark_internals.file_listings import (
    FileVersion,
    Listing,
    PlanLeaf,
    listed_paths,
    plan_leaves,
    unread_files,
    versions,
    versions_again,
)

_IN_MEMORY = frozenset({"LocalRelation", "Range", "OneRowRelation"})
"""Leaf nodes of a plan whose rows are on the driver."""
_SHOWN = 3
"""How many unread files a message names."""
_RDD = frozenset({"LogicalRDD"})
"""Leaf nodes whose rows come from Python: a given list, or what a function returns whenever they are computed."""


@dataclass(frozen=True, slots=True)
class ListedFiles:
    """One listing by Spark, which every action on its rows reads."""

    spark: SparkSession
    listing: Listing
    files: frozenset[FileVersion]

    @classmethod
    def of(cls, spark: SparkSession, listing: Listing) -> ListedFiles:
        """Return the files of a listing that are read."""
        return cls(spark, listing, frozenset(versions(listing)))

    def described(self, operator: str) -> SourceFiles:
        """Return the listing as it is recorded for an operator."""
        return SourceFiles(operator=operator, paths=listed_paths(self.listing), digest=self.digest)

    @property
    def digest(self) -> str:
        """A digest of the paths, sizes and times of the files."""
        lines = (f"{file.path} {file.bytes} {file.modified}\n" for file in sorted(self.files))
        return hashlib.sha256("".join(lines).encode("utf-8", "surrogatepass")).hexdigest()

    def check(self) -> None:
        """Raise SourceChangedError if a file has changed since it was listed."""
        if words := self.why_changed():
            raise SourceChangedError(
                f"its input changed while it was read: {words}\n  nothing was published; the next "
                "attempt lists its files again"
            )

    def why_changed(self) -> str | None:
        """Return what has changed since the listing; None if nothing has changed."""
        now = {version.path: version for version in versions_again(self.spark, self.listing)}
        changed = sorted(file for file in self.files if now.get(file.path) != file)
        if not changed:
            return None
        file = changed[0]
        others = f", and {counted(len(changed) - 1, 'other file')}" if changed[1:] else ""
        return f"{unquote(file.path)} {_difference(file, now.get(file.path))}{others}"


@dataclass(frozen=True, slots=True)
class SourceRows:
    """Where a source's rows come from. `is_held`: only from listings and from rows on the driver."""

    listings: tuple[ListedFiles, ...]
    is_held: bool

    @classmethod
    def of(cls, rows: DataFrame, *, holds_given_rows: bool) -> SourceRows:
        """Inspect the leaves of a source's plan. `holds_given_rows`: rows from Python are a fixed list."""
        leaves = plan_leaves(rows)
        is_held = are_held(leaves, holds_given_rows=holds_given_rows)
        return cls(listings_of(rows.sparkSession, leaves), is_held)


def are_held(leaves: Iterable[PlanLeaf], *, holds_given_rows: bool) -> bool:
    """Whether rows come only from listings and from rows on the driver; fetches no list of files."""
    in_memory = _IN_MEMORY | _RDD if holds_given_rows else _IN_MEMORY
    return all(leaf.listing is not None or leaf.kind in in_memory for leaf in leaves)


def listings_of(spark: SparkSession, leaves: Iterable[PlanLeaf]) -> tuple[ListedFiles, ...]:
    """Return the listings that the leaves of a plan read."""
    listings = (leaf.listing for leaf in leaves)
    return tuple(ListedFiles.of(spark, listing) for listing in listings if listing is not None)


def refuse_unread_files(rows: DataFrame) -> None:
    """Raise UnreadFilesError if there are files below the folders of a source that Spark does not read."""
    for leaf in plan_leaves(rows):
        paths = [] if leaf.listing is None else unread_files(leaf.listing)
        if leaf.listing is None or not paths:
            continue
        roots = listed_paths(leaf.listing)
        root = next((root for root in roots if paths[0].startswith(f"{root}/")), roots[0])
        others = f"\n    and {counted(len(paths) - _SHOWN, 'other')}" if paths[_SHOWN:] else ""
        shown = "".join(f"\n    {path}" for path in paths[:_SHOWN])
        raise UnreadFilesError(
            f"{counted(len(paths), 'file')} below {root} would not be read:{shown}{others}\n"
            "  allowed: files in the folder itself, or all files in folders named column=value\n"
            "  hint: options={'recursiveFileLookup': 'true'} reads the files of all folders below; a path that ends in "
            "/* reads one folder deeper, and one that ends in /*.csv reads such files of the folder itself only"
        )


def _difference(before: FileVersion, after: FileVersion | None) -> str:
    if after is None:
        return "is gone"
    if before.bytes != after.bytes:
        return f"had {before.bytes:,} bytes, and has {after.bytes:,}"
    return "was written again"
