"""What can be replaced in a target, and what blocks its new files; checked before anything is decided.

Nothing behind a link inside a target is replaced or deleted, except what this run has put there: it may belong to
others, and anyone who may write the target can create a link to any place. If a link's rows are replaced, the link is
removed.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Set
from pathlib import Path

from graph_compiler.errors import PublicationError
from graph_compiler.spark_runtime.publishing.partition_names import Partition, partition_of
from graph_compiler.staging.publications.intent import WHOLE
from graph_compiler.staging.publications.on_disk.listing import first_link
from graph_compiler.staging.publications.preparations import NAME_BYTES


def why_no_folder(target: Path) -> str | None:
    """Return why a target cannot be a folder of files; None if it can."""
    if not target.name:
        return "is the root of the file system"
    if any(len(os.fsencode(part)) > NAME_BYTES for part in target.parts):
        return f"has a name of more than {NAME_BYTES} bytes"
    if target.is_symlink() and not target.exists():
        return f"is a link to {os.readlink(target)}, which is not there"
    return "is a file" if target.exists() and not target.is_dir() else None


def names_to_remove(
    target: Path, gone: frozenset[str], replaces: tuple[str, ...], own: frozenset[str]
) -> frozenset[str]:
    """Return the names to unlink to remove these files: links, if files of a replaced folder are behind them.

    Raises PublicationError if files of others are behind a link that stays.
    """
    replaced = {partition_of(folder) for folder in replaces}
    return frozenset(_name_to_remove(target, name, replaced, own) for name in gone)


def find_in_the_way(
    target: Path, add: Iterable[str], replaces: tuple[str, ...], remove: frozenset[str]
) -> frozenset[str]:
    """Return what else must be removed so that new files' folders can be made: broken links, and files.

    Raises PublicationError if it belongs to a partition that stays.
    """
    found, replaced = set(), {partition_of(folder) for folder in replaces}
    for folder in sorted({str(Path(name).parent) for name in add} - {WHOLE}):
        for around in (*list(reversed(Path(folder).parents))[1:], Path(folder)):
            place, name = target / around, str(around)
            if name in remove or not os.path.lexists(place) or place.is_dir():
                continue
            if not _is_replaced(name, replaced):
                what = "a broken link" if place.is_symlink() else "a file"
                raise PublicationError(
                    f"its target has {what} where the partition folder {folder} must be: {place}\n"
                    "  hint: remove it, or write to another path"
                )
            found.add(name)
    return frozenset(found)


def _name_to_remove(target: Path, name: str, replaced: Set[Partition], own: frozenset[str]) -> str:
    link = first_link(target, name)
    if link is not None and _is_replaced(link, replaced):
        return link
    if link is None or name in own:
        return name
    raise PublicationError(
        f"it replaces {Path(name).parent} in {target}, and {link} is a link: nothing behind it is replaced\n"
        "  hint: put a folder in its place, or remove it"
    )


def _is_replaced(folder: str, replaced: Set[Partition]) -> bool:
    """Whether a folder or one that contains it is replaced."""
    found = partition_of(folder)
    return any(found[:depth] in replaced for depth in range(len(found) + 1))
