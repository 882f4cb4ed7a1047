"""Who may enter folders that are created, whatever the umask."""

import os
import stat
import tempfile
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from graph_compiler.staging.store.folder_access import is_open_to_group, make_private_folder, make_staging_folder
from graph_compiler.staging.store.local_store import LocalStore
from graph_compiler.staging.store.root_probe import check_root, why_unsafe


@pytest.fixture(autouse=True, params=[0o000, 0o077], ids=["open umask", "closed umask"])
def umask(request: pytest.FixtureRequest) -> Iterator[None]:
    before = os.umask(request.param)
    yield
    os.umask(before)


@pytest.fixture
def of_a_group(tmp_path: Path) -> Path:
    root = tmp_path / "root"
    root.mkdir()
    root.chmod(0o2770)
    return root


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


@pytest.mark.parametrize("make", [make_private_folder, make_staging_folder])
@pytest.mark.parametrize("around", [0o755, 0o770, 0o2755, 0o2775, 0o2750])
def test_every_folder_that_was_missing_is_private(tmp_path: Path, make: Callable[[Path], None], around: int) -> None:
    (tmp_path / "root").mkdir()
    (tmp_path / "root").chmod(around)
    make(tmp_path / "root" / "a" / "b" / "c")
    make(tmp_path / "root" / "a" / "b" / "c")
    found = [mode(tmp_path / "root" / name) & 0o777 for name in ("a", "a/b", "a/b/c")]
    assert found == [0o700] * 3
    assert mode(tmp_path / "root") == around, "what is there is its owner's business"


def test_folders_in_a_folder_of_a_group_are_the_groups(of_a_group: Path) -> None:
    assert is_open_to_group(of_a_group)
    make_staging_folder(of_a_group / "a" / "b")
    (of_a_group / "a" / "b" / "manifest").touch()
    make_staging_folder(of_a_group / "a" / "b")
    make_staging_folder(of_a_group / "a" / "b" / "c")
    assert [mode(of_a_group / name) for name in ("a", "a/b", "a/b/c")] == [0o2770] * 3
    assert {*map(str, of_a_group.rglob("*"))} == {
        f"{of_a_group}/{name}" for name in ("a", "a/b", "a/b/c", "a/b/manifest")
    }


def test_a_private_folder_in_a_folder_of_a_group_stays_private(of_a_group: Path) -> None:
    make_private_folder(of_a_group / "a")
    make_staging_folder(of_a_group / "a" / "b")
    assert [mode(of_a_group / name) & 0o777 for name in ("a", "a/b")] == [0o700] * 2


@pytest.mark.parametrize("around", [0o755, 0o2770])
def test_a_file_in_the_way_is_reported(tmp_path: Path, around: int) -> None:
    tmp_path.chmod(around)
    (tmp_path / "a").write_text("")
    with pytest.raises(OSError, match="a"):
        make_staging_folder(tmp_path / "a" / "b")
    assert [*tmp_path.iterdir()] == [tmp_path / "a"]


def test_a_folder_that_another_process_creates_meanwhile_stays(
    of_a_group: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rename = os.rename

    def too_late(aside: str, path: Path) -> None:
        path.mkdir()
        (path / "manifest").touch()
        rename(aside, path)

    monkeypatch.setattr(os, "rename", too_late)
    make_staging_folder(of_a_group / "a")
    assert [*of_a_group.rglob("*")] == [of_a_group / "a", of_a_group / "a" / "manifest"]


def test_documents_are_private_with_their_folders(tmp_path: Path) -> None:
    key = tmp_path / "p" / "run" / "run.json"
    assert LocalStore().put_if_absent(str(key), b"{}")
    LocalStore().put(str(key), b"{1}")
    assert (mode(key), mode(key.parent), mode(key.parent.parent)) == (0o600, 0o700, 0o700)


def test_documents_in_a_folder_of_a_group_are_the_groups(of_a_group: Path) -> None:
    key = of_a_group / "p" / "run.json"
    assert LocalStore().put_if_absent(str(key), b"{}")
    assert mode(key) == 0o660
    LocalStore().put(str(key), b"{1}")
    assert (mode(key), mode(key.parent)) == (0o660, 0o2770)


def test_a_folder_that_others_remove_while_it_is_empty_is_created_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    removals = iter([True, False, True, False])
    for name in ("mkstemp", "mkdtemp"):
        monkeypatch.setattr(tempfile, name, _after_removal(getattr(tempfile, name), removals))
    monkeypatch.setattr(os, "rename", _after_removal(os.rename, removals))
    store, root = LocalStore(), tmp_path / "root"
    assert store.put_if_absent(f"{root}/run/claim", b"1")
    assert store.get(f"{root}/run/claim") == b"1"
    assert store.move(f"{root}/run", f"{root}/trash/1")
    assert store.get(f"{root}/trash/1/claim") == b"1"
    assert not store.move(f"{root}/run", f"{root}/trash/2")
    assert next(removals, None) is None, "each of them has been removed"


def _after_removal(act: Callable[..., Any], removals: Iterator[bool]) -> Callable[..., Any]:
    """Remove the folder in which something is to be created, while it is empty, where `removals` says so."""

    def removed(*given: str, **named: str) -> Any:
        if next(removals, False):
            Path(named["dir"] if named else given[1] + "/..").resolve().rmdir()
        return act(*given, **named)

    return removed


def test_folders_that_disappear_each_time_are_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "mkdir", lambda *_: None)
    with pytest.raises(FileNotFoundError):
        LocalStore().put_if_absent(f"{tmp_path}/run/claim", b"1")


def test_many_probe_a_new_root_at_once(tmp_path: Path) -> None:
    def probe(_: int) -> None:
        check_root(LocalStore(), str(tmp_path / "root"))
        assert why_unsafe(LocalStore(), str(tmp_path / "root")) is None

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(probe, range(200)))
