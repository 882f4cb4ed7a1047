"""Publications to HDFS: interrupted at every step, and met by carriers that wake up late."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from itertools import islice

import pytest

from graph_compiler.deployment.documents.run_identity import RunIdentity
from graph_compiler.errors import PublicationConflictError, PublicationPendingError
from graph_compiler.identifiers import OperatorId
from graph_compiler.staging.publications.carrier import RenamedFiles, carry_out, steps
from graph_compiler.staging.publications.preparations import beside_in_store
from graph_compiler.staging.publications.publications import WHOLE, Intent
from graph_compiler.staging.store import conditional_put
from graph_compiler.staging.store.hdfs_store import HdfsStore
from tests.harness.fake_hdfs import FakeHdfs

TARGET = "hdfs://nn/lake/out"
MOST_STEPS = 14


@pytest.fixture
def hdfs() -> FakeHdfs:
    return FakeHdfs()


@pytest.fixture
def store(hdfs: FakeHdfs, monkeypatch: pytest.MonkeyPatch) -> HdfsStore:
    monkeypatch.setattr(conditional_put, "_PAUSE", 0)
    return HdfsStore(hdfs)


def prepared(store: HdfsStore, execution: str, *names: str, remove: tuple[str, ...] = ()) -> Intent:
    """Prepare files for the target, and return the intent that brings them in."""
    folder = beside_in_store(TARGET, execution)
    add = tuple(f"{name}-{execution}" for name in names)
    for name in add:
        store.put(f"{folder}/ready/{name}", name.encode())
    return Intent(
        number=0,
        identity=RunIdentity.own("p", execution),
        plan_id="plan",
        operator_id=OperatorId("ab" * 16),
        execution_id=execution,
        target=TARGET,
        prepared=folder,
        columns=(),
        add=add,
        remove=remove,
        replaces=(WHOLE,),
        rows=0,
        bytes=0,
    )


def seen(store: HdfsStore) -> set[str]:
    return {file.key.removeprefix(f"{TARGET}/") for file in store.files(TARGET)}


def left(hdfs: FakeHdfs) -> list[str]:
    return [key for key in hdfs.files if not key.startswith(f"{TARGET}/")]


def taken(carrier: Iterator[None], most: int) -> None:
    for _ in range(most):
        next(carrier, None)


def test_a_new_target_appears_in_one_step(store: HdfsStore, hdfs: FakeHdfs) -> None:
    intent = prepared(store, "e1", "d=1/a", "d=2/b")
    states = [seen(store) for _ in steps(RenamedFiles(intent, store), "c")]
    assert [state for state in states if state not in (set(), set(intent.add))] == []
    assert seen(store) == set(intent.add)
    assert left(hdfs) == []


@pytest.mark.parametrize("has_old", [True, False], ids=["replaces", "new"])
@pytest.mark.parametrize("done", range(MOST_STEPS))
def test_a_carrier_that_dies_is_followed_by_another(
    store: HdfsStore, hdfs: FakeHdfs, done: int, *, has_old: bool
) -> None:
    old: tuple[str, ...] = ()
    if has_old:
        first = prepared(store, "e0", "d=1/a", "b")
        carry_out(RenamedFiles(first, store))
        old = first.add
    intent = prepared(store, "e1", "d=1/a", "d=2/c", remove=old)
    taken(steps(RenamedFiles(intent, store), "dies"), done)
    assert seen(store) >= set(old) or seen(store) >= set(intent.add)
    carry_out(RenamedFiles(intent, store))
    carry_out(RenamedFiles(intent, store))  # repeating it changes nothing
    assert seen(store) == set(intent.add)
    assert left(hdfs) == []


@pytest.mark.parametrize("done", range(1, MOST_STEPS))
def test_a_carrier_that_wakes_after_a_later_publication_changes_nothing(
    store: HdfsStore, hdfs: FakeHdfs, done: int
) -> None:
    old = prepared(store, "e0", "a")
    carry_out(RenamedFiles(old, store))
    intent = prepared(store, "e1", "d=1/a", "d=2/c", remove=old.add)
    sleeps = steps(RenamedFiles(intent, store), "sleeps")
    taken(sleeps, done)
    carry_out(RenamedFiles(intent, store))  # by the next execution, before it publishes
    later = prepared(store, "e2", "d=1/a", remove=intent.add)
    carry_out(RenamedFiles(later, store))
    with suppress(PublicationConflictError):
        for _ in sleeps:
            pass
    assert seen(store) == set(later.add)
    assert left(hdfs) == []


@pytest.mark.parametrize("second", range(MOST_STEPS))
@pytest.mark.parametrize("first", range(0, MOST_STEPS, 2))
def test_two_carriers_in_any_order_bring_all_in(store: HdfsStore, hdfs: FakeHdfs, first: int, second: int) -> None:
    old = prepared(store, "e0", "a")
    carry_out(RenamedFiles(old, store))
    intent = prepared(store, "e1", "b", "c", remove=old.add)
    one, other = steps(RenamedFiles(intent, store), "one"), steps(RenamedFiles(intent, store), "other")
    taken(one, first)
    taken(other, second)
    taken(one, MOST_STEPS)
    taken(other, MOST_STEPS)
    assert seen(store) == set(intent.add)
    assert left(hdfs) == []


@pytest.mark.parametrize("fault", ["lost", "unanswered"])
@pytest.mark.parametrize("name", ["rename", "delete", "list", "status"])
@pytest.mark.parametrize("number", range(3))
def test_a_step_that_is_not_answered_is_pending_and_then_finished(
    store: HdfsStore, hdfs: FakeHdfs, name: str, fault: str, number: int
) -> None:
    old = prepared(store, "e0", "a")
    carry_out(RenamedFiles(old, store))
    intent = prepared(store, "e1", "b", "c", remove=old.add)
    before = hdfs.asked.count(name)

    def break_later(asked: str) -> None:
        if asked == name and hdfs.asked.count(name) == before + 1 + number:
            hdfs.faults = [(name, fault)] * conditional_put.TURNS

    hdfs.before = break_later
    with suppress(PublicationPendingError):
        carry_out(RenamedFiles(intent, store))
    hdfs.before, hdfs.faults = (lambda _: None), []
    carry_out(RenamedFiles(intent, store))
    assert seen(store) == set(intent.add)
    assert left(hdfs) == []


def test_an_error_that_looks_like_a_lost_claim_is_reported(store: HdfsStore, hdfs: FakeHdfs) -> None:
    intent = prepared(store, "e1", "a")

    def break_folders(asked: str) -> None:
        if asked == "make_folder":
            raise FileNotFoundError("no such file system")

    hdfs.before = break_folders
    with pytest.raises(FileNotFoundError):
        list(islice(steps(RenamedFiles(intent, store), "c"), 2 * MOST_STEPS))


@pytest.mark.parametrize("done", range(MOST_STEPS))
def test_if_prepared_files_are_removed_all_old_ones_or_all_new_ones_are_there(store: HdfsStore, done: int) -> None:
    old = prepared(store, "e0", "a")
    carry_out(RenamedFiles(old, store))
    intent = prepared(store, "e1", "b", "c", remove=old.add)
    ends: list[str] = []
    sleeps = steps(RenamedFiles(intent, store), "sleeps", lambda: not ends)
    taken(sleeps, done)
    assert store.delete(intent.prepared)
    with suppress(PublicationConflictError):
        carry_out(RenamedFiles(intent, store), lambda: not ends)
    ends.append("done, or given up")
    found = seen(store)
    assert found in (set(old.add), set(intent.add))
    with suppress(PublicationConflictError):
        taken(sleeps, MOST_STEPS)
    assert seen(store) == found


def test_new_files_stay_if_one_of_them_is_removed_when_old_ones_are_gone(store: HdfsStore) -> None:
    old = prepared(store, "e0", "a")
    carry_out(RenamedFiles(old, store))
    intent = prepared(store, "e1", "b", "c", remove=old.add)
    carry_out(RenamedFiles(intent, store))
    assert store.delete(f"{TARGET}/{intent.add[1]}")
    with pytest.raises(PublicationConflictError):
        carry_out(RenamedFiles(intent, store), lambda: True)
    assert seen(store) == {intent.add[0]}


def test_files_that_are_neither_prepared_nor_there_are_a_conflict(store: HdfsStore) -> None:
    intent = prepared(store, "e1", "a")
    store.delete(intent.prepared)
    with pytest.raises(PublicationConflictError, match="a-e1 is gone"):
        carry_out(RenamedFiles(intent, store))


def test_files_of_others_and_hidden_ones_stay(store: HdfsStore) -> None:
    store.put(f"{TARGET}/d=1/theirs", b"")
    store.put(f"{TARGET}/d=1/_SUCCESS", b"")
    mine = prepared(store, "e1", "d=1/a", "d=2/b")
    carry_out(RenamedFiles(replace(mine, replaces=()), store))
    later = prepared(store, "e2", "d=1/a", remove=mine.add)
    carry_out(RenamedFiles(later, store))
    assert seen(store) == {"d=1/theirs", "d=1/_SUCCESS", *later.add}
    assert store.folders(TARGET) == ["d=1"]
