"""A staging root on a disk that all workers see, `file:`."""

from __future__ import annotations

import ctypes
import errno
import hashlib
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from graph_compiler.errors import DamagedDocumentError
from graph_compiler.staging.store.bounded_read import folders_in, names_in, read_bytes
from graph_compiler.staging.store.folder_access import in_staging_folder, is_open_to_group, make_staging_folder
from graph_compiler.staging.store.hadoop_checksums import checksums_digest, why_checksums_differ, why_damaged
from graph_compiler.staging.store.staging_store import MOST_BYTES, StoredFile
from graph_compiler.stores.store_kind import Promises

_AT_FDCWD = -100
_RENAME_EXCHANGE = 2
_CANNOT = (
    *(errno.ENOSYS, errno.EINVAL, errno.EOPNOTSUPP),  # an old kernel, or NFS and others
    *(errno.EXDEV, errno.EBUSY),  # one of them is mounted, or in the lower layer of an overlay
    *(errno.EPERM, errno.EACCES),  # another user's, in a folder where only owners may rename
)


def can_exchange_folders() -> bool:
    """Whether the system has a call for it (Linux: `renameat2`)."""
    return hasattr(ctypes.CDLL(None), "renameat2")


def exchange_folders(one: Path, other: Path) -> bool:
    """Exchange two folders of one file system; return False without a change if the file system cannot.

    Raises FileNotFoundError if one of them is missing.
    """
    renameat2 = ctypes.CDLL(None, use_errno=True).renameat2
    paths = (_AT_FDCWD, os.fsencode(one), _AT_FDCWD, os.fsencode(other))
    if renameat2(*paths, ctypes.c_uint(_RENAME_EXCHANGE)) == 0:
        return True
    code = ctypes.get_errno()
    if code in _CANNOT:
        return False
    raise OSError(code, os.strerror(code), str(one), None, str(other))


@dataclass(frozen=True)
class LocalStore:
    """Documents as files: a complete file is linked to its name, which the file system allows only one writer to do."""

    promises = Promises(
        conditional_put=True, atomic_move=True, atomic_exchange=can_exchange_folders(), atomic_replace=True
    )

    def put_if_absent(self, key: str, content: bytes) -> bool:
        """Write, flush to disk, link; False when the key already exists."""
        path, unlinked = Path(key), self._written_aside(key, content, lasts=True)
        try:
            os.link(unlinked, path)
        except FileExistsError:
            return False
        finally:
            unlinked.unlink(missing_ok=True)
        sync_folder(path.parent)
        return True

    def put(self, key: str, content: bytes) -> None:
        """Replace a document."""
        unlinked = self._written_aside(key, content, lasts=False)
        try:
            os.replace(unlinked, key)
        except OSError:
            unlinked.unlink(missing_ok=True)
            raise

    def get(self, key: str, *, most: int = MOST_BYTES) -> bytes | None:
        """Return the content, None if there is none; raises DamagedDocumentError for anything but a document."""
        return read_bytes(key, most=most)

    def written(self, key: str) -> float | None:
        """Return when a file was written, None if there is none."""
        try:
            return os.lstat(key).st_mtime
        except FileNotFoundError:
            return None

    def keys(self, folder: str) -> list[str]:
        """List the files directly below a folder."""
        return [f"{folder}/{name}" for name in names_in(folder)]

    def folders(self, folder: str) -> list[str]:
        """List the folders directly below a folder, and no links."""
        return folders_in(folder)

    def files(self, folder: str, *, most: int | None = None) -> Iterator[StoredFile]:
        """Yield every file below a folder, including links, which are not followed."""
        waiting, seen = [folder], 0
        while waiting:  # only one folder is open at a time, whatever the depth and number of names
            try:
                entries = os.scandir(waiting.pop())
            except FileNotFoundError:
                continue
            with entries:
                for entry in entries:
                    seen += 1
                    if most is not None and seen > most:
                        raise DamagedDocumentError(folder, f"has more than {most:,} entries")
                    if entry.is_dir(follow_symlinks=False):
                        waiting.append(entry.path)
                        continue
                    with suppress(FileNotFoundError):
                        found = entry.stat(follow_symlinks=False)
                        yield StoredFile(entry.path, found.st_size, found.st_mtime)

    def digest(self, key: str) -> str | None:
        """Return the digest of the checksum file that Hadoop writes beside each file."""
        return checksums_digest(Path(key))

    def why_differs(self, key: str, digest: str) -> str | None:
        """Return how a file's checksum file differs from a digest."""
        return why_checksums_differ(Path(key), digest)

    def why_damaged(self, key: str) -> str | None:
        """Return where a file differs from its checksum file."""
        return why_damaged(Path(key))

    def make_folder(self, folder: str) -> None:
        """Create a folder, and its missing parents, for those who may enter the folder around them."""
        make_staging_folder(Path(folder))

    def is_open_to_group(self, folder: str) -> bool:
        """Whether a folder has mode 2770."""
        return is_open_to_group(Path(folder))

    def is_there(self, key: str) -> bool:
        """Whether a file or a folder has this name."""
        try:
            os.lstat(key)
        except (FileNotFoundError, NotADirectoryError):
            return False
        return True

    def move(self, folder: str, to: str) -> bool:
        """Rename a folder; missing parents are created, for those who may enter the folder around them."""

        def rename() -> bool:
            try:
                os.rename(folder, to)
            except FileNotFoundError:
                if os.path.lexists(folder):  # it is the new parent that is missing again
                    raise
                return False
            return True

        try:
            return in_staging_folder(Path(to).parent, rename)
        except OSError as error:
            if error.errno != errno.ENOTEMPTY:
                raise
            raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), folder, None, to) from None

    def exchange(self, one: str, other: str) -> bool:
        """Exchange two folders if their file system can."""
        return exchange_folders(Path(one), Path(other))

    def replace(self, file: str, to: str) -> bool:
        """Rename a file over another."""
        try:
            os.replace(file, to)
        except FileNotFoundError:
            return False
        return True

    def file_id(self, key: str) -> str | None:
        """Return a digest of all bytes of a file; None if it is not a file."""
        try:
            with open(key, "rb") as file:
                return hashlib.file_digest(file, "sha256").hexdigest()
        except (FileNotFoundError, NotADirectoryError, IsADirectoryError):
            return None

    def delete(self, key: str) -> bool:
        """Delete a file, or a folder with everything in it."""
        if os.path.isdir(key) and not os.path.islink(key):
            shutil.rmtree(key, ignore_errors=True)
        else:
            with suppress(OSError):
                os.unlink(key)
        return not os.path.lexists(key)

    def discard_empty(self, folder: str) -> None:
        """Remove a folder if it is empty."""
        with suppress(OSError):  # others have written something there
            os.rmdir(folder)

    def _written_aside(self, key: str, content: bytes, *, lasts: bool) -> Path:
        """Write a file beside the key, under a name that no other process has: containers often share process ids.

        Its mode is 0600, or 0660 in a folder of a group. `lasts`: it is flushed to the disk.
        """
        path = Path(key)
        make = partial(tempfile.mkstemp, prefix=f".{path.name}.", dir=path.parent)
        descriptor, name = in_staging_folder(path.parent, make)
        try:
            with open(descriptor, "wb") as file:
                if is_open_to_group(path.parent):
                    os.fchmod(descriptor, 0o660)
                file.write(content)
                file.flush()
                if lasts:
                    os.fsync(file.fileno())
        except OSError:
            Path(name).unlink(missing_ok=True)
            raise
        return Path(name)


def sync_folder(folder: Path) -> None:
    """Sync a folder, so that new names in it survive a power failure."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
