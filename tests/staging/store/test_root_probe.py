"""A staging root whose store does not keep two writers apart is refused, and asked only once."""

import errno
import os
from pathlib import Path

import pytest

from graph_compiler.errors import StagingError
from graph_compiler.staging.store.in_memory_store import InMemoryStore
from graph_compiler.staging.store.local_store import LocalStore
from graph_compiler.staging.store.root_probe import RECORD, check_root, why_unlisted


class IgnoresConditions(InMemoryStore):
    """A store like s3rver, which takes the condition of a write and ignores it."""

    def put_if_absent(self, key: str, content: bytes) -> bool:
        self.put(key, content)
        return True


class Counting(InMemoryStore):
    """Counts what is written."""

    puts = 0

    def put_if_absent(self, key: str, content: bytes) -> bool:
        self.puts += 1
        return super().put_if_absent(key, content)


def test_a_store_that_ignores_conditions_is_refused() -> None:
    store = IgnoresConditions()
    with pytest.raises(StagingError, match="two writers of a document both succeeded"):
        check_root(store, "/staging")
    assert store.content == {}


def test_a_root_is_probed_once() -> None:
    store = Counting()
    for _ in range(3):
        check_root(store, "/staging")
    assert list(store.content) == [f"/staging/{RECORD}"]
    assert store.puts == 3


def test_a_damaged_record_is_written_again() -> None:
    store = InMemoryStore()
    store.put(f"/staging/{RECORD}", b"")
    check_root(store, "/staging")
    assert b"probed" in store.content[f"/staging/{RECORD}"]


@pytest.mark.parametrize("number", [errno.EPERM, errno.EOPNOTSUPP, errno.ENOSYS])
def test_a_file_system_without_hard_links_is_refused(
    number: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def link(*_: object) -> None:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(os, "link", link)
    with pytest.raises(StagingError, match="its file system has no hard links"):
        check_root(LocalStore(), str(tmp_path))
    assert list(tmp_path.rglob("*")) == []


def test_a_full_disk_is_not_taken_for_one_without_links(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def link(*_: object) -> None:
        raise OSError(errno.ENOSPC, "full")

    monkeypatch.setattr(os, "link", link)
    with pytest.raises(OSError, match="full"):
        check_root(LocalStore(), str(tmp_path))


class ListsLate(InMemoryStore):
    """A store whose listings do not show what was just written."""

    def keys(self, folder: str) -> list[str]:  # noqa: ARG002  # nothing is listed
        return []


class KeepsAll(InMemoryStore):
    """A store whose owner may not delete."""

    def delete(self, key: str) -> bool:  # noqa: ARG002  # nothing is deleted
        return False


def test_cleanup_needs_listings_and_deletions() -> None:
    store = InMemoryStore()
    assert why_unlisted(store, "/staging") is None
    assert store.content == {}
    assert why_unlisted(ListsLate(), "/staging") == "an object that was just written is not listed"
    assert why_unlisted(KeepsAll(), "/staging") == "an object cannot be deleted"
