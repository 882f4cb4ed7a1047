"""What an operator reads by itself: the files that were listed, checked before the region commits anything.

A source does, and so do SQL text and a function that name a file or a table: the leaves of an operator's plan show it.

Spark lists a path when a DataFrame is made, and every action reads what was listed then. A file that arrives later is
not read. A deleted file fails the action. A file that is overwritten in place is read in its current state: half of the
rows old, half new, or a different half in each sink. So its size and modification time are compared again.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import PurePosixPath
from urllib.parse import unquote

from pyspark.sql import DataFrame, SparkSession

from graph_compiler import program_log
from graph_compiler.declaration.operators import Operator
from graph_compiler.deployment.documents.report import Relisting, SourceFiles
from graph_compiler.errors import RepeatedReadError, SourceChangedError, UnreadFilesError
from graph_compiler.identifiers import counted
from graph_compiler.spark_runtime.repeatability.table_folders import refuse_folders_of_tables
from graph_compiler.spark_runtime.spark_internals.file_listings import (
    FileVersion,
    Listing,
    files_read,
    hidden_folder,
    listed_paths,
    skipped_file,
    unlogged_files,
    unread_files,
    versions_again,
    versions_below,
)
from graph_compiler.spark_runtime.spark_internals.plan_leaves import (
    IN_MEMORY,
    PlanLeaf,
    own_leaves,
    plan_leaves,
    with_listing,
)
from graph_compiler.staging.publications.listing import is_hidden

LOG = program_log.logger(__name__)
_OF_SPARK = re.compile(r"part-\d{5,}-")
"""Names of files that Spark writes: those of a stream's batch are there before its log lists them."""
_SHOWN = 3
"""How many unread files a message names."""
_RDD = frozenset({"LogicalRDD"})
"""Leaf nodes whose rows come from Python: a given list, or what a function returns whenever they are computed."""
_IS_PATTERN = re.compile(r"[{}\[\]*?\\]")
"""What Spark takes for a pattern of paths."""
_SCHEME = re.compile(r"^[a-z][\w+.-]*:/*|^/+", re.IGNORECASE)
_QUOTED = re.compile(r"`((?:[^`]|``)+)`")


@dataclass(frozen=True, slots=True)
class ListedFiles:
    """One listing by Spark, which every action on its rows reads; `again` is how a later attempt lists it, if it can.

    A source is listed as it is declared.
    """

    spark: SparkSession
    leaf: PlanLeaf
    listing: Listing
    files: frozenset[FileVersion]
    state: int
    again: Relisting | None = None

    @classmethod
    def of(cls, spark: SparkSession, leaf: PlanLeaf, listing: Listing, again: Relisting | None = None) -> ListedFiles:
        """Return the files of a leaf's listing that are read."""
        return cls(spark, leaf, listing, frozenset(files_read(spark, listing)), listing.state, again)

    @property
    def place(self) -> tuple[object, ...]:
        """What two listings have in common that would find the same files at the same time."""
        return frozenset(listed_paths(self.listing)), self.listing.of_listing

    def described(self, operator: str) -> SourceFiles:
        """Return the listing as it is recorded for an operator."""
        return SourceFiles(
            operator=operator,
            paths=listed_paths(self.listing),
            digest=self.digest,
            again=self.again,
            is_empty=not self.files,
        )

    @property
    def digest(self) -> str:
        """A digest of the paths, sizes and times of the files."""
        return _digest(self.files)

    def check(self) -> None:
        """Raise SourceChangedError if a file has changed since it was listed."""
        if words := self.why_changed():
            raise SourceChangedError(
                f"its input changed while it was read: {words}\n  nothing was published; the next "
                "attempt lists its files again"
            )

    def why_changed(self) -> str | None:
        """Return what has changed since the listing; None if nothing has changed."""
        if self.listing.state != self.state:
            return f"{', '.join(listed_paths(self.listing))} was listed again"
        now = {version.path: version for version in versions_again(self.spark, self.listing)}
        changed = sorted(file for file in self.files if now.get(file.path) != file)
        if not changed:
            return None
        file = changed[0]
        others = f", and {counted(len(changed) - 1, 'other file')}" if changed[1:] else ""
        return f"{unquote(file.path)} {_difference(file, now.get(file.path))}{others}"


@dataclass(frozen=True, slots=True)
class OwnReads:
    """What an operator reads by itself, not from its inputs.

    `changing`: what may change between two actions. `uncompared`: what a later attempt cannot compare, so it must read
    it again.
    """

    listings: tuple[ListedFiles, ...] = ()
    changing: tuple[str, ...] = ()
    uncompared: tuple[str, ...] = ()

    @classmethod
    def of_source(cls, rows: DataFrame, *, holds_given_rows: bool) -> OwnReads:
        """Inspect the leaves of a source's plan. `holds_given_rows`: rows from Python are a fixed list."""
        leaves = own_leaves(rows, ())
        in_memory = _RDD if holds_given_rows else frozenset()
        changing = tuple(leaf.words for leaf in leaves if leaf.listing is None and leaf.kind not in in_memory)
        views = (f"view {leaf.view}" for leaf in leaves if leaf.view is not None)
        uncompared = tuple(dict.fromkeys([*changing, *views]))
        return cls(listings_of(rows.sparkSession, leaves), changing, uncompared)

    @classmethod
    def of(cls, operator: Operator, rows: DataFrame, inputs: Sequence[DataFrame]) -> OwnReads:
        """Inspect the leaves of an operator's plan that its inputs do not have.

        Raises UnreadFilesError if SQL text or a function reads the files of a table, without its log.
        """
        leaves = own_leaves(rows, inputs)
        listings: list[ListedFiles] = []
        changing = _changing(rows.sparkSession, operator, leaves)
        uncompared = dict.fromkeys(changing)
        for leaf in leaves:
            if leaf.listing is None:
                continue
            again = None if leaf.view is not None else _relisting(leaf, leaf.listing, operator.expressions())
            if leaf.table is None:
                refuse_folders_of_tables(rows.sparkSession, leaf.listing)
            listings.append(ListedFiles.of(rows.sparkSession, leaf, leaf.listing, again))
            if again is None:
                paths = ", ".join(listed_paths(leaf.listing)[:_SHOWN])
                uncompared[f"files of {paths}" if leaf.view is None else f"view {leaf.view}"] = None
        return cls(tuple(listings), changing, tuple(uncompared))


def changing_reads(operator: Operator, rows: DataFrame, inputs: Sequence[DataFrame]) -> tuple[str, ...]:
    """Return what an operator reads by itself, and may change between two actions: each once, described."""
    return _changing(rows.sparkSession, operator, own_leaves(rows, inputs))


def digest_now(spark: SparkSession, files: SourceFiles) -> str | None:
    """Return the digest of what an operator would list now; None if a table is not what it was, or nothing is known."""
    again = files.again
    if again is None:
        return None
    paths = files.paths
    if again.table is not None:
        leaf, *others = plan_leaves(spark.read.table(again.table))
        if leaf.listing is None or others or leaf.table != again.table:  # it is a view now
            return None
        if _text_digest(leaf.columns) != again.columns:
            return None
        paths = listed_paths(leaf.listing)
    return _digest(versions_below(spark, paths, dict(again.options)))


def are_held(leaves: Iterable[PlanLeaf], *, holds_given_rows: bool) -> bool:
    """Whether rows come only from listings and from rows on the driver; fetches no list of files."""
    in_memory = IN_MEMORY | _RDD if holds_given_rows else IN_MEMORY
    return all(leaf.listing is not None or leaf.kind in in_memory for leaf in leaves)


def listings_of(spark: SparkSession, leaves: Iterable[PlanLeaf]) -> tuple[ListedFiles, ...]:
    """Return the listings that the leaves of a plan read."""
    return tuple(ListedFiles.of(spark, leaf, leaf.listing) for leaf in leaves if leaf.listing is not None)


@dataclass(slots=True)
class SharedListings:
    """The listings of a region: all readers of the same paths read the files that were listed first.

    Spark would take two lists of the same paths for one: where a plan has both, it may read one of them for both.
    """

    _first: dict[tuple[object, ...], ListedFiles] = field(default_factory=dict)

    def pin(self, rows: DataFrame, reads: OwnReads) -> tuple[DataFrame, OwnReads]:
        """Return rows that read the files which were listed first for their paths, and these listings.

        Raises SourceChangedError if the files below have other partition columns since.
        """
        firsts = [self._first.setdefault(each.place, each) for each in reads.listings]
        pairs = list(zip(reads.listings, firsts, strict=True))
        moved = [(each, first) for each, first in pairs if each.files != first.files]
        if not moved:
            return rows, reads
        for each, first in moved:
            if each.leaf.partition_columns != first.leaf.partition_columns:
                raise SourceChangedError(
                    f"{', '.join(listed_paths(each.listing))} changed between two readers: its folders have other "
                    "partition columns\n  nothing was published; the next attempt lists its files again"
                )
        rows = with_listing(rows, ((each.leaf, first.listing) for each, first in moved))
        listings = (replace(each, listing=first.listing, files=first.files, state=first.state) for each, first in pairs)
        return rows, replace(reads, listings=tuple(listings))

    def release(self, reads: OwnReads) -> None:
        """Forget listings that no plan reads any more, if none was before them."""
        for each in reads.listings:
            if self._first.get(each.place) is each:
                del self._first[each.place]


def _changing(spark: SparkSession, operator: Operator, leaves: Iterable[PlanLeaf]) -> tuple[str, ...]:
    """Return the leaves that may change. SQL text finds an RDD in a view of the session; functions are given rows."""
    is_text = bool(operator.expressions()) and not operator.functions()
    others = (leaf for leaf in leaves if leaf.listing is None)
    changing = (leaf.words for leaf in others if is_text or not leaf.holds_fixed_records(spark))
    return tuple(dict.fromkeys(changing))


def _relisting(leaf: PlanLeaf, listing: Listing, texts: Iterable[str]) -> Relisting | None:
    """Return how a later attempt lists the same; None if it could miss files: a pattern would match more of them."""
    if (table := leaf.table) is not None:
        return Relisting(table=table, columns=_text_digest(leaf.columns), options=listing.of_listing)
    roots, given = listed_paths(listing), listing.given_path
    named = [given] if given is not None else [name for text in texts for name in _QUOTED.findall(text)]
    whole = {_SCHEME.sub("", name).rstrip("/") for name in named if not _IS_PATTERN.search(name)}
    if len(roots) != 1 or _SCHEME.sub("", roots[0]) not in whole:
        return None
    return Relisting(table=None, columns=None, options=listing.of_listing)


def _digest(files: Iterable[FileVersion]) -> str:
    lines = (f"{file.path} {file.bytes} {file.modified}\n" for file in sorted(files))
    return _text_digest("".join(lines))


def _text_digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def refuse_unread_files(spark: SparkSession, leaves: Sequence[PlanLeaf], named: str | None = None) -> None:
    """Raise UnreadFilesError if Spark does not read files below the folders of a source, or the one that it names.

    Also if they are those of a table, whose log is not read. `named` is its path: Spark skips `_orders.csv`, and what
    `in/_*.csv` matches.
    """
    for listing in (leaf.listing for leaf in leaves if leaf.listing is not None and leaf.table is None):
        refuse_folders_of_tables(spark, listing)
        _refuse_unlogged_files(spark, listing)
        if named is not None and (folder := hidden_folder(listing, named)):
            raise UnreadFilesError(
                f"{folder} is hidden, and a wildcard of the path matches its name: its files may not be complete\n"
                "  allowed: wildcards that match no name with _ or . at its beginning; * and *.csv match none\n"
                "  hint: let the name begin with [^._] in the pattern"
            )
    is_hidden_name = named is not None and is_hidden(PurePosixPath(named).name)
    for leaf in leaves:
        if is_hidden_name and leaf.listing is not None and (skipped := skipped_file(leaf.listing)):
            raise UnreadFilesError(
                f"the file {skipped} would not be read: Spark skips hidden names\n"
                "  allowed: names that neither begin with _ or . nor end in ._COPYING_\n"
                "  hint: rename the file, or read a copy with another name"
            )
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


def refuse_files_in_two(files: Iterable[tuple[str, Iterable[str]]]) -> None:
    """Raise RepeatedReadError if a file is below two paths of a source; `files` has each path with those below it."""
    below: dict[str, str] = {}
    for path, found in files:
        for file in found:
            if file in below:
                raise RepeatedReadError(
                    f"the file {file} is below two of its paths, {below[file]} and {path}: its rows would be read "
                    "twice\n"
                    "  allowed: paths that have no file in common\n"
                    "  hint: leave out one of them, or name its folders one by one"
                )
            below[file] = path


def _refuse_unlogged_files(spark: SparkSession, listing: Listing) -> None:
    """Raise UnreadFilesError for files that are no stream's beside those in its log; log those that may be its own."""
    if not (unlogged := unlogged_files(spark, listing)):
        return
    (root,) = listed_paths(listing)
    if foreign := [path for path in unlogged if not _OF_SPARK.match(path.rpartition("/")[2])]:
        others = f" and {counted(len(foreign) - 1, 'other file')}" if foreign[1:] else ""
        raise UnreadFilesError(
            f"{foreign[0]}{others} would not be read: a stream of Spark writes to {root}, and there Spark reads only "
            "the files that the stream's log lists (_spark_metadata)\n"
            "  allowed: a folder to which only the stream writes\n"
            "  hint: move what others have written to a folder of its own, and read both paths"
        )
    LOG.warning(
        "%s below %s: its log, _spark_metadata, does not list them, so they are not read. A batch of a stream that is "
        "being written, or has failed, leaves such files; rows of another program would be missing",
        counted(len(unlogged), "file"),
        root,
    )


def _difference(before: FileVersion, after: FileVersion | None) -> str:
    if after is None:
        return "is gone"
    if before.bytes != after.bytes:
        return f"had {before.bytes:,} bytes, and has {after.bytes:,}"
    return "was written again"
