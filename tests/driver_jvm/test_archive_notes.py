"""When an archive is made, and for how long a reason against it counts."""

import os
import time
from pathlib import Path

import pytest

from graph_compiler.driver_jvm.class_archive import ArchiveNotes

KEY = "a" * 32
DAY = 24 * 60 * 60


@pytest.fixture
def notes(tmp_path: Path) -> ArchiveNotes:
    return ArchiveNotes(tmp_path)


def a_day_later(notes: ArchiveNotes) -> None:
    at = time.time() - DAY - 60
    for file in notes.folder.iterdir():
        os.utime(file, (at, at))


def test_it_is_due_for_the_second_driver_and_then_once_a_day(notes: ArchiveNotes) -> None:
    assert [notes.is_due(KEY) for _ in range(4)] == [False, True, False, False]
    a_day_later(notes)
    assert [notes.is_due(KEY) for _ in range(3)] == [True, False, False]


def test_a_driver_of_yesterday_counts(notes: ArchiveNotes) -> None:
    assert not notes.is_due(KEY)
    a_day_later(notes)
    assert [notes.is_due(KEY) for _ in range(2)] == [True, False]


@pytest.mark.parametrize("why", ["no disk", ""])
def test_a_failure_counts_for_a_day(notes: ArchiveNotes, why: str) -> None:
    notes.is_due(KEY)
    notes.note_failure(KEY, why)
    assert (notes.failure(KEY), notes.is_due(KEY)) == (why, False)
    a_day_later(notes)
    assert (notes.failure(KEY), notes.is_due(KEY)) == (None, True)


def test_the_last_reason_is_kept(notes: ArchiveNotes) -> None:
    notes.note_failure(KEY, "no disk")
    notes.note_failure(KEY, "no Java")
    assert notes.failure(KEY) == "no Java"


def test_a_note_is_for_its_user_only_and_no_link_is_followed(notes: ArchiveNotes, tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    (tmp_path / f"{KEY}.failed").symlink_to(elsewhere)
    before = os.umask(0)
    try:
        notes.note_failure(KEY, "no disk")
        notes.is_due("b" * 32)
    finally:
        os.umask(before)
    assert not elsewhere.exists()
    assert {file.lstat().st_mode & 0o7777 for file in tmp_path.iterdir()} == {0o600}


def test_a_link_that_appears_in_this_moment_is_not_written_through(
    notes: ArchiveNotes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / f"{KEY}.wanted").symlink_to(tmp_path / "elsewhere")
    monkeypatch.setattr(os.path, "lexists", lambda _: False)
    assert not notes.is_due(KEY)
    assert not (tmp_path / "elsewhere").exists()
