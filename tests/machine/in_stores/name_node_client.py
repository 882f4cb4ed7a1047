"""HDFS as one process reaches it: the requests of Hadoop's client, each of which may meet a trouble."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from graph_compiler.staging.store.hdfs_store import HdfsStatus
from tests.machine.in_stores.name_node import NameNode
from tests.machine.in_stores.troubles import Line


@dataclass(frozen=True)
class NameNodeClient:
    """A NameNode, and the line to it."""

    node: NameNode
    line: Line

    def status(self, key: str) -> HdfsStatus:
        return self._send("head", key, lambda: self.node.status(key))  # type: ignore[no-any-return]

    def list(self, folder: str) -> list[HdfsStatus]:
        return self._send("list", folder, lambda: self.node.listed(folder))  # type: ignore[no-any-return]

    def create(self, key: str, content: bytes) -> None:
        """Create a file, and write its halves: others see it in between."""
        id, half = self._send("create", key, lambda: self.node.create(key)), len(content) // 2
        for at, part in ((0, content[:half]), (half, content[half:])):

            def write(at: int = at, part: bytes = part) -> None:
                self.node.append(id, part, at, closes=at == half)

            if part or at == half:
                self._send("write", key, write)

    def read(self, key: str) -> bytes:
        return self._send("get", key, lambda: self.node.get(key).content)  # type: ignore[no-any-return]

    def rename(self, key: str, to: str, *, replaces: bool = False) -> None:
        """Rename; that of a hidden file which replaces nothing is a conditional write."""
        is_put = key.rpartition("/")[2].startswith(".") and not replaces
        self._send("put once" if is_put else "rename", to, lambda: self.node.rename(key, to, replaces=replaces))

    def make_folder(self, folder: str) -> None:
        self._send("mkdirs", folder, lambda: self.node.make_folder(folder))

    def delete(self, key: str, *, recursive: bool) -> None:
        self._send("delete", key, lambda: self.node.remove(key, recursive=recursive))

    def checksum(self, key: str) -> str:
        return self._send("head", key, lambda: self.node.get(key).etag)  # type: ignore[no-any-return]

    def _send(self, call: str, key: str, do: Any) -> Any:
        name = key.rpartition("/")[2]
        if name.startswith("."):  # `.0.intent.json.6cdb…` is also an "intent", as `0.intent.json` is
            name = name.removeprefix(".").rpartition(".")[0]
        return self.line.send(call, key, do, name.split(".")[-2:][0])
