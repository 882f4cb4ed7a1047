"""Folders that only their owner may enter, whatever the umask."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from graph_compiler.staging.store.local_store import LocalStore
from graph_compiler.staging.store.private_folders import make_private_folder


@pytest.fixture(autouse=True)
def open_umask() -> Iterator[None]:
    before = os.umask(0o000)
    yield
    os.umask(before)


def mode(path: Path) -> int:
    return path.stat().st_mode & 0o777


def test_every_folder_that_was_missing_is_private(tmp_path: Path) -> None:
    (tmp_path / "root").mkdir(mode=0o755)
    make_private_folder(tmp_path / "root" / "a" / "b" / "c")
    make_private_folder(tmp_path / "root" / "a" / "b" / "c")
    assert [mode(tmp_path / "root" / name) for name in ("a", "a/b", "a/b/c")] == [0o700] * 3
    assert mode(tmp_path / "root") == 0o755, "what is there is its owner's business"


def test_a_file_in_the_way_is_reported(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("")
    with pytest.raises(OSError, match="a"):
        make_private_folder(tmp_path / "a" / "b")


def test_documents_are_private_with_their_folders(tmp_path: Path) -> None:
    key = tmp_path / "p" / "run" / "run.json"
    assert LocalStore().put_if_absent(str(key), b"{}")
    assert (mode(key), mode(key.parent), mode(key.parent.parent)) == (0o600, 0o700, 0o700)
