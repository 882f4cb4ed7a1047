"""Folders in object stores and in HDFS: whether two are equal, or one contains the other.

Names count as they are written: neither has links. A pattern that Spark reads overlaps with a folder if the
folder's names match it, as far as both go; what is in the folder is not looked at.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Self

_GLOB = re.compile(r"[*?\[{]")
_PLACE = re.compile(r"(?P<scheme>s3[an]?|hdfs)://(?P<path>.*)", re.DOTALL | re.IGNORECASE)
_HDFS_PORT = ":8020"


@dataclass(frozen=True, slots=True)
class StorePlace:
    """A kind of store, a bucket or a host, and the names of a prefix in it, which may have wildcards."""

    names: tuple[str, ...]

    @classmethod
    def of(cls, uri: str) -> Self | None:
        """Return the place of a URI, None if it is not in a store that sinks can publish to."""
        if (found := _PLACE.fullmatch(uri)) is None:
            return None
        authority, *path = found["path"].split("/")
        names = [name for name in (authority.removesuffix(_HDFS_PORT), *path) if name]
        kind = "hdfs" if found["scheme"].lower() == "hdfs" else "s3a"
        return cls((kind, *names)) if names else None

    def meets(self, other: StorePlace) -> bool:
        """Whether both are equal, or one contains the other."""
        return all(
            _fits(mine, theirs) for mine, theirs in zip(self.names, other.names, strict=False)
        )

    def contains(self, other: StorePlace) -> bool:
        """Whether the other is this folder, or is inside it, at any depth."""
        return other.names[: len(self.names)] == self.names


def _fits(name: str, other: str) -> bool:
    return name == other or _matches(name, other) or _matches(other, name)


def _matches(name: str, pattern: str) -> bool:
    """Whether a name matches a pattern of Hadoop; alternatives in braces may be anything here."""
    if not _GLOB.search(pattern):
        return False
    return fnmatchcase(name, re.sub(r"\{.*", "*", pattern).replace("[^", "[!"))
