"""Documents of a folder in the order in which they were put: `0.json`, `1.json`, …; independent of clocks."""

from __future__ import annotations

import re

from graph_compiler.staging.store.staging_store import StagingStore

_NAME = re.compile(r"(0|[1-9][0-9]*)\.json", re.ASCII)


def numbers_in(store: StagingStore, folder: str) -> list[int]:
    """Return the numbers of a folder's documents, in order."""
    names = (_NAME.fullmatch(key.rpartition("/")[2]) for key in store.keys(folder))
    return sorted(int(name[1]) for name in names if name)


def numbered(folder: str, number: int) -> str:
    """Return the key of a document."""
    return f"{folder}/{number}.json"


def put_behind(store: StagingStore, folder: str, content: bytes) -> int:
    """Put a document under the first free number behind all others, and return that."""
    number = max(numbers_in(store, folder), default=-1) + 1
    while not store.put_if_absent(numbered(folder, number), content):
        number += 1
    return number
