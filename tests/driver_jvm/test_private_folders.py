"""Folders that are made and checked for one user."""

import os
from pathlib import Path

import pytest

from graph_compiler.driver_jvm.class_archive import make_private
from graph_compiler.driver_jvm.installation import DriverStartError


@pytest.mark.parametrize("umask", [0, 0o002, 0o077])
def test_missing_parents_are_private_whatever_the_umask_is(tmp_path: Path, umask: int) -> None:
    before = os.umask(umask)
    try:
        make_private(tmp_path / "a" / "b" / "c")
    finally:
        os.umask(before)
    made = [tmp_path / part for part in ("a", "a/b", "a/b/c")]
    assert [folder.stat().st_mode & 0o7777 for folder in made] == [0o700] * 3


def test_nothing_is_made_in_a_folder_of_another_user(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    user = os.geteuid()
    monkeypatch.setattr(os, "geteuid", lambda: user + 1)
    with pytest.raises(DriverStartError, match=f"{tmp_path} belongs to another user"):
        make_private(tmp_path / ".cache" / "graph-compiler")
    assert [*tmp_path.iterdir()] == []


def test_a_folder_that_is_there_stays(tmp_path: Path) -> None:
    tmp_path.chmod(0o755)
    make_private(tmp_path)
    assert tmp_path.stat().st_mode & 0o7777 == 0o755
