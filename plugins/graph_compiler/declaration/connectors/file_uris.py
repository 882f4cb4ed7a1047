"""Where rows can be staged and published: paths and `file:` URIs. No other scheme has a store yet (decision 19)."""

from __future__ import annotations

import re
from pathlib import PurePosixPath

LOCAL_PLACES = "an absolute path or a file: URI"
RELATIVE = "a relative path"
_FILE = re.compile(r"file:(//(?=/)|(?=/(?!/)))", re.IGNORECASE)
_SCHEME = re.compile(r"([a-z][a-z0-9+.-]*):/", re.IGNORECASE)


def local_path(uri: str) -> PurePosixPath | None:
    """Return the normalized path of a `file:` URI or an absolute path; None for anything else."""
    path = _FILE.sub("", uri, count=1) if _FILE.match(uri) else uri
    return PurePosixPath("/" + path.lstrip("/")) if path.startswith("/") else None


def why_no_store(uri: str) -> str | None:
    """Return why nothing can be staged in a place, None if it can; `LOCAL_PLACES` are allowed."""
    if local_path(uri) is not None:
        return None
    if uri[:5].lower() == "file:":
        return "a file: URI needs an absolute path: file:///…"
    scheme = _SCHEME.match(uri)
    return f"there is no store for '{scheme[1]}:'" if scheme else RELATIVE


def why_no_target(uri: str) -> str | None:
    """Return why nothing can be published to a folder, None if it can."""
    path = local_path(uri)
    return "it contains '..'" if path is not None and ".." in path.parts else why_no_store(uri)
