"""What the consumed increments of a position have read, and what is new beside it."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from graph_compiler.deployment.documents.position import VERSION, ColumnBounds, Increment, ReadFrom, Reset
from graph_compiler.deployment.documents.wire import from_wire, to_wire
from graph_compiler.errors import DamagedDocumentError, DescriptorError
from graph_compiler.staging.store.read_document import decode_object


@dataclass(frozen=True, slots=True)
class SeenFile:
    """A file by its size in bytes, and its time of modification in milliseconds since the epoch."""

    path: str
    bytes: int
    modified: int


@dataclass(frozen=True, slots=True, kw_only=True)
class NewPart:
    """What is new: files, or the bounds of a column."""

    files: tuple[SeenFile, ...] | None = None
    bounds: ColumnBounds | None = None


@dataclass(slots=True, kw_only=True)
class Known:
    """What consumed increments have read: files with the number of the increment, and the upper bound of each."""

    files: dict[str, tuple[int, int, int]] = field(default_factory=dict)
    bounds: dict[int, ColumnBounds | None] = field(default_factory=dict)
    read_from: ReadFrom | None = None

    @property
    def upper(self) -> ColumnBounds | None:
        """Return the bounds of the last consumed increment that had rows before it, or in it."""
        return next((each for each in reversed(self.bounds.values()) if each is not None), None)

    def add(self, increment: Increment, files: Iterable[SeenFile]) -> None:
        """Add a consumed increment."""
        self.bounds[increment.number] = increment.bounds
        self.read_from = increment.read_from
        self.files.update((each.path, (each.bytes, each.modified, increment.number)) for each in files)

    def forget(self, reset: Reset) -> None:
        """Take back what a reset names."""
        if reset.files:
            for path in reset.files:
                self.files.pop(path, None)
            return
        self.files = {path: seen for path, seen in self.files.items() if seen[2] <= reset.to}
        self.bounds = {number: bounds for number, bounds in self.bounds.items() if number <= reset.to}
        if not self.bounds:
            self.read_from = None

    def to_json(self) -> bytes:
        """Encode it as one document; a hundred thousand files have no field names of their own."""
        bounds = [[number, to_wire(each)] for number, each in self.bounds.items()]
        document = {"version": VERSION, "files": self.files, "bounds": bounds, "read_from": to_wire(self.read_from)}
        return json.dumps(document).encode()

    @classmethod
    def from_json(cls, content: bytes, where: str) -> Known:
        """Decode it; raises DamagedDocumentError."""
        document: Any = decode_object(content, where)
        try:
            if document["version"] != VERSION:
                raise ValueError(f"version {document['version']}")
            files, bounds = document["files"], document["bounds"]
            return cls(
                files={path: (int(one), int(two), int(three)) for path, (one, two, three) in files.items()},
                bounds={int(n): None if each is None else from_wire(ColumnBounds, each) for n, each in bounds},
                read_from=None if document["read_from"] is None else from_wire(ReadFrom, document["read_from"]),
            )
        except (KeyError, TypeError, ValueError, AttributeError, DescriptorError) as error:
            raise DamagedDocumentError(where, f"has another form: {error}") from None
