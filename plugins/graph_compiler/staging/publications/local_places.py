"""Folders on disk: whether two are equal, or one contains the other, under any name.

    /out/a   /out//a/   file:/out/a   /out/link-to-a   /mnt/bound-to-out/a   and, if case is ignored, /out/A

Existing folders are compared by device and inode, which covers links, bind mounts and case. For a path that does not
exist yet, the nearest existing folder is compared, and then the remaining names as written. A `%` is literal, as in
Hadoop's Path.
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from fnmatch import fnmatchcase
from glob import iglob
from pathlib import PurePosixPath
from typing import Self

from graph_compiler.declaration.connectors.file_uris import is_pattern


@dataclass(frozen=True, slots=True, kw_only=True)
class LocalPlace:
    """A path without links; `inodes` are those of its existing folders from the root, `rest` is the missing part.

    For a pattern, it is the folder above the first name with a wildcard, and `pattern` are the names from there.
    """

    path: PurePosixPath
    inodes: tuple[tuple[int, int], ...]
    rest: tuple[str, ...]
    pattern: tuple[str, ...] = ()

    @classmethod
    def at(cls, path: PurePosixPath) -> Self:
        """Return the place of a path."""
        real = PurePosixPath(os.path.realpath(path))
        inodes = []
        for folder in (*reversed(real.parents), real):
            try:
                found = os.stat(folder)
            except OSError:  # missing, or not accessible: then its name counts
                break
            inodes.append((found.st_dev, found.st_ino))
        rest = real.parts[len(inodes) :]
        return cls(path=real, inodes=tuple(inodes), rest=rest)

    @classmethod
    def matching(cls, path: PurePosixPath) -> Self:
        """Return the place of a path that Spark reads, which may be a pattern."""
        names = path.parts
        first = next((at for at, name in enumerate(names) if is_pattern(name)), len(names))
        found = cls.at(PurePosixPath(*names[:first]))
        return cls(path=found.path, inodes=found.inodes, rest=found.rest, pattern=tuple(names[first:]))

    def contains(self, other: LocalPlace) -> bool:
        """Whether the other is this folder, or is inside it, at any depth."""
        if self.pattern:
            return False
        if other.path.is_relative_to(self.path):
            return True
        if not self.rest:
            return bool(self.inodes) and self.inodes[-1] in other.inodes
        is_beside = self.inodes[-1:] == other.inodes[-1:]
        return is_beside and other.rest[: len(self.rest)] == self.rest

    def meets(self, other: LocalPlace) -> bool:
        """Whether both are equal, or one contains the other; a pattern overlaps the paths that match its names."""
        if not other.pattern:
            return self.contains(other) or other.contains(self)
        folder = LocalPlace(path=other.path, inodes=other.inodes, rest=other.rest)
        if self.contains(folder) or not folder.contains(self):
            return self.contains(folder)
        below = self._names_below(folder)
        fits = all(_fits(name, one) for name, one in zip(below, other.pattern, strict=False))
        inside = other.pattern[len(below) :]
        return fits and (not inside or _holds(self.path, inside))

    def _names_below(self, folder: LocalPlace) -> tuple[str, ...]:
        """Return the names from a folder that contains this one to this one."""
        if self.path.is_relative_to(folder.path):
            return self.path.relative_to(folder.path).parts
        return self.path.parts[self.inodes.index(folder.inodes[-1]) + 1 :]


def _fits(name: str, pattern: str) -> bool:
    return fnmatchcase(name, as_glob(pattern))


def _holds(folder: PurePosixPath, pattern: tuple[str, ...]) -> bool:
    """Whether a folder contains a match."""
    return any(True for _ in iglob("/".join(map(as_glob, pattern)), root_dir=folder))


def as_glob(pattern: str) -> str:
    """Return a name of Hadoop's pattern as a Python glob; alternatives in braces may be anything here."""
    return re.sub(r"\{.*", "*", pattern).replace("[^", "[!")
