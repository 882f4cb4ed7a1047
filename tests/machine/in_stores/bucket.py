"""A bucket in memory, with S3's rules.

An object is there as a whole or not at all, and nothing is renamed. A write may ask that there is no object yet. A file
that is uploaded in parts appears when its upload is completed, once. A listing shows what is there.
"""

from __future__ import annotations

import errno
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from tests.machine.in_stores.server import Stored


@dataclass
class Bucket:
    """Objects by key, and uploads that are not completed.

    `confirms`: a completion that is sent again is confirmed, as by Amazon, and not refused.
    """

    confirms: bool = False
    objects: dict[str, Stored] = field(default_factory=dict)
    uploads: dict[str, tuple[str, bytes]] = field(default_factory=dict)
    ids: dict[str, str] = field(default_factory=dict)
    """Of the writes of uploads that have one."""
    completed: set[str] = field(default_factory=set)
    now: float = 1_000_000.0
    number: int = 0
    changed: Callable[[str], None] = field(default=lambda _: None)
    """Called after each change of an object, with its key."""

    def put(self, key: str, content: bytes, id: str = "", *, only_if_absent: bool = False) -> None:
        """Write an object; raises FileExistsError if there is one, and there may be none."""
        if only_if_absent and key in self.objects:
            raise FileExistsError(errno.EEXIST, "PreconditionFailed", key)
        self.now += 1
        self.objects[key] = Stored(content, id, self.now)
        self.changed(key)

    def get(self, key: str) -> Stored:
        """Return an object; raises FileNotFoundError."""
        if key not in self.objects:
            raise FileNotFoundError(errno.ENOENT, "NoSuchKey", key)
        return self.objects[key]

    def below(self, folder: str) -> list[tuple[str, Stored]]:
        """List what is below a folder."""
        return sorted(each for each in self.objects.items() if each[0].startswith(f"{folder}/"))

    def delete(self, keys: Iterable[str]) -> None:
        """Delete exactly these objects."""
        for key in keys:
            if self.objects.pop(key, None) is not None:
                self.changed(key)

    def upload(self, key: str, content: bytes, id: str = "") -> str:
        """Begin an upload, and send its parts; return its id. `id` is that of the write."""
        self.number += 1
        self.uploads[f"upload-{self.number}"] = key, content
        self.ids[f"upload-{self.number}"] = id
        return f"upload-{self.number}"

    def complete(self, upload: str) -> None:
        """Let a file appear; raises FileNotFoundError if there is no such upload."""
        if upload in self.completed and self.confirms:
            return
        key, content = self._taken(upload)
        self.completed.add(upload)
        self.put(key, content, self.ids.get(upload, ""))

    def abort(self, upload: str) -> None:
        """Remove the parts of a file; raises FileNotFoundError if there is no such upload."""
        self._taken(upload)

    def watch(self, changed: Callable[[str], None]) -> None:
        """Call this after each change of an object, with its key."""
        self.changed = changed

    def _taken(self, upload: str) -> tuple[str, bytes]:
        if upload not in self.uploads:
            raise FileNotFoundError(errno.ENOENT, "NoSuchUpload", upload)
        return self.uploads.pop(upload)
