"""The cache of archives: what is used, what is refused, and what another process can do to it."""

import errno
import fcntl
import os
import shutil
import socket
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from graph_compiler.driver_jvm import class_archive as module
from graph_compiler.driver_jvm.class_archive import KEPT, UNUSED_SECONDS, ArchiveCache, Draft, archive_cache
from graph_compiler.driver_jvm.installation import DriverStartError

KEY, OTHER = "a" * 32, "b" * 32
DAY = 24 * 60 * 60


@pytest.fixture
def cache(tmp_path: Path) -> ArchiveCache:
    return archive_cache({"XDG_CACHE_HOME": str(tmp_path)})


def make(cache: ArchiveCache, key: str = KEY, content: bytes = b"classes") -> Path:
    with cache.new_archive(key) as draft:
        assert draft is not None
        draft.file.write_bytes(content)
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
    for folder in (cache.folder, *cache.folder.parents[:2]):
        assert folder.stat().st_mode & 0o777 == 0o700


def test_a_half_written_archive_is_not_used(cache: ArchiveCache) -> None:
    archive = make(cache)
    archive.chmod(0o600)
    os.truncate(archive, 3)
    assert cache.find(KEY) is None, "Java would die of it"
    assert make(cache).read_bytes() == b"classes"


def flip(archive: Path) -> None:
    """Change a byte, as a broken disk does: size and times stay."""
    times = archive.stat()
    archive.chmod(0o600)
    archive.write_bytes(b"C" + archive.read_bytes()[1:])
    archive.chmod(0o400)
    os.utime(archive, ns=(times.st_atime_ns, times.st_mtime_ns))


def test_a_damaged_archive_is_removed_after_a_driver_that_died(cache: ArchiveCache) -> None:
    archive, other = make(cache), make(cache, OTHER)
    words = f"-XX:+UseSerialGC -XX:SharedArchiveFile={archive} -Xlog:cds*=off"
    assert cache.remove_if_damaged(words) is None, "it died of something else"
    flip(archive)
    flip(other)
    assert cache.find(KEY) == archive, "its size is right"
    assert cache.remove_if_damaged("-XX:+UseSerialGC") is None, "the driver did not use it"
    assert cache.remove_if_damaged(words) == archive
    assert cache.find(KEY) is None
    assert cache.find(OTHER) == other


def test_an_archive_of_an_earlier_version_is_removed_after_a_driver_that_died(cache: ArchiveCache) -> None:
    archive = make(cache)
    earlier = archive.rename(archive.with_name(f"{KEY}-{archive.stat().st_size}.jsa"))
    assert cache.find(KEY) == earlier
    assert cache.remove_if_damaged(f"-XX:SharedArchiveFile={earlier}") == earlier


def test_a_full_disk_leaves_the_archive_that_is_there(cache: ArchiveCache, monkeypatch: pytest.MonkeyPatch) -> None:
    archive = make(cache)
    monkeypatch.setattr(os, "fsync", failing(errno.ENOSPC))
    with pytest.raises(DriverStartError, match="No space left"):
        make(cache, content=b"half")
    assert cache.find(KEY) == archive
    assert [*cache.folder.glob("*.jsa")] == [archive]


def test_a_process_that_ends_while_it_writes_leaves_nothing_to_be_used(cache: ArchiveCache) -> None:
    def write(draft: Draft | None) -> None:
        assert draft is not None
        draft.file.write_bytes(b"half")
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt), cache.new_archive(KEY) as draft:
        write(draft)
    assert cache.find(KEY) is None
    (cache.folder / "draft.jsa").write_bytes(b"of a process that was killed")
    assert cache.find(KEY) is None
    make(cache)
    assert sorted(each.suffix for each in cache.folder.iterdir()) == ["", ".jsa"]


def test_an_archive_that_is_replaced_stays_what_it_was_for_those_who_have_it(cache: ArchiveCache) -> None:
    with make(cache).open("rb") as mapped:
        new = make(cache, content=b"other classes")
        assert mapped.read() == b"classes"
    assert [new] == [*cache.folder.glob("*.jsa")]


def test_one_process_makes_it(cache: ArchiveCache) -> None:
    with cache.new_archive(KEY) as draft, cache.new_archive(KEY) as second:
        assert (draft is None, second is None) == (False, True)


def uses(cache: ArchiveCache, *days_ago: int) -> list[Path]:
    """Make archives, each with its last use."""
    made = [make(cache, f"{number:032}") for number, _ in enumerate(days_ago)]
    for file, days in zip(made, days_ago, strict=True):
        at = time.time() - days * DAY
        os.utime(file, (at, at))
    return made


def left(cache: ArchiveCache, archives: list[Path]) -> list[bool]:
    make(cache, OTHER)
    return [file.exists() for file in archives]


def test_an_archive_that_was_not_used_for_long_is_removed(cache: ArchiveCache) -> None:
    days = UNUSED_SECONDS // DAY
    assert left(cache, uses(cache, 0, days + 1, days - 1)) == [True, False, True]


def test_of_many_archives_those_with_the_oldest_use_are_removed(cache: ArchiveCache) -> None:
    archives = uses(cache, 3, *range(KEPT - 1))
    assert left(cache, archives) == [True, *(True for _ in range(KEPT - 2)), False]


def test_an_archive_that_is_found_counts_as_used(cache: ArchiveCache) -> None:
    (archive,) = uses(cache, 40)
    assert cache.find(f"{0:032}") == archive
    assert left(cache, [archive]) == [True]


def test_an_archive_whose_use_cannot_be_noted_is_found(cache: ArchiveCache, monkeypatch: pytest.MonkeyPatch) -> None:
    archive = make(cache)
    monkeypatch.setattr(os, "utime", failing(errno.EROFS))
    assert cache.find(KEY) == archive


def failing(number: int) -> Callable[..., None]:
    def fail(*_: object, **__: object) -> None:
        raise OSError(number, os.strerror(number))

    return fail


def test_a_file_that_vanishes_is_skipped(cache: ArchiveCache, monkeypatch: pytest.MonkeyPatch) -> None:
    archive = make(cache)
    gone = archive.with_name(f"{KEY}-3.jsa")
    monkeypatch.setattr(module, "_archives", lambda _: [gone, archive])
    assert cache.find(KEY) == archive


def test_a_folder_that_vanishes_is_a_reason(cache: ArchiveCache, monkeypatch: pytest.MonkeyPatch) -> None:
    make(cache)
    monkeypatch.setattr(Path, "exists", lambda _: True)
    shutil.rmtree(cache.folder)
    with pytest.raises(DriverStartError, match="No such file"):
        cache.find(KEY)


def test_a_home_that_cannot_be_looked_at_is_a_reason(tmp_path: Path) -> None:
    cache = archive_cache({"XDG_CACHE_HOME": str(tmp_path / ("x" * 300))})
    with pytest.raises(DriverStartError, match="File name too long"):
        cache.find(KEY)
    with pytest.raises(DriverStartError, match="File name too long"), cache.new_archive(KEY):
        pass
    assert not cache.is_due(KEY)
    cache.note_failure(KEY, "it cannot be kept")
    assert cache.has_failed(KEY) is None


def test_a_file_system_without_locks_is_a_reason(cache: ArchiveCache, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fcntl, "flock", failing(errno.ENOLCK))
    with pytest.raises(DriverStartError, match="No locks available"), cache.new_archive(KEY):
        pass


def test_a_process_that_inherits_the_lock_keeps_other_makers_out(cache: ArchiveCache) -> None:
    with cache.new_archive(KEY) as draft:
        assert draft is not None
        heir = subprocess.Popen(["cat"], stdin=subprocess.PIPE, pass_fds=(draft.lock,))
    with cache.new_archive(KEY) as second:
        assert second is None
    heir.communicate()
    with cache.new_archive(KEY) as third:
        assert third is not None


@pytest.mark.parametrize("part", ["file", "folder", "parent", "grandparent"])
def test_what_others_can_write_to_is_refused(cache: ArchiveCache, part: str) -> None:
    archive = make(cache)
    parts = ("file", "folder", "parent", "grandparent")
    place = dict(zip(parts, (archive, *archive.parents), strict=False))[part]
    place.chmod(0o777)
    with pytest.raises(DriverStartError, match="only this user can write"):
        cache.find(KEY)


def test_what_belongs_to_another_user_is_refused(cache: ArchiveCache, monkeypatch: pytest.MonkeyPatch) -> None:
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


def test_a_folder_in_which_others_can_rename_is_refused(cache: ArchiveCache, tmp_path: Path) -> None:
    make(cache)
    tmp_path.chmod(0o777)
    with pytest.raises(DriverStartError, match="others can rename"):
        cache.find(KEY)
    tmp_path.chmod(0o1777)
    assert cache.find(KEY) is not None


def test_a_link_to_a_folder_is_refused(cache: ArchiveCache, tmp_path: Path) -> None:
    make(cache)
    cache.folder.rename(tmp_path / "elsewhere")
    cache.folder.symlink_to(tmp_path / "elsewhere")
    with pytest.raises(DriverStartError):
        cache.find(KEY)


def test_a_folder_far_above_in_which_others_can_rename_is_refused(tmp_path: Path) -> None:
    home = tmp_path / "a" / "b" / "home"
    home.mkdir(parents=True)
    cache = archive_cache({"HOME": str(home)})
    make(cache)
    (tmp_path / "a").chmod(0o777)
    with pytest.raises(DriverStartError, match="others can rename folders in .*/a$"):
        cache.find(KEY)


def test_a_link_above_the_cache_is_followed_once(tmp_path: Path) -> None:
    (tmp_path / "home").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "home")
    assert archive_cache({"HOME": str(tmp_path / "link")}).folder.is_relative_to(tmp_path / "home")


def test_an_unreadable_archive_is_refused(cache: ArchiveCache, monkeypatch: pytest.MonkeyPatch) -> None:
    make(cache)
    monkeypatch.setattr(os, "access", lambda *_: False)  # to root, everything is readable
    with pytest.raises(DriverStartError):
        cache.find(KEY)


def test_it_is_made_after_the_second_driver_that_would_use_it(cache: ArchiveCache) -> None:
    assert [cache.is_due(KEY), cache.is_due(OTHER), cache.is_due(KEY)] == [False, False, True]
    make(cache)
    assert [*cache.folder.glob(f"{KEY}.*")] == []


def test_nothing_is_written_for_what_others_can_write_to(cache: ArchiveCache) -> None:
    assert not cache.is_due(OTHER)
    cache.folder.chmod(0o777)
    assert not cache.is_due(KEY)
    cache.note_failure(KEY, "no disk")
    assert [*cache.folder.glob(f"{KEY}.*")] == []


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
    found = archive_cache(environment).folder
    assert found == Path(folder, "graph-compiler", "class-archives", socket.gethostname())


def test_each_host_has_a_folder_of_a_safe_name(monkeypatch: pytest.MonkeyPatch) -> None:
    folders = set()
    for name in ("one", "two", "a:b/../c", "..", ""):
        monkeypatch.setattr(socket, "gethostname", lambda name=name: name)
        folder = archive_cache({"HOME": "/me"}).folder
        assert folder.parent == Path("/me/.cache/graph-compiler/class-archives")
        assert ":" not in folder.name
        folders.add(folder.name)
    assert len(folders) == 5
    assert ".." not in folders


@pytest.mark.parametrize("environment", [{}, {"HOME": "."}, {"XDG_CACHE_HOME": "/a:b"}])
def test_there_may_be_no_place_for_it(environment: dict[str, str]) -> None:
    with pytest.raises(DriverStartError):
        archive_cache(environment)
