"""Print how much of each room the tests have run, and fail if a room has too little.

coverage json -o - | python -m tests.coverage_by_room      (`make test-core`)

room           lines  missed  covered
compiler        1565       8    99.4 %
staging         2393     144    93.9 %

There is no total, so no room hides behind another.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import groupby
from pathlib import PurePath

LEAST = 95
"""Percent of the lines of each room."""
PACKAGE = PurePath("plugins/graph_compiler")
MODULES = "(no room)"
"""The modules that stand in the package itself."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RoomCoverage:
    """Lines of a room that can run, and those that no test has run, by file."""

    name: str
    lines: int
    missed: dict[str, list[int]]

    @property
    def covered(self) -> int:
        """Return the covered tenths of a percent, rounded down: 94.99 % is not 95 %."""
        missed = sum(map(len, self.missed.values()))
        return 1000 * (self.lines - missed) // self.lines if self.lines else 1000

    @property
    def is_enough(self) -> bool:
        """Whether the room has enough coverage."""
        return self.covered >= 10 * LEAST

    def row(self) -> str:
        """Return the room's line of the table."""
        missed = sum(map(len, self.missed.values()))
        return f"{self.name:<13}{self.lines:>7}{missed:>8}{self.covered / 10:>8.1f} %"


def rooms_of(report: dict[str, dict[str, dict[str, list[int]]]]) -> list[RoomCoverage]:
    """Return the rooms of coverage's JSON report, by name."""
    files = sorted(report["files"].items(), key=lambda item: (_room(item[0]), item[0]))
    found = []
    for name, group in groupby(files, key=lambda item: _room(item[0])):
        inside = dict(group)
        missed = {path: one["missing_lines"] for path, one in inside.items() if one["missing_lines"]}
        lines = sum(len(one["executed_lines"] + one["missing_lines"]) for one in inside.values())
        found.append(RoomCoverage(name=name, lines=lines, missed=missed))
    return found


def _room(path: str) -> str:
    first, *others = PurePath(path).relative_to(PACKAGE).parts
    return first if others else MODULES


def table(rooms: Iterable[RoomCoverage]) -> str:
    """Return a line for each room; below, for rooms with too little coverage, the lines that no test has run."""
    rows = [f"{'room':<13}{'lines':>7}{'missed':>8}{'covered':>10}"]
    rows += [room.row() for room in rooms]
    for room in rooms:
        if not room.is_enough:
            rows += ["", f"{room.name} has {room.covered / 10:.1f} %; allowed: at least {LEAST} %"]
            rows += [f"  {path}: {', '.join(map(str, it))}" for path, it in room.missed.items()]
    return "\n".join(rows)


def main() -> int:
    """Read a report from standard input; return 1 if a room has too little coverage."""
    rooms = rooms_of(json.load(sys.stdin))
    print(table(rooms))
    return 0 if rooms and all(room.is_enough for room in rooms) else 1


if __name__ == "__main__":
    sys.exit(main())
