"""Exchange two folders in one step: neither path is ever missing, or a mixture of both."""

from __future__ import annotations

import ctypes
import errno
import os
from pathlib import Path

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
