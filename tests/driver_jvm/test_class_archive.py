"""The cache of archives: what is used, what is refused, and what another process can do to it."""

import os
from pathlib import Path

import pytest

from graph_compiler.driver_jvm.class_archive import KEPT, ArchiveCache, archive_cache
from graph_compiler.driver_jvm.installation import DriverStartError

KEY, OTHER = "a" * 32, "b" * 32


@pytest.fixture
def cache(tmp_path: Path) -> ArchiveCache:
    return archive_cache({"XDG_CACHE_HOME": str(tmp_path)})


def make(cache: ArchiveCache, key: str = KEY, content: bytes = b"classes") -> Path:
    with cache.new_archive(key) as draft:
        assert draft is not None
        draft.write_bytes(content)
    found = cache.find(key)
    assert found is not None
    return found


def test_an_archive_is_found_by_its_key(cache: ArchiveCache) -> None:
    assert cache.find(KEY) is None
    assert make(cache).read_bytes() == b"classes"
    assert cache.find(OTHER) is None


def test_only_its_user_can_read_or_write_it(cache: ArchiveCache) -> None:
    before = os.umask(0)
    try:
        archive = make(cache)
    finally:
        os.umask(before)
    assert archive.stat().st_mode & 0o777 == 0o400
    for folder in (cache.folder, cache.folder.parent):
        assert folder.stat().st_mode & 0o777 == 0o700


def test_a_half_written_archive_is_not_used(cache: ArchiveCache) -> None:
    archive = make(cache)
    archive.chmod(0o600)
    os.truncate(archive, 3)
    assert cache.find(KEY) is None, "Java would die of it"
    assert make(cache).read_bytes() == b"classes"


def test_a_process_that_ends_while_it_writes_leaves_nothing_to_be_used(cache: ArchiveCache) -> None:
    def write(draft: Path | None) -> None:
        assert draft is not None
        draft.write_bytes(b"half")
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt), cache.new_archive(KEY) as draft:
        write(draft)
    assert cache.find(KEY) is None
    (cache.folder / "draft.jsa").write_bytes(b"of a process that was killed")
    assert cache.find(KEY) is None
    make(cache)
    assert sorted(each.suffix for each in cache.folder.iterdir()) == ["", ".jsa"]


def test_an_archive_that_is_replaced_stays_what_it_was_for_those_who_have_it(
    cache: ArchiveCache,
) -> None:
    with make(cache).open("rb") as mapped:
        new = make(cache, content=b"other classes")
        assert mapped.read() == b"classes"
    assert [new] == [*cache.folder.glob("*.jsa")]


def test_one_process_makes_it(cache: ArchiveCache) -> None:
    with cache.new_archive(KEY) as draft, cache.new_archive(KEY) as second:
        assert (draft is None, second is None) == (False, True)


def test_old_archives_are_removed(cache: ArchiveCache) -> None:
    for number in range(KEPT + 2):
        archive = make(cache, f"{number:032}")
        os.utime(archive, (number, number))
    found = [cache.find(f"{number:032}") is not None for number in range(KEPT + 2)]
    assert found == [False, False, *(True for _ in range(KEPT))]


@pytest.mark.parametrize("part", ["file", "folder", "parent"])
def test_what_others_can_write_to_is_refused(cache: ArchiveCache, part: str) -> None:
    archive = make(cache)
    place = {"file": archive, "folder": cache.folder, "parent": cache.folder.parent}[part]
    place.chmod(0o777)
    with pytest.raises(DriverStartError, match="only this user can write"):
        cache.find(KEY)


def test_what_belongs_to_another_user_is_refused(
    cache: ArchiveCache, monkeypatch: pytest.MonkeyPatch
) -> None:
    make(cache)
    user = os.geteuid()
    monkeypatch.setattr(os, "geteuid", lambda: user + 1)
    with pytest.raises(DriverStartError):
        cache.find(KEY)


def test_a_link_is_refused(cache: ArchiveCache, tmp_path: Path) -> None:
    archive = make(cache)
    archive.rename(tmp_path / "elsewhere")
    archive.symlink_to(tmp_path / "elsewhere")
    with pytest.raises(DriverStartError):
        cache.find(KEY)


def test_a_folder_in_which_others_can_rename_is_refused(
    cache: ArchiveCache, tmp_path: Path
) -> None:
    make(cache)
    tmp_path.chmod(0o777)
    with pytest.raises(DriverStartError, match="others can rename"):
        cache.find(KEY)
    tmp_path.chmod(0o1777)
    assert cache.find(KEY) is not None


def test_an_unreadable_archive_is_refused(
    cache: ArchiveCache, monkeypatch: pytest.MonkeyPatch
) -> None:
    make(cache)
    monkeypatch.setattr(os, "access", lambda *_: False)  # to root, everything is readable
    with pytest.raises(DriverStartError):
        cache.find(KEY)


def test_it_is_made_after_the_second_driver_that_would_use_it(cache: ArchiveCache) -> None:
    assert [cache.is_due(KEY), cache.is_due(OTHER), cache.is_due(KEY)] == [False, False, True]
    cache.note_failure(KEY, "no disk")
    assert not cache.is_due(KEY)
    assert cache.has_failed(KEY) == "no disk"
    make(cache)
    assert cache.has_failed(KEY) is None


def test_a_cache_that_cannot_be_written_is_no_error(tmp_path: Path) -> None:
    (tmp_path / "graph-compiler").write_text("in the way")
    assert not archive_cache({"XDG_CACHE_HOME": str(tmp_path)}).is_due(KEY)


@pytest.mark.parametrize(
    ("environment", "folder"),
    [
        ({"HOME": "/home/me"}, "/home/me/.cache"),
        ({"HOME": "/home/me", "XDG_CACHE_HOME": ""}, "/home/me/.cache"),
        ({"HOME": "/home/me", "XDG_CACHE_HOME": "relative"}, "/home/me/.cache"),
        ({"HOME": "/home/me", "XDG_CACHE_HOME": "/var/cache/me"}, "/var/cache/me"),
    ],
)
def test_the_cache_is_where_the_user_keeps_caches(environment: dict[str, str], folder: str) -> None:
    assert archive_cache(environment).folder == Path(folder, "graph-compiler", "class-archives")


@pytest.mark.parametrize("environment", [{}, {"HOME": "."}, {"XDG_CACHE_HOME": "/a:b"}])
def test_there_may_be_no_place_for_it(environment: dict[str, str]) -> None:
    with pytest.raises(DriverStartError):
        archive_cache(environment)
