"""Every state to which two carriers of one intent can bring a target."""

import re
import shutil
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from types import GeneratorType
from typing import Any

from graph_compiler.staging.publications.carrier import carry_out, steps
from graph_compiler.staging.publications.publications import Intent
from tests.harness.folders import on_disk, prepare, put

OLD, NEW = frozenset({"old-1", "old-2"}), frozenset({"new-1", "new-2"})


@dataclass
class World:
    """A target, two carriers of one intent for it, and all states to which they can bring it."""

    root: Path
    begin: Callable[[Path], Intent]
    elsewhere: Path | None = None
    """A folder on another mount, which `begin` fills."""
    states: int = 0

    def explore(self, check: Callable[[Path], None]) -> None:
        """Check the target in every state; and from every state, let both die and a third finish."""
        known: set[str] = set()
        waiting = deque([""])  # short orders first: each is gone through from its beginning
        while waiting:
            order = waiting.popleft()
            target, intent, carriers, alive = self._replay(order)
            state = _state(
                [_tree(folder) for folder in self._roots],
                [_position(carriers[name]) if name in alive else () for name in "AB"],
            )
            if state in known:
                continue
            known.add(state)
            check(target)
            waiting += [order + name for name in alive]
            carry_out(on_disk(intent))
            check(target)
            assert not any(_litter(folder) for folder in self._roots), order
        self.states = len(known)

    @property
    def _roots(self) -> tuple[Path, ...]:
        return (self.root,) if self.elsewhere is None else (self.root, self.elsewhere)

    def _replay(self, order: str) -> tuple[Path, Intent, dict[str, Iterator[None]], list[str]]:
        for folder in self._roots:
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir()
        intent = self.begin(self.root / "out")
        carriers = {name: steps(on_disk(intent), carrier=name) for name in "AB"}
        alive = ["A", "B"]
        for name in order:
            if next(carriers[name], "ended") == "ended":
                alive.remove(name)
        return self.root / "out", intent, carriers, alive


def _tree(folder: Path) -> frozenset[str]:
    return frozenset(_without_count(str(path.relative_to(folder))) for path in folder.rglob("*"))


def _state(trees: list[frozenset[str]], positions: list[tuple[object, ...]]) -> str:
    """Return the same text for two states that differ only in which of the carriers is where: both do the same."""
    files = [[f"/{name}/" for name in tree] for tree in trees]
    exchanged = [[_exchanged(name) for name in tree] for tree in files]
    return min(
        repr(([sorted(tree) for tree in files], repr(positions))),
        repr(([sorted(tree) for tree in exchanged], _exchanged(repr(positions[::-1])))),
    )


def _exchanged(text: str) -> str:
    return re.sub("(?<=[/'])[AB](?=[/'])", lambda name: {"A": "B", "B": "A"}[name[0]], text)


def _litter(folder: Path) -> list[Path]:
    return list(folder.rglob("*.graph_compiler"))


def _position(carrier: Any) -> tuple[object, ...]:
    """Return where a carrier is, and what it holds; how often it has claimed does not matter."""
    found = []
    while isinstance(carrier, GeneratorType):
        if carrier.gi_frame is not None:
            known = {k: v for k, v in carrier.gi_frame.f_locals.items() if k not in ("number", "names")}
            found.append((carrier.gi_frame.f_lineno, _without_count(repr(known))))
        carrier = carrier.gi_yieldfrom
    return tuple(found)


def _without_count(text: str) -> str:
    return re.sub(r"/([AB])-\d+", r"/\1", text)


def overwrite(target: Path) -> Intent:
    put(target, [*OLD, "_SUCCESS", ".old-1.crc"])
    return prepare(target, add=sorted(NEW), remove=sorted(OLD), replaces=["."])


def create(target: Path) -> Intent:
    return prepare(target, add=sorted(NEW), replaces=["."])


def append(target: Path) -> Intent:
    put(target, OLD)
    return prepare(target, add=sorted(NEW))


def partitions(target: Path) -> Intent:
    put(target, ["k=1/old-1", "k=1/old-2", "k=3/old-3", "k=4/own"])
    add = ["k=1/new-1", "k=1/new-2", "k=2/new-3"]
    return prepare(target, add=add, remove=["k=1/old-1", "k=1/old-2", "k=4/own"], replaces=["k=1", "k=2"])


def linked_partition(target: Path) -> Intent:
    """Replace a partition whose folder is a link to files of others."""
    put(target.parent / "others", OLD)
    put(target, ["k=2/own"])
    (target / "k=1").symlink_to(target.parent / "others")
    add = ["k=1/new-1", "k=1/new-2"]
    return prepare(target, add=add, remove=["k=1"], replaces=["k=1"])
