"""Stores of other packages: the value that describes one, what each side does with it, and a folder to begin with."""

from graph_compiler.staging.store.local_store import LocalStore
from graph_compiler.staging.store.staging_store import MOST_BYTES, StagingStore, StoredFile
from graph_compiler.staging.store.store_access import StoreAccess, StoreConnection
from graph_compiler.stores.store_kind import PlaceInStore, Promises, StoreKind

__all__ = [
    "MOST_BYTES",
    "LocalStore",
    "PlaceInStore",
    "Promises",
    "StagingStore",
    "StoreAccess",
    "StoreConnection",
    "StoreKind",
    "StoredFile",
]
