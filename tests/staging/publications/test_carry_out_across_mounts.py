"""A target, or a partition folder, on another mount: files are copied there, and all other promises hold."""

import errno
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from graph_compiler.errors import PublicationConflictError, PublicationPendingError
from graph_compiler.staging.publications import files_on_disk as module
from graph_compiler.staging.publications.carrier import carry_out, steps
from graph_compiler.staging.publications.listing import data_files
from graph_compiler.staging.publications.mounts import preparation_folder
from graph_compiler.staging.publications.publications import Intent
from tests.harness.folders import in_memory, on_disk, prepare, put, seen
from tests.harness.worlds import NEW, OLD, World

ROOT = Path(__file__).parents[3]


@pytest.fixture
def world(tmp_path: Path) -> Path:
    return tmp_path / "world"


@pytest.fixture
def elsewhere(tmp_path: Path) -> Iterator[Path]:
    """Yield a folder on another mount than the test's."""
    shared = Path("/dev/shm")
    if not shared.is_dir() or shared.stat().st_dev == tmp_path.stat().st_dev:
        pytest.skip("this machine has no second file system that a test may write to")
    with tempfile.TemporaryDirectory(dir=shared) as folder:
        yield Path(folder) / "elsewhere"


@pytest.fixture
def mounts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[Path, Path]]:
    """Yield two folders in memory between which nothing can be renamed, as if they were two mounts."""
    monkeypatch.setattr(module, "sync_folder", lambda _: None)
    monkeypatch.setattr(os, "fsync", lambda _: None)
    real = Path.rename

    def renames(path: Path, to: Path) -> Path:
        if ("elsewhere" in path.resolve().parts) != ("elsewhere" in to.parent.resolve().parts):
            raise OSError(errno.EXDEV, os.strerror(errno.EXDEV), str(path), None, str(to))
        return real(path, to)

    monkeypatch.setattr(Path, "rename", renames)
    with in_memory(tmp_path) as folder:
        yield folder / "world", folder / "elsewhere"


def linked(target: Path, elsewhere: Path) -> Intent:
    """Replace all files of a target that is a link to another mount, prepared beside the link."""
    put(elsewhere, ["old", "_SUCCESS"])
    target.symlink_to(elsewhere)
    return prepare(target, add=["new"], remove=["old"], replaces=["."])


@pytest.mark.ci
def test_in_every_order_of_steps_a_target_on_another_mount_gets_new_files_before_old_ones_go(
    mounts: tuple[Path, Path],
) -> None:
    world, elsewhere = mounts
    views: set[frozenset[str]] = set()
    explored = World(world, lambda target: linked(target, elsewhere), elsewhere)
    explored.explore(lambda target: views.add(seen(target)))
    assert views == {frozenset(names) for names in (["old"], ["old", "new"], ["new"])}
    assert explored.states > 300
    assert (elsewhere / "_SUCCESS").exists()


def test_a_carrier_that_wakes_in_a_copy_after_a_later_publication_changes_nothing(mounts: tuple[Path, Path]) -> None:
    world, elsewhere = mounts
    target = world / "out"
    for stop in range(25):
        for folder in (world, elsewhere):
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir()
        intent = linked(target, elsewhere)
        zombie = steps(on_disk(intent), carrier="zombie")
        for _ in range(stop):
            next(zombie, None)
        carry_out(on_disk(intent))
        later = prepare(target, add=["later"], remove=["new"], replaces=["."], execution_id="e2")
        carry_out(on_disk(later))
        try:
            for _ in zombie:
                pass
        except PublicationConflictError:
            pass
        assert seen(target) == {"later"}, stop
        assert not list(elsewhere.rglob("copying")), stop


def test_a_copy_has_the_bytes_and_the_mode_of_the_file(world: Path, elsewhere: Path) -> None:
    world.mkdir()
    elsewhere.mkdir()
    (world / "out").symlink_to(elsewhere)
    intent = prepare(world / "out", add=["new"])
    written = Path(intent.prepared) / "ready" / "new"
    written.write_bytes(os.urandom(3 << 20))
    written.chmod(0o640)
    content = written.read_bytes()
    carry_out(on_disk(intent))
    assert (elsewhere / "new").read_bytes() == content
    assert (elsewhere / "new").stat().st_mode & 0o777 == 0o640


def test_a_file_for_a_partition_behind_a_link_to_another_mount_is_copied_there(world: Path, elsewhere: Path) -> None:
    put(elsewhere, ["old"])
    put(world / "out", ["k=1/old"])
    (world / "out" / "k=2").symlink_to(elsewhere)
    carry_out(on_disk(prepare(world / "out", add=["k=1/new-1", "k=2/new-2"])))
    assert seen(elsewhere) == {"old", "new-2"}
    assert not list(world.rglob("*.graph_compiler")) + list(elsewhere.rglob("*.graph_compiler"))


def test_rows_for_a_target_on_another_mount_are_prepared_in_it(world: Path, elsewhere: Path) -> None:
    world.mkdir()
    elsewhere.mkdir()
    (world / "away").symlink_to(elsewhere)
    (world / "here").mkdir()
    (world / "near").symlink_to(world / "here")
    assert preparation_folder(world / "away") == world / "away" / ".graph_compiler"
    for name in ("here", "near", "none"):
        assert preparation_folder(world / name) == world / f".{name}.graph_compiler"


@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EROFS, errno.EACCES, errno.ENAMETOOLONG, errno.EIO])
def test_a_failed_step_names_its_place_and_succeeds_once_the_cause_is_gone(
    code: int, world: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    target = world / "out"
    put(target, OLD)
    intent = prepare(target, add=sorted(NEW))
    real = Path.rename

    def refuses(path: Path, to: Path) -> Path:
        if Path(to).parent == target:
            raise OSError(code, os.strerror(code), str(path), None, str(to))
        return real(path, to)

    with monkeypatch.context() as patch:
        patch.setattr(Path, "rename", refuses)
        for _ in range(2):
            with pytest.raises(PublicationPendingError, match=os.strerror(code)) as refusal:
                carry_out(on_disk(intent))
    assert str(target) in str(refusal.value)
    assert "the next execution that writes to the target finishes it" in str(refusal.value)
    carry_out(on_disk(intent))
    assert seen(target) == OLD | NEW
    assert not Path(intent.prepared).parent.exists()


@pytest.mark.parametrize("kind", ["file", "dangling link", "file for a partition"])
def test_a_file_in_place_of_a_folder_is_reported_until_removed(kind: str, world: Path) -> None:
    target = world / "out"
    intent = prepare(target, add=["k=1/new"])
    if kind == "file":
        target.write_text("")
    elif kind == "dangling link":
        target.symlink_to(world / "nowhere")
    else:
        put(target, ["k=1"])
    with pytest.raises(PublicationPendingError, match="does not accept what execution e1 of run r"):
        carry_out(on_disk(intent))
    (target / "k=1" if kind == "file for a partition" else target).unlink()
    carry_out(on_disk(intent))
    assert data_files(target) == {"k=1/new"}


def _can_mount() -> bool:
    done = subprocess.run(["unshare", "-m", "true"], capture_output=True, check=False)
    return done.returncode == 0


@pytest.mark.skipif(
    shutil.which("unshare") is None or not _can_mount(),
    reason="no mount may be made in a namespace of its own: needs root or CAP_SYS_ADMIN",
)
@pytest.mark.parametrize("mounted", ["tmpfs", "bind"])
@pytest.mark.parametrize("place", ["out", "out/k=1"])
def test_a_mount_point_can_be_published_to_repeatedly(place: str, mounted: str, tmp_path: Path) -> None:
    script = f"""
from pathlib import Path
from graph_compiler.staging.publications.carrier import carry_out
from graph_compiler.staging.publications.listing import data_files
from graph_compiler.staging.publications.mounts import preparation_folder
from tests.harness.folders import on_disk, prepare
target = Path({str(tmp_path)!r}, "out")
for number in range(3):
    room = preparation_folder(target)
    old = sorted(data_files(target))
    add, execution = [f"k=1/new-{{number}}"], f"e{{number}}"
    carry_out(on_disk(prepare(target, add=add, remove=old, replaces=["."], execution_id=execution, room=room)))
    litter = len(list(target.rglob("*.graph_compiler")))
    print(room.name, sorted(data_files(target)), litter, room.exists())
"""
    (tmp_path / place).mkdir(parents=True)
    (tmp_path / "source").mkdir()
    mount = {
        "tmpfs": ["mount", "-t", "tmpfs", "none", str(tmp_path / place)],
        "bind": ["mount", "--bind", str(tmp_path / "source"), str(tmp_path / place)],
    }[mounted]
    done = subprocess.run(
        ["unshare", "-m", "sh", "-c", '"$@" && exec "$0" -c "$SCRIPT"', sys.executable, *mount],
        capture_output=True,
        text=True,
        check=False,
        cwd=ROOT,
        env=os.environ | {"SCRIPT": script},
    )
    room = ".graph_compiler" if place == "out" else ".out.graph_compiler"
    lines = [f"{room} ['k=1/new-{number}'] 0 False" for number in range(3)]
    assert done.stdout.splitlines() == lines, done.stderr
