"""The store of a staging root: the one place that knows which schemes there are."""

from __future__ import annotations

from graph_compiler.errors import StagingError
from graph_compiler.staging.store.local_store import LocalStore
from graph_compiler.staging.store.staging_store import StagingStore


def store_of(place: str) -> StagingStore:
    """Return the store of a root, or of anything below one; raises StagingError for a scheme that has none."""
    if not place.startswith("/"):
        raise StagingError(
            f"'{place}' is in no store that results can be staged in; allowed: an absolute path"
        )
    return LocalStore()
