"""Which files of a folder in a store Spark's readers see."""

from __future__ import annotations

from graph_compiler.staging.publications.listing import is_hidden
from graph_compiler.staging.store.staging_store import StagingStore


def files_seen(store: StagingStore, folder: str) -> frozenset[str]:
    """Return what readers of a folder see, including those of partition folders, by relative name."""
    names = (file.key.removeprefix(f"{folder}/") for file in store.files(folder))
    return frozenset(name for name in names if not any(map(is_hidden, name.split("/"))))
