"""Thousands of partitions in one publication: killed in the middle, finished by the next, in linear time."""

import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import islice
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

from graph_compiler.staging.publications import files_on_disk as module
from graph_compiler.staging.publications.carrier import carry_out, steps
from graph_compiler.staging.publications.listing import data_files
from graph_compiler.staging.publications.publications import Intent
from graph_compiler.staging.store.local_store import LocalStore
from tests.harness.folders import in_memory, on_disk, prepare, put

MOST = 5_000
KINDS = ("exchanged", "file by file", "into other partitions")


@pytest.fixture(autouse=True)
def no_sync(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "sync_folder", lambda _: None)


@pytest.fixture
def lake(tmp_path: Path) -> Iterator[Path]:
    with in_memory(tmp_path) as folder:
        yield folder


def intent_of(lake: Path, kind: str, partitions: int) -> Intent:
    """Return an intent that replaces the rows of so many days of one year; nothing is published yet."""
    target, year = lake / f"days-{partitions}", 2021 if kind == KINDS[2] else 2020
    old = [f"year=2020/day={day}/old" for day in range(partitions)]
    put(target, old)
    intent = prepare(target, add=[f"year={year}/day={day}/new" for day in range(partitions)], remove=old)
    days = tuple(f"year=2020/day={day}" for day in range(partitions))
    return replace(intent, replaces=days) if kind == KINDS[0] else intent


def calls(do: Callable[[], None]) -> int:
    """Return how many functions are called, those of C included: this does not depend on the machine's speed."""
    number = 0

    def count(_frame: FrameType, event: str, _argument: Any) -> None:
        nonlocal number
        number += event in ("call", "c_call")

    sys.setprofile(count)
    try:
        do()
    finally:
        sys.setprofile(None)
    return number


@pytest.mark.parametrize("kind", KINDS)
def test_the_work_grows_as_the_partitions_do(lake: Path, kind: str) -> None:
    few, more = (intent_of(lake, kind, partitions) for partitions in (100, 400))
    assert calls(lambda: carry_out(on_disk(more))) < 4.5 * calls(lambda: carry_out(on_disk(few)))


def per_day(target: Path) -> dict[str, set[str]]:
    """Return the files that a reader sees, by the day they are of."""
    found: dict[str, set[str]] = {}
    for name in data_files(target):
        _, day, file = name.split("/")
        found.setdefault(day, set()).add(file)
    return found


@pytest.mark.parametrize(
    ("kind", "is_exchanged"),
    [
        (KINDS[0], True),
        pytest.param(KINDS[0], False, marks=pytest.mark.long),
        pytest.param(KINDS[2], False, marks=pytest.mark.long),
    ],
)
def test_a_publication_of_thousands_that_is_killed_again_and_again_is_finished(
    kind: str, is_exchanged: bool, lake: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not is_exchanged:
        unpromised = replace(LocalStore.promises, atomic_exchange=False)
        monkeypatch.setattr(LocalStore, "promises", unpromised)
    intent = intent_of(lake, kind, MOST)
    target = Path(intent.target)
    for number in range(3):  # each carrier dies after so many steps; the next claims what it had claimed
        assert len(list(islice(steps(on_disk(intent), f"carrier{number}"), MOST // 2 + 1))) == MOST // 2 + 1
        days = per_day(target)
        assert len(days) == MOST
        assert all(files in ({"old"}, {"new"}, {"old", "new"}) for files in days.values())
        assert not is_exchanged or {"old", "new"} not in days.values()
    carry_out(on_disk(intent))
    assert data_files(target) == set(intent.add)
    assert [path.name for path in lake.iterdir()] == [target.name], "nothing is left beside it"
    carry_out(on_disk(intent))
    assert data_files(target) == set(intent.add), "carrying it out again changes nothing"
