"""HDFS in memory: a tree of files with ids, of which requests and answers are lost."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TypeVar

from graph_compiler.staging.store.hdfs_store import HdfsStatus

Answer = TypeVar("Answer")


@dataclass
class FakeHdfs:
    """Files by key, with ids. `faults`: operations whose next request is "lost", or carried out and "unanswered"."""

    files: dict[str, tuple[int, bytes]] = field(default_factory=dict)
    made: set[str] = field(default_factory=set)
    faults: list[tuple[str, str]] = field(default_factory=list)
    asked: list[str] = field(default_factory=list)
    before: Callable[[str], None] = lambda _: None
    delayed: list[Callable[[], None]] = field(default_factory=list)

    def status(self, key: str) -> HdfsStatus:
        return self._do("status", lambda: self._status(key))

    def list(self, folder: str) -> list[HdfsStatus]:
        def found() -> list[HdfsStatus]:
            if folder in self.files:
                return [self._status(folder, name="")]
            self._status(folder)
            below = {key.removeprefix(f"{folder}/") for key in (*self.files, *self.made)}
            names = {name.split("/")[0] for name in below if not name.startswith("hdfs:")}
            return [self._status(f"{folder}/{name}") for name in sorted(names)]

        return self._do("list", found)

    def create(self, key: str, content: bytes) -> None:
        self._do("create", lambda: self._create(key, content))

    def read(self, key: str) -> bytes:
        return self._do("read", lambda: self.files[key][1])

    def rename(self, key: str, to: str, *, replaces: bool = False) -> None:
        self._do("rename", lambda: self._rename(key, to, replaces=replaces))

    def make_folder(self, folder: str) -> None:
        self._do("make_folder", lambda: self.made.add(folder))

    def delete(self, key: str, *, recursive: bool) -> None:
        def delete() -> None:
            below = [each for each in (*self.files, *self.made) if each.startswith(f"{key}/")]
            if below and not recursive:
                raise OSError("is not empty")
            for each in (key, *below):
                self.files.pop(each, None)
                self.made.discard(each)

        self._do("delete", delete)

    def checksum(self, key: str) -> str:
        def found() -> str:
            self._status(key)
            return f"fake:{self.files[key][1].hex()}"

        return self._do("checksum", found)

    def _do(self, name: str, request: Callable[[], Answer]) -> Answer:
        self.asked.append(name)
        self.before(name)
        fault = self.faults.pop(0)[1] if self.faults and self.faults[0][0] == name else None
        if fault == "late":
            self.delayed.append(lambda: self._arrive(request))
        if fault in ("lost", "late"):
            raise OSError("not answered")
        answer = request()
        if fault == "unanswered":
            raise OSError("not answered")
        if fault == "cut":
            key, (number, content) = list(self.files.items())[-1]
            self.files[key] = (number, content[:-1])
        return answer

    def _arrive(self, request: Callable[[], object]) -> None:
        with suppress(OSError):
            request()

    def _status(self, key: str, name: str | None = None) -> HdfsStatus:
        name = key.rpartition("/")[2] if name is None else name
        if key in self.files:
            number, content = self.files[key]
            return HdfsStatus(name=name, is_folder=False, bytes=len(content), written=1.5, id=number)
        if key in self.made or any(each.startswith(f"{key}/") for each in (*self.files, *self.made)):
            return HdfsStatus(name=name, is_folder=True, bytes=0, written=1.5, id=-1)
        raise FileNotFoundError(key)

    def _create(self, key: str, content: bytes) -> None:
        if key in self.files:
            raise FileExistsError(key)
        self.files[key] = (len(self.asked), content)

    def _rename(self, key: str, to: str, *, replaces: bool) -> None:
        self._status(key)
        try:
            self._status(to)
        except FileNotFoundError:
            pass
        else:
            if not replaces:
                raise FileExistsError(to)
        for each in list(self.files):
            if each == key or each.startswith(f"{key}/"):
                self.files[to + each.removeprefix(key)] = self.files.pop(each)
