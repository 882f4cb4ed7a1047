"""The requirements that every store meets."""

import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from graph_compiler.errors import DamagedDocumentError, PublicationError, StagingError
from graph_compiler.staging.store.hdfs_store import HdfsStore
from graph_compiler.staging.store.in_memory_store import InMemoryStore
from graph_compiler.staging.store.local_store import LocalStore
from graph_compiler.staging.store.staging_store import StagingStore
from graph_compiler.staging.store.store_access import opener
from graph_compiler.staging.store.stores import committing, publishing, store_of, target_store
from graph_compiler.stores.store_kind import Promises
from tests.harness.fake_hdfs import FakeHdfs

STORES: dict[str, Callable[[], StagingStore]] = {"local": LocalStore, "in memory": InMemoryStore}


@pytest.fixture(params=list(STORES.values()), ids=list(STORES))
def store(request: pytest.FixtureRequest) -> StagingStore:
    made: StagingStore = request.param()
    return made


@pytest.fixture
def root(tmp_path: Path) -> str:
    return str(tmp_path / "root")


def test_a_key_can_be_written_once(store: StagingStore, root: str) -> None:
    key = f"{root}/run/manifest.json"
    assert [store.put_if_absent(key, content) for content in (b"1", b"2")] == [True, False]
    assert store.get(key) == b"1"
    store.put(key, b"3")
    assert store.get(key) == b"3"
    assert store.written(key) is not None


def test_missing_documents_are_none(store: StagingStore, root: str) -> None:
    assert store.get(f"{root}/x") is None
    assert store.written(f"{root}/x") is None
    assert store.keys(root) == []
    assert store.folders(root) == []
    assert list(store.files(root)) == []
    assert not store.is_there(root)
    assert not store.move(f"{root}/x", f"{root}/y")
    assert store.delete(f"{root}/x")
    assert store.digest(f"{root}/x") is None
    store.discard_empty(f"{root}/x")


def test_folders_and_files_are_listed(store: StagingStore, root: str) -> None:
    for name in ("a/1.json", "a/b/2.json", ".c/3.json", "4.json"):
        store.put_if_absent(f"{root}/{name}", name.encode())
    assert store.folders(root) == [".c", "a"]
    assert store.folders(f"{root}/a") == ["b"]
    assert store.keys(f"{root}/a/b") == [f"{root}/a/b/2.json"]
    found = {file.key: file.bytes for file in store.files(root)}
    assert found == {f"{root}/a/1.json": 8, f"{root}/a/b/2.json": 10, f"{root}/.c/3.json": 9, f"{root}/4.json": 6}
    assert store.is_there(f"{root}/a")
    assert store.is_there(f"{root}/a/1.json")
    assert not store.is_there(f"{root}/a/1")


def test_folders_are_moved_and_deleted_recursively(store: StagingStore, root: str) -> None:
    for name in ("run/1.json", "run/data/2.json", "runs/3.json"):
        store.put_if_absent(f"{root}/{name}", b"{}")
    assert store.move(f"{root}/run", f"{root}/.trash/x")
    assert not store.is_there(f"{root}/run")
    assert store.get(f"{root}/.trash/x/data/2.json") == b"{}"
    assert store.delete(f"{root}/.trash/x")
    assert not store.is_there(f"{root}/.trash/x")
    assert store.get(f"{root}/runs/3.json") == b"{}"


@pytest.mark.parametrize("kind", [*STORES, "hdfs"])
def test_no_folder_is_moved_over_one_that_is_not_empty(kind: str, root: str) -> None:
    store = STORES.get(kind, lambda: HdfsStore(FakeHdfs()))()
    root = f"hdfs://nn{root}" if kind == "hdfs" else root
    for name in ("mine/1.json", "theirs/2.json"):
        store.put(f"{root}/{name}", b"{}")
    with pytest.raises(FileExistsError):
        store.move(f"{root}/mine", f"{root}/theirs")
    assert {file.key.removeprefix(root) for file in store.files(root)} == {"/mine/1.json", "/theirs/2.json"}


def test_folders_are_exchanged_where_supported(store: StagingStore, root: str) -> None:
    for name in ("new/1.json", "old/2.json", "old/.3.json"):
        store.put_if_absent(f"{root}/{name}", b"{}")
    assert store.promises.atomic_exchange
    assert store.exchange(f"{root}/new", f"{root}/old")
    found = {one.key for folder in ("new", "old") for one in store.files(f"{root}/{folder}")}
    assert found == {f"{root}/new/2.json", f"{root}/new/.3.json", f"{root}/old/1.json"}
    assert store.folders(root) == ["new", "old"]


def test_a_folder_of_too_many_names_is_not_listed(store: StagingStore, root: str) -> None:
    for number in range(3):
        store.put_if_absent(f"{root}/{number}.json", b"{}")
    assert len(list(store.files(root, most=3))) == 3
    with pytest.raises(DamagedDocumentError, match="has more than 2 entries"):
        list(store.files(root, most=2))


def test_an_oversized_document_is_refused(store: StagingStore, root: str) -> None:
    store.put_if_absent(f"{root}/x", b"12345")
    assert store.get(f"{root}/x", most=5) == b"12345"
    with pytest.raises(DamagedDocumentError, match="has 5 bytes, more than 4"):
        store.get(f"{root}/x", most=4)


def test_links_out_of_the_root_are_not_followed(tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "other").write_bytes(b"x" * 100)
    root = tmp_path / "root"
    root.mkdir()
    (root / "link").symlink_to(elsewhere)
    os.mkfifo(root / "pipe")
    store = LocalStore()
    assert {Path(file.key).name for file in store.files(str(root))} == {"link", "pipe"}
    assert store.folders(str(root)) == []
    assert store.delete(str(root / "link"))
    assert (elsewhere / "other").exists()


def test_denied_access_is_not_a_missing_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def denied(*_: object, **__: object) -> None:
        raise PermissionError(13, "Permission denied")

    for name in ("lstat", "scandir"):
        monkeypatch.setattr(os, name, denied)
    store, folder = LocalStore(), str(tmp_path)
    for ask in (
        lambda: store.is_there(f"{folder}/x"),
        lambda: store.written(f"{folder}/x"),
        lambda: store.folders(folder),
        lambda: list(store.files(folder)),
    ):
        with pytest.raises(PermissionError):
            ask()


@pytest.mark.parametrize("root", ["gs://bucket/x", "relative", "", "file:x"])
def test_a_scheme_without_a_store_is_refused(root: str) -> None:
    with pytest.raises(StagingError, match="allowed: an absolute path, a file: URI, s3a:"):
        store_of(root)


def promising(promises: Promises) -> StagingStore:
    store = InMemoryStore()
    store.promises = promises
    return store


ALL = Promises(conditional_put=True, atomic_move=True, atomic_exchange=True)


def test_staging_roots_need_a_store_with_put_if_absent() -> None:
    commits_alone = promising(replace(ALL, atomic_move=False, atomic_exchange=False))
    assert committing(commits_alone, "/staging") is commits_alone
    with pytest.raises(StagingError, match="^'/staging' is in a store that nothing can be staged"):
        committing(promising(replace(ALL, conditional_put=False)), "/staging")


def test_file_targets_need_a_store_with_atomic_moves() -> None:
    moves_alone = promising(replace(ALL, conditional_put=False, atomic_exchange=False))
    assert publishing(moves_alone, "/out") is moves_alone
    with pytest.raises(PublicationError, match="^its target /out is in a store in which written files cannot appear"):
        publishing(promising(replace(ALL, atomic_move=False)), "/out")


def test_stores_have_the_capabilities_of_their_use(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(LocalStore, "promises", replace(ALL, conditional_put=False))
    assert target_store("/out").promises.atomic_move
    with pytest.raises(StagingError, match="nothing can be staged in"):
        store_of("/staging")
    monkeypatch.setattr(LocalStore, "promises", replace(ALL, atomic_move=False))
    assert store_of("/staging").promises.conditional_put
    with pytest.raises(PublicationError, match="cannot appear in one step"):
        target_store("/out")


def test_credentials_are_asked_for_again_after_a_minute(monkeypatch: pytest.MonkeyPatch) -> None:
    keys, now = iter("ab"), 120.0
    monkeypatch.setattr("time.monotonic", lambda: now)
    found: list[tuple[str, str]] = []

    def store_at(bucket: str, key: str) -> StagingStore:
        found.append((bucket, key))
        return InMemoryStore()

    opened = opener(lambda: next(keys), store_at)
    for moment in (120.0, 179.0, 181.0):
        now = moment
        opened("s3a://lake/staging")
    assert found == [("lake", "a"), ("lake", "a"), ("lake", "b")]
