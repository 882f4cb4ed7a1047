"""Savepoints of streams, taken without the command."""

from graph_compiler.deployment.documents.run_identity import RunIdentity
from graph_compiler.deployment.documents.staging_layout import StagingLayout
from graph_compiler.staging.store.local_store import LocalStore
from graph_compiler.staging.store.staging_store import StagingStore
from graph_compiler.staging.streams.checkpoint import known_streams
from graph_compiler.staging.streams.savepoints import take_savepoint

STORE = LocalStore()


def save(root: str, to: str | None = None, store: StagingStore = STORE) -> str:
    """Copy the checkpoint of the only stream in a staging root; return the place of the savepoint."""
    (stream,) = known_streams(store, root)
    assert stream.last is not None
    run = StagingLayout(root=stream.layout.root, identity=RunIdentity.named(stream.layout.owner, stream.last.run_id))
    return take_savepoint(store, stream, run, to, 0.0).place


def reset(root: str, owner: str | None = None, store: StagingStore = STORE) -> None:
    """Reset the streams of a pipeline, or all."""
    for stream in known_streams(store, root, owner):
        stream.reset(store)


def save_and_reset(root: str, to: str | None = None, store: StagingStore = STORE) -> str:
    """Take a savepoint of the only stream, and reset it."""
    place = save(root, to, store)
    reset(root, store=store)
    return place
