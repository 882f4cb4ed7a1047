"""HDFS in memory: a tree of folders and files, with HDFS's rules.

A rename is one step, of a file or of a folder with everything in it; it needs a folder to rename to, and refuses a name
that is taken. A file keeps its id when it is renamed. A file that is being written is seen, and may stay incomplete.
"""

from __future__ import annotations

import errno
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from graph_compiler.staging.store.hdfs_store import HdfsStatus
from tests.machine.in_stores.server import Stored


@dataclass
class NameNode:
    """Files by key, and folders."""

    files: dict[str, Stored] = field(default_factory=dict)
    folders: dict[str, int] = field(default_factory=dict)
    """The id of each."""
    being_written: set[str] = field(default_factory=set)
    """Ids of files that are not closed."""
    now: float = 1_000_000.0
    number: int = 0
    changed: Callable[[str], None] = field(default=lambda _: None)

    def status(self, key: str, name: str | None = None) -> HdfsStatus:
        """Return what is under a key; raises FileNotFoundError."""
        name = key.rpartition("/")[2] if name is None else name
        if file := self.files.get(key):
            return HdfsStatus(
                name=name, is_folder=False, bytes=len(file.content), written=file.written, id=int(file.id)
            )
        if key not in self.folders:
            raise FileNotFoundError(errno.ENOENT, "does not exist", key)
        return HdfsStatus(name=name, is_folder=True, bytes=0, written=self.now, id=self.folders[key])

    def listed(self, folder: str) -> list[HdfsStatus]:
        """Return what is directly in a folder; of a file, only itself, without a name."""
        if not self.status(folder).is_folder:
            return [self.status(folder, "")]
        keys = (key for key in (*self.files, *self.folders) if _around(key) == folder)
        return [self.status(key) for key in sorted(keys)]

    def create(self, key: str) -> str:
        """Create an empty file, and the folders around it; return its id. Raises FileExistsError."""
        if key in self.files or key in self.folders:
            raise FileExistsError(errno.EEXIST, "is there already", key)
        self.make_folder(_around(key))
        id = self._new_id()
        self.files[key] = Stored(b"", str(id), self.now)
        self.being_written.add(str(id))
        self.changed(key)
        return str(id)

    def append(self, id: str, content: bytes, at: int, *, closes: bool) -> None:
        """Write more of an open file, which may have been renamed; raises FileNotFoundError if it is gone or closed."""
        keys = [key for key, file in self.files.items() if file.id == id]
        if id not in self.being_written or not keys or len(self.files[keys[0]].content) != at:
            raise FileNotFoundError(errno.ENOENT, "is not open", id)
        self.now += 1
        self.files[keys[0]] = Stored(self.files[keys[0]].content + content, id, self.now)
        if closes:
            self.being_written.discard(id)
        self.changed(keys[0])

    def rename(self, key: str, to: str, *, replaces: bool) -> None:
        """Rename in one step; raises FileNotFoundError, FileExistsError."""
        self.status(key)
        if not self.status(_around(to)).is_folder:
            raise NotADirectoryError(errno.ENOTDIR, "is no folder", _around(to))
        if to in self.folders or (to in self.files and not replaces):
            raise FileExistsError(errno.EEXIST, "is there already", to)
        if to.startswith(f"{key}/"):
            raise OSError(errno.EINVAL, "is below itself", to)
        self.now += 1
        moved = {each: to + each.removeprefix(key) for each in self._tree(key)}
        folders = {new: self.folders.pop(old) for old, new in moved.items() if old in self.folders}
        files = {new: self.files.pop(old) for old, new in moved.items() if old in self.files}
        self.folders |= folders
        self.files |= files
        for old, new in moved.items():
            if new in files:
                self.changed(old)
                self.changed(new)

    def make_folder(self, folder: str) -> None:
        """Create a folder, and those around it; raises FileExistsError if one of these is a file."""
        if folder in self.files:
            raise FileExistsError(errno.EEXIST, "is a file", folder)
        if folder not in self.folders and folder.count("/") > 2:
            self.make_folder(_around(folder))
        self.folders.setdefault(folder, self._new_id())

    def remove(self, key: str, *, recursive: bool) -> None:
        """Delete a file, or a folder; nothing happens if there is none. Raises OSError if a folder is not empty."""
        gone = self._tree(key)
        if len(gone) > 1 and not recursive:
            raise OSError(errno.ENOTEMPTY, "is not empty", key)
        files = [each for each in gone if self.files.pop(each, None) is not None]
        for each in gone:
            self.folders.pop(each, None)
        for each in files:
            self.changed(each)

    def put(self, key: str, content: bytes) -> None:
        """Write a file as others do, who replace what is there."""
        self.make_folder(_around(key))
        self.now += 1
        self.files[key] = Stored(content, str(self._new_id()), self.now)
        self.changed(key)

    def get(self, key: str) -> Stored:
        """Return a file; raises FileNotFoundError."""
        if key not in self.files:
            raise FileNotFoundError(errno.ENOENT, "does not exist", key)
        return self.files[key]

    def below(self, folder: str) -> list[tuple[str, Stored]]:
        """List the files below a folder."""
        return sorted(each for each in self.files.items() if each[0].startswith(f"{folder}/"))

    def delete(self, keys: Iterable[str]) -> None:
        """Delete exactly these files."""
        for key in keys:
            self.remove(key, recursive=False)

    def watch(self, changed: Callable[[str], None]) -> None:
        """Call this after each change of a file, with its key."""
        self.changed = changed

    def _tree(self, key: str) -> list[str]:
        """Return what is under a key: itself, and everything below it."""
        known = (*self.files, *self.folders)
        return sorted(each for each in known if each == key or each.startswith(f"{key}/"))

    def _new_id(self) -> int:
        self.number += 1
        return self.number


def _around(key: str) -> str:
    return key.rpartition("/")[0]
