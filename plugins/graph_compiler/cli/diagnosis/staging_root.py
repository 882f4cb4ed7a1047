"""The staging root: test what commits and cleanup rely on, in a temporary folder there."""

from __future__ import annotations

import grp
import os
import shutil
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from graph_compiler.cli.diagnosis.check import Answer, Check, Finding, State, carry_out_checks, failed, ok, warning
from graph_compiler.staging.store.stores import store_of

_SKEW = 5.0
_GIGABYTE = 10**9


@dataclass(frozen=True, slots=True, kw_only=True)
class StagingRoot:
    """The staging root, which the first task creates if it is missing."""

    folder: Path

    @property
    def there(self) -> Path:
        """Return the folder, or the nearest existing folder above it."""
        return next(path for path in (self.folder, *self.folder.parents) if path.is_dir())

    @property
    def cure(self) -> str:
        """Return how to make the folder usable."""
        return (
            f"mkdir -p -m 700 {self.folder} as the user Airflow's tasks run as, "
            "or export AIRFLOW__GRAPH_COMPILER__STAGING_ROOT=<a folder every worker sees>"
        )


def writable(root: StagingRoot) -> Finding:
    """Check that a folder can be created there."""
    above = next((path for path in (root.folder, *root.folder.parents) if path.exists()), None)
    if above is not None and not above.is_dir():
        return failed(f"{above} is no folder", root.cure)
    try:
        with _scratch(root):
            pass
    except OSError as error:
        return failed(f"{root.folder}: {error.strerror}", root.cure)
    if root.there != root.folder:
        return ok(f"{root.folder} is not there yet; the first task makes it in {root.there}")
    return ok(str(root.folder))


def private(root: StagingRoot) -> Finding:
    """Check who may enter: staged rows are data."""
    if root.there != root.folder:
        return ok("the first task makes it with mode 0700")
    found = root.folder.stat()
    mode = found.st_mode & 0o777
    if store_of(str(root.folder)).is_open_to_group(str(root.folder)):
        return ok(
            f"mode {found.st_mode & 0o7777:04o}: group {_group(found.st_gid)} may read and change everything in it"
        )
    if mode & 0o077:
        return warning(
            f"its mode is {mode:04o}: other users can enter it and see names; what tasks write below it is private",
            f"chmod 700 {root.folder}",
        )
    return ok(f"mode {mode:04o}")


def _group(number: int) -> str:
    try:
        return grp.getgrgid(number).gr_name
    except KeyError:
        return str(number)


def commits(root: StagingRoot) -> Finding:
    """Check what decides between two writers: that a file name can be created only once, with its whole content."""
    store = store_of(str(root.folder))
    with _scratch(root) as folder:
        key = str(folder / "manifest")
        try:
            given = [store.put_if_absent(key, content) for content in (b"first", b"second")]
        except OSError as error:
            return failed(
                f"the file system has no hard links ({error.strerror})",
                "choose a staging_root on a file system with hard links (a local disk, NFS)",
            )
        if given != [True, False] or store.get(key) != b"first":
            return failed(
                "a file was created twice under one name: two writers could both commit",
                "choose a staging_root on another file system",
            )
    return ok("of two writers, only one can create a file")


def renames(root: StagingRoot) -> Finding:
    """Check that a folder with a file in it can be moved."""
    with _scratch(root) as folder:
        (folder / "prepared").mkdir()
        (folder / "prepared" / "part").write_bytes(b"rows")
        (folder / "prepared").rename(folder / "published")
        if (folder / "published" / "part").read_bytes() != b"rows":
            return failed("a renamed folder lost its file", "choose another staging_root")
    return ok("a folder is renamed in one step")


def clock(root: StagingRoot) -> Finding:
    """Compare the file system's clock with ours: it decides which runs are silent, and which are old."""
    with _scratch(root) as folder:
        before = time.time()
        (folder / "now").touch()
        skew = (folder / "now").stat().st_mtime - before
    if abs(skew) > _SKEW:
        return warning(
            f"its clock is {skew:+.0f} s from this machine's",
            "sudo timedatectl set-ntp true, on this machine and on the file server",
        )
    return ok("the file system's clock is this machine's")


def space(root: StagingRoot) -> Finding:
    """Check the free space."""
    free = shutil.disk_usage(root.there).free
    words = f"{free / _GIGABYTE:.1f} GB free"
    return ok(words) if free >= _GIGABYTE else warning(words, "graph-compiler staging gc")


FIRST_CHECK = Check("staging root", writable)
STAGING_CHECKS: tuple[Check[StagingRoot], ...] = (
    Check("staging is private", private),
    Check("staging commits", commits),
    Check("staging renames", renames),
    Check("staging clock", clock),
    Check("staging space", space),
)


def judge_staging_root(root: StagingRoot) -> tuple[Answer, ...]:
    """Carry out the checks; if nothing can be written, only the first."""
    (first,) = carry_out_checks([FIRST_CHECK], root)
    if first.finding.state is State.FAILED:
        return (first,)
    return (first, *carry_out_checks(STAGING_CHECKS, root))


@contextmanager
def _scratch(root: StagingRoot) -> Iterator[Path]:
    """Yield a temporary folder there, and remove it; raises OSError."""
    folder = Path(tempfile.mkdtemp(prefix=".doctor-", dir=root.there))
    try:
        os.chmod(folder, 0o700)
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
