"""Two carriers of one intent, in every order of their steps, each dying at each step: what readers see, and the end."""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import pytest

from graph_compiler.errors import PublicationConflictError
from graph_compiler.staging.publications import files_on_disk as module
from graph_compiler.staging.publications.carrier import carry_out, steps
from graph_compiler.staging.publications.files_on_disk import FilesOnDisk
from graph_compiler.staging.store.in_memory_store import InMemoryStore
from graph_compiler.staging.store.local_store import LocalStore, exchange_folders
from graph_compiler.stores.store_kind import Promises
from tests.harness.folders import failing, in_memory, on_disk, prepare, put, seen
from tests.harness.worlds import NEW, OLD, World, append, create, linked_partition, overwrite, partitions

UNPROMISED = replace(LocalStore.promises, atomic_exchange=False)


class Refusing(InMemoryStore):
    """Cannot exchange folders, whatever it promises."""

    def __init__(self, promises: Promises) -> None:
        super().__init__()
        self.promises = promises
        self.asked: list[str] = []

    def exchange(self, one: str, other: str) -> bool:
        self.asked += [one, other]
        return False


@pytest.fixture(autouse=True)
def no_sync(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "sync_folder", lambda _: None)


@pytest.fixture
def world(tmp_path: Path) -> Iterator[Path]:
    with in_memory(tmp_path) as folder:
        yield folder / "world"


def test_readers_see_all_old_files_or_all_new_ones(world: Path) -> None:
    views: set[frozenset[str]] = set()
    explored = World(world, overwrite)
    explored.explore(lambda target: views.add(seen(target)))
    assert views == {OLD, NEW}
    assert explored.states > 300


def test_a_new_target_appears_at_once(world: Path) -> None:
    views: set[frozenset[str]] = set()
    World(world, create).explore(lambda target: views.add(seen(target)))
    assert views == {frozenset(), NEW}


def test_appended_files_appear_one_by_one_and_none_are_removed(world: Path) -> None:
    views: set[frozenset[str]] = set()
    World(world, append).explore(lambda target: views.add(seen(target)))
    assert views == {OLD, OLD | {"new-1"}, OLD | NEW}


def test_each_partition_is_replaced_atomically_and_others_are_kept(world: Path) -> None:
    views: dict[str, set[frozenset[str]]] = {f"k={k}": set() for k in range(1, 5)}

    def look(target: Path) -> None:
        for name, found in views.items():
            found.add(seen(target / name))

    World(world, partitions).explore(look)
    assert views == {
        "k=1": {OLD, NEW},
        "k=2": {frozenset(), frozenset({"new-3"})},
        "k=3": {frozenset({"old-3"})},
        "k=4": {frozenset({"own"}), frozenset()},
    }


def test_without_folder_exchange_new_files_appear_before_old_ones_go(
    world: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(LocalStore, "promises", UNPROMISED)
    views: set[frozenset[str]] = set()
    World(world, overwrite).explore(lambda target: views.add(seen(target)))
    assert all(view >= OLD or view >= NEW for view in views)
    assert {OLD, OLD | NEW, NEW} <= views


def test_an_old_file_that_is_not_found_once_is_removed_all_the_same(
    world: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(world / "out", ["old"])
    intent = prepare(world / "out", add=["new"], remove=["old"])
    unlink = failing(os.unlink, 0, FileNotFoundError())
    monkeypatch.setattr(os, "unlink", unlink)
    carry_out(on_disk(intent))
    assert seen(world / "out") == {"new"}


@pytest.mark.parametrize("is_promised", [True, False])
def test_a_failed_folder_exchange_falls_back_to_files(is_promised: bool, tmp_path: Path) -> None:
    store = Refusing(Promises(conditional_put=False, atomic_move=True, atomic_exchange=is_promised))
    target = tmp_path / "out"
    carry_out(FilesOnDisk(overwrite(target), store))
    assert seen(target) == NEW
    assert bool(store.asked) is is_promised
    assert store.asked[1:2] == ([str(target)] if is_promised else [])


@pytest.mark.parametrize("can_exchange", [True, False])
def test_a_folder_replaces_a_link_and_its_target_is_kept(
    can_exchange: bool, world: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not can_exchange:
        monkeypatch.setattr(LocalStore, "promises", UNPROMISED)
    views: set[frozenset[str]] = set()

    def look(target: Path) -> None:
        views.add(seen(target / "k=1"))
        assert seen(target / "k=2") == {"own"}
        assert seen(target.parent / "others") == OLD

    World(world, linked_partition).explore(look)
    assert {OLD, NEW} <= views <= ({OLD, NEW} if can_exchange else {OLD, NEW, frozenset()})


@pytest.mark.parametrize("can_exchange", [True, False])
def test_hidden_files_and_the_folders_mode_are_kept(
    can_exchange: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not can_exchange:
        monkeypatch.setattr(LocalStore, "promises", UNPROMISED)
    target = tmp_path / "out"
    intent = overwrite(target)
    put(target, ["_meta/notes"], "mine")
    target.chmod(0o2751)
    carry_out(on_disk(intent))
    assert seen(target) == NEW
    assert (target / "_meta" / "notes").read_text() == "mine"
    assert (target / "_SUCCESS").exists()
    assert target.stat().st_mode & 0o7777 == 0o2751


def test_an_interrupted_file_publication_is_finished_by_folder_exchange(tmp_path: Path) -> None:
    target = tmp_path / "out"
    for stop in range(20):
        shutil.rmtree(target, ignore_errors=True)
        intent = overwrite(target)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(LocalStore, "promises", UNPROMISED)
            dying = steps(on_disk(intent), carrier="dying")
            for _ in range(stop):
                next(dying, None)
        for _ in steps(on_disk(intent), carrier="next"):
            assert seen(target) >= OLD or seen(target) >= NEW, stop
        assert seen(target) == NEW, stop


def test_a_target_that_is_a_link_stays_a_link(tmp_path: Path) -> None:
    put(tmp_path / "elsewhere", OLD)
    target = tmp_path / "out"
    target.symlink_to(tmp_path / "elsewhere")
    carry_out(on_disk(prepare(target, add=sorted(NEW), remove=sorted(OLD), replaces=["."])))
    assert target.is_symlink()
    assert seen(tmp_path / "elsewhere") == NEW


@pytest.mark.parametrize("can_exchange", [True, False])
def test_old_files_that_cannot_be_deleted_are_reported_once(
    can_exchange: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def delete_nothing(*_: object, **__: object) -> None:
        """Do as `rmtree` does, told to ignore errors, where another user has the files."""

    if not can_exchange:
        monkeypatch.setattr(LocalStore, "promises", UNPROMISED)
    monkeypatch.setattr(shutil, "rmtree", delete_nothing)
    target = tmp_path / "out"
    intent = overwrite(target)
    for carrier in ("one", "two"):
        for number, _ in enumerate(steps(on_disk(intent), carrier=carrier)):
            assert number < 100, "it never ends"
    assert seen(target) == NEW
    (left,) = Path(intent.prepared).iterdir()
    assert capsys.readouterr().err.count("cannot be deleted") == 1
    assert str(left).endswith("left-one-1")


def test_a_carrier_that_wakes_after_a_later_publication_changes_nothing(tmp_path: Path) -> None:
    target = tmp_path / "out"
    for stop in range(20):
        shutil.rmtree(target, ignore_errors=True)
        intent = overwrite(target)
        zombie = steps(on_disk(intent), carrier="zombie")
        for _ in range(stop):
            next(zombie, None)
        carry_out(on_disk(intent))
        later = prepare(target, add=["later"], remove=sorted(NEW), replaces=["."], execution_id="e2")
        carry_out(on_disk(later))
        try:
            for _ in zombie:
                pass
        except PublicationConflictError:
            pass
        assert seen(target) == {"later"}, stop


@pytest.mark.parametrize("replaces", [["."], []], ids=["exchanged", "one by one"])
@pytest.mark.parametrize("done", range(14))
def test_if_prepared_files_are_removed_all_old_ones_or_all_new_ones_are_there(
    tmp_path: Path, done: int, replaces: list[str]
) -> None:
    target = tmp_path / "out"
    put(target, OLD)
    intent = prepare(target, add=sorted(NEW), remove=sorted(OLD), replaces=replaces)
    ends: list[str] = []
    sleeps = steps(on_disk(intent), "sleeps", lambda: not ends)
    for _ in range(done):
        next(sleeps, None)
    shutil.rmtree(intent.prepared, ignore_errors=True)
    with suppress(PublicationConflictError):
        carry_out(on_disk(intent), lambda: not ends)
    ends.append("done, or given up")
    found = seen(target)
    assert found in (OLD, NEW)
    with suppress(PublicationConflictError):
        for _ in sleeps:
            pass
    assert seen(target) == found


def test_new_files_stay_if_one_of_them_is_removed_when_old_ones_are_gone(tmp_path: Path) -> None:
    target = tmp_path / "out"
    put(target, OLD)
    intent = prepare(target, add=sorted(NEW), remove=sorted(OLD))
    carry_out(on_disk(intent))
    (target / "new-1").unlink()
    with pytest.raises(PublicationConflictError):
        carry_out(on_disk(intent), lambda: True)
    assert seen(target) == {"new-2"}


def test_a_folder_is_exchanged_only_where_it_can_be(tmp_path: Path) -> None:
    put(tmp_path / "one", ["a"])
    put(tmp_path / "two", ["b"])
    assert exchange_folders(tmp_path / "one", tmp_path / "two")
    assert seen(tmp_path / "one") == {"b"}
    assert seen(tmp_path / "two") == {"a"}
    assert not exchange_folders(tmp_path / "one", Path("/proc"))
    with pytest.raises(FileNotFoundError):
        exchange_folders(tmp_path / "one", tmp_path / "none")
    assert seen(tmp_path / "one") == {"b"}


def test_a_watcher_sees_whole_publications_while_carriers_are_killed(tmp_path: Path) -> None:
    with in_memory(tmp_path) as folder:
        done = subprocess.run(
            [sys.executable, "-m", "tests.harness.killed_carriers", str(folder), "7", "150"],
            capture_output=True,
            text=True,
            check=True,
            timeout=120,
        )
    found = json.loads(done.stdout)
    assert found["wrong"] == []
    assert found["claims"] == []
    assert found["published"] > 50
    assert found["views"] > 50
