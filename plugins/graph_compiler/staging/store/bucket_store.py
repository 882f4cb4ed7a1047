"""What each store of objects answers alike: folders are what keys have in common; an ETag confirms an object."""

from __future__ import annotations

from graph_compiler.staging.store.staging_store import Promises


class BucketStore:
    """The part of a store that needs no request of its own; both sides' stores of S3 extend it."""

    promises = Promises(conditional_put=True, atomic_move=False, atomic_exchange=False)

    def digest(self, key: str) -> str | None:
        """Return the ETag of an object, None if there is none."""
        raise NotImplementedError

    def why_differs(self, key: str, digest: str) -> str | None:
        """Return that an object has another ETag, None if it has this one."""
        found = self.digest(key)
        return None if found == digest else f"its ETag is {found}, not {digest}"

    def why_damaged(self, key: str) -> str | None:
        """Return None: the store checks its objects itself."""

    def make_folder(self, folder: str) -> None:
        """Do nothing: a folder is what keys have in common."""

    def is_open_to_group(self, folder: str) -> bool:  # noqa: ARG002  # the interface
        """Return False: the store's own policies say who may read."""
        return False

    def move(self, folder: str, to: str) -> bool:
        """Never called: the store does not promise it."""
        raise NotImplementedError(f"{folder} cannot be renamed to {to} in one step")

    def exchange(self, one: str, other: str) -> bool:
        """Never called: the store does not promise it."""
        raise NotImplementedError(f"{one} cannot be exchanged with {other} in one step")

    def discard_empty(self, folder: str) -> None:
        """Do nothing: a folder is what keys have in common."""
