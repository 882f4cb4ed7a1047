"""Which files of a folder Spark's readers see.

Spark follows links to folders and to files. Broken links, and folders inside themselves, are skipped. So are hidden
names below a folder. But Hadoop's `*` matches them, and then Spark reads what is in them: files that are not complete
yet, and rows that no run has published.
"""

from __future__ import annotations

import errno
import os
import re
from collections.abc import Callable, Iterable, Iterator
from itertools import filterfalse
from pathlib import Path

from graph_compiler.declaration.connectors.file_uris import is_pattern
from graph_compiler.staging.store.conditional_put import ask_again
from graph_compiler.staging.store.staging_store import StagingStore

_SUMMARIES = ("_metadata", "_common_metadata")
_BEING_COPIED = "._COPYING_"
_ANY_NAME = re.compile(r"\*+(?P<end>[^*?\[\]{}\\]*)")
_VISIBLE = re.compile(r"\{\[\^\._\]\*(?P<end>(?:[^,{}\\]|\\.)*),[^{}]*\}")


def is_hidden(name: str) -> bool:
    """Whether Spark's listings skip a file or folder (`HadoopFSUtils.shouldFilterOutPathName`).

    `_x` is hidden and `_x=1` is not: it may be a partition column. Parquet's summaries are listed.
    """
    if name.startswith(_SUMMARIES):
        return False
    is_partition = name.startswith("_") and "=" in name
    return (name.startswith(("_", ".")) and not is_partition) or name.endswith(_BEING_COPIED)


def has_rows(name: str) -> bool:
    """Whether Spark reads rows from a file of this name: it lists Parquet's summaries, but reads no rows from them."""
    return not is_hidden(name) and not (name.startswith(_SUMMARIES) and "=" not in name)


def visible_pattern(pattern: str) -> str:
    """Return the pattern that matches the same, but hidden names only where a name says so: `_*`, not `*`.

    Only names of the form `*` and `*.csv` are changed; for others, see `hidden_matches`.
    """
    return "/".join(_visible(name) for name in pattern.split("/"))


def _visible(name: str) -> str:
    found = _ANY_NAME.fullmatch(name)
    if found is None:
        return name
    end = found["end"].replace(",", "\\,")
    seen = ["[^._]*", "_*" if "=" in end else "_*=*", *(f"{each}*" for each in _SUMMARIES)]
    alone = [each for each in {end: None, **dict.fromkeys(_SUMMARIES)} if end and each.endswith(end)]
    return f"{{{','.join([*(each + end for each in seen), *filterfalse(is_hidden, alone)])}}}"


def declared_pattern(pattern: str) -> str:
    """Return the pattern of which `visible_pattern` made this one."""
    return _VISIBLE.sub(lambda found: "*" + found["end"].replace("\\,", ","), pattern)


def hidden_matches(pattern: str, paths: Iterable[str]) -> Iterator[str]:
    """Yield the paths that a pattern matches because a wildcard stands for the beginning of a hidden name."""
    if "/" in "".join(re.findall(r"\{[^}]*\}", pattern)):  # its names and those of a path are not the same number
        return
    names = pattern.rstrip("/").split("/")
    begun = [at for at, name in enumerate(reversed(names)) if is_pattern(name[:1])]
    for path in paths if begun else ():
        found = path.split("/")[::-1]
        if any(is_hidden(found[at]) for at in begun if at < len(found)):
            yield path


def data_files(folder: Path) -> frozenset[str]:
    """Return the files that readers of a folder see, including those of partition folders, by relative name.

    Raises OSError if it cannot be told: a file that is not listed would be neither merged nor replaced.
    """
    return frozenset(_walk(folder, "", is_hidden, _identity(folder)))


def files_seen(store: StagingStore, folder: str) -> frozenset[str]:
    """Return the same of a folder in a store, which has no links."""
    names = (file.key.removeprefix(f"{folder}/") for file in store.files(folder))
    return frozenset(name for name in names if not any(map(is_hidden, name.split("/"))))


def has_data_files(folder: Path) -> bool:
    """Whether readers of a folder see any file; it is listed up to the first."""
    return next(_walk(folder, "", is_hidden, _identity(folder)), None) is not None


def files_with_rows(folder: Path) -> frozenset[str]:
    """Return the files from which readers read rows."""
    return frozenset(name for name in data_files(folder) if has_rows(os.path.basename(name)))


def first_link(target: Path, name: str) -> str | None:
    """Return the outermost folder of `name` that is a link inside the target, None if there is none."""
    inside = list(reversed(Path(name).parents))[1:]
    return next((str(folder) for folder in inside if (target / folder).is_symlink()), None)


_Identity = tuple[tuple[int, int], ...]
"""Device and inode of a folder, and of those around it that were walked through."""


def _identity(path: str | Path) -> _Identity:
    """Return nothing for what is not there: it has gone meanwhile, or is a broken link."""
    try:
        found = ask_again(lambda: os.stat(path))
    except (FileNotFoundError, NotADirectoryError):
        return ()
    except OSError as error:
        if error.errno == errno.ELOOP:
            return ()
        raise
    return ((found.st_dev, found.st_ino),)


def _walk(folder: Path, prefix: str, passes_over: Callable[[str], bool], around: _Identity) -> Iterator[str]:
    try:
        entries = sorted(ask_again(lambda: os.scandir(folder)), key=lambda entry: entry.name)
    except (FileNotFoundError, NotADirectoryError):  # it has gone meanwhile
        return
    for entry in entries:
        if passes_over(entry.name):
            continue
        if entry.is_dir():
            here = _identity(entry.path)
            if here and here[0] not in around:
                yield from _walk(Path(entry.path), f"{prefix}{entry.name}/", passes_over, here + around)
        elif not entry.is_symlink() or _identity(entry.path):
            yield f"{prefix}{entry.name}"
