"""Where rows can be staged and published: paths, `file:` URIs and `s3a:` URIs (decisions 46 and 47)."""

from __future__ import annotations

import re
from pathlib import PurePosixPath

LOCAL_PLACES = "an absolute path or a file: URI"
TARGET_PLACES = STAGING_PLACES = "an absolute path, a file: URI, or s3a://bucket/prefix"
RELATIVE = "a relative path"
ABSOLUTE = ("/", "s3a://")
"""How everything that has a store begins."""
_FILE = re.compile(r"file:(//(?=/)|(?=/(?!/)))", re.IGNORECASE)
_SCHEME = re.compile(r"([a-z][a-z0-9+.-]*):/", re.IGNORECASE)
_OBJECTS = re.compile(r"s3a://(?P<bucket>[^/]*)(?P<prefix>(/.*)?)", re.DOTALL)
_BUCKET = re.compile(r"[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]", re.ASCII)
_PREFIX = re.compile(r"[\w!.*'()=~/-]*", re.ASCII)
_NAMES_OF_S3 = ("s3", "s3n")
_UNTRIED = ("gs", "abfs", "abfss", "wasb", "wasbs", "oss", "cosn", "hdfs", "webhdfs", "viewfs")


def local_path(uri: str) -> PurePosixPath | None:
    """Return the normalized path of a `file:` URI or an absolute path; None for anything else."""
    path = _FILE.sub("", uri, count=1) if _FILE.match(uri) else uri
    return PurePosixPath("/" + path.lstrip("/")) if path.startswith("/") else None


def why_not_local(uri: str) -> str | None:
    """Return why a place is not on a disk of this host, None if it is; `LOCAL_PLACES` are allowed."""
    if local_path(uri) is not None:
        return None
    if uri[:5].lower() == "file:":
        return "a file: URI needs an absolute path: file:///…"
    scheme = _SCHEME.match(uri)
    return f"it has scheme '{scheme[1]}:'" if scheme else RELATIVE


def why_no_target(uri: str) -> str | None:
    """Return why nothing can be published to a folder, None if it can; `TARGET_PLACES` are allowed."""
    path = local_path(uri)
    if path is not None and ".." in path.parts:
        return "it contains '..'"
    if (wrong := why_no_staging(uri)) is not None or path is not None:
        return wrong
    if not any(_in_bucket(uri)[1].split("/")):
        return "it is a whole bucket, and a target is a folder in one"
    return None


def target_place(uri: str) -> str | None:
    """Return the normalized form of a place that files can be published to; None for any other."""
    return None if why_no_target(uri) else staging_place(uri) or "/"


def staging_place(uri: str) -> str | None:
    """Return the normalized form of a place in which rows can be staged; None for any other.

    A path without `file:`, or `s3a://bucket/prefix`; neither ends with a slash.
    """
    if why_no_staging(uri) is not None:
        return None
    if (path := local_path(uri)) is not None:
        return str(path).rstrip("/")
    bucket, prefix = _in_bucket(uri)
    return "/".join([f"s3a://{bucket}", *filter(None, prefix.split("/"))])


def why_no_staging(uri: str) -> str | None:
    """Return why no rows can be staged in a place, None if they can; `STAGING_PLACES` are allowed."""
    if local_path(uri) is not None or (scheme := _SCHEME.match(uri)) is None:
        return why_not_local(uri)
    name = scheme[1].lower()
    if name in _NAMES_OF_S3:
        return f"Spark's name of this scheme is s3a:, not {name}:"
    if name in _UNTRIED:
        return f"there is no store for '{name}:' yet: it has not been tried (docs/stores.md)"
    found = _OBJECTS.fullmatch(uri)
    return why_not_local(uri) if found is None else _why_no_bucket(found["bucket"], found["prefix"])


def _in_bucket(uri: str) -> tuple[str, str]:
    """Return the bucket and the prefix of a place that has a store and is not on a disk."""
    found = _OBJECTS.fullmatch(uri)
    assert found is not None, "anything else has no store"
    return found["bucket"], found["prefix"]


def _why_no_bucket(bucket: str, prefix: str) -> str | None:
    if "@" in bucket:
        return "it contains credentials, which would be in logs and documents; an Airflow connection has them"
    if _BUCKET.fullmatch(bucket) is None:
        return f"'{bucket}' is not the name of a bucket"
    if {".", ".."} & set(prefix.split("/")):
        return "it contains '.' or '..', which are ordinary names in an object store"
    if _PREFIX.fullmatch(prefix) is None:
        return "its prefix has characters besides letters, digits and !.*'()=~_-"
    return None
