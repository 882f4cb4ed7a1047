"""A commit store whose every call meets its fate."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import PurePath

from graph_compiler.staging.store.commit_store import CommitStore
from tests.machine.faults import Fate


@dataclass(frozen=True)
class FatefulStore:
    """A store as one execution sees it."""

    store: CommitStore
    fate: Fate

    def put_if_absent(self, key: str, content: bytes) -> bool:
        return bool(
            self.fate.call(
                "put", PurePath(key).name, lambda: self.store.put_if_absent(key, content)
            )
        )

    def get(self, key: str) -> bytes | None:
        content = self.fate.call("get", PurePath(key).name, lambda: self.store.get(key))
        assert content is None or isinstance(content, bytes)
        return content

    def keys(self, folder: str) -> list[str]:
        return list(self.fate.call("keys", PurePath(folder).name, lambda: self.store.keys(folder)))
