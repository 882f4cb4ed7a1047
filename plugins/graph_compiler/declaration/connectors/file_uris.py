"""Where rows can be staged and published: paths, and `file:`, `s3a:` and `hdfs:` URIs (decisions 46 to 48)."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import PurePosixPath
from urllib.parse import quote

LOCAL_PLACES = "an absolute path or a file: URI"
TARGET_PLACES = STAGING_PLACES = "an absolute path, a file: URI, s3a://bucket/prefix, or hdfs://host:port/path"
RELATIVE = "a relative path"
ABSOLUTE = ("/", "s3a://", "hdfs://")
"""How everything that has a store begins."""
_FILE = re.compile(r"file:(//(?=/)|(?=/(?!/)))", re.IGNORECASE)
_SCHEME = re.compile(r"([a-zA-Z][a-zA-Z0-9+.-]*):/")
_REMOTE = re.compile(r"(?P<scheme>s3a|hdfs)://(?P<authority>[^/]*)(?P<path>(/.*)?)", re.DOTALL)
_BUCKET = re.compile(r"[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]", re.ASCII)
_PREFIX = re.compile(r"[\w!.*'()=~/-]*", re.ASCII)
_HOST = re.compile(r"[a-z0-9]([a-z0-9.-]*[a-z0-9])?(:[1-9][0-9]{0,4})?", re.ASCII | re.IGNORECASE)
_FOLDER = re.compile(r"[\w.=~/-]*", re.ASCII)
_HDFS, _HDFS_PORT = "hdfs", ":8020"
_NO_NAMENODE = "it names no NameNode, so each host could find a different place; write hdfs://host:port/path"
_NAMES_OF_S3 = ("s3", "s3n")
_UNTRIED = ("gs", "abfs", "abfss", "wasb", "wasbs", "oss", "cosn", "webhdfs", "swebhdfs", "viewfs")


def local_path(uri: str) -> PurePosixPath | None:
    """Return the normalized path of a `file:` URI or an absolute path; None for anything else."""
    path = _FILE.sub("", uri, count=1) if _FILE.match(uri) else uri
    return PurePosixPath("/" + path.lstrip("/")) if path.startswith("/") else None


def is_in_hdfs(uri: str) -> bool:
    """Whether a place is in HDFS."""
    return uri.startswith(f"{_HDFS}:")


def store_part(uri: str) -> str | None:
    """Return the bucket or the file system of a place that is not on a disk: `s3a://lake`; None for one on a disk."""
    if local_path(uri) is not None or _REMOTE.fullmatch(uri) is None:
        return None
    place = _remote(uri)
    return f"{place.scheme}://{place.authority}"


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
    has_names = bool(_remote(uri).names)
    return None if has_names else "it is a whole bucket, and a target is a folder in one"


def target_place(uri: str) -> str | None:
    """Return the normalized form of a place that files can be published to; None for any other."""
    return None if why_no_target(uri) else staging_place(uri) or "/"


def staging_place(uri: str) -> str | None:
    """Return the normalized form of a place in which rows can be staged; None for any other.

    A path without `file:`, `s3a://bucket/prefix`, or `hdfs://host/path`, without Hadoop's default port; none ends with
    a slash.
    """
    if why_no_staging(uri) is not None:
        return None
    if (path := local_path(uri)) is not None:
        return str(path).rstrip("/")
    place = _remote(uri)
    return "/".join([f"{place.scheme}://{place.authority}", *place.names])


def why_no_staging(uri: str) -> str | None:
    """Return why no rows can be staged in a place, None if they can; `STAGING_PLACES` are allowed."""
    if local_path(uri) is not None or (scheme := _SCHEME.match(uri)) is None:
        return why_not_local(uri)
    name = scheme[1].lower()
    if name in _NAMES_OF_S3:
        return f"Spark's name of this scheme is s3a:, not {name}:"
    if name in _UNTRIED:
        return f"there is no store for '{name}:' yet, because none has been tried (docs/stores.md)"
    if _REMOTE.fullmatch(uri) is None:
        is_hdfs = scheme[1] == _HDFS  # with one slash
        return _NO_NAMENODE if is_hdfs else why_not_local(uri)
    place = _remote(uri)
    if "@" in place.authority:
        return "it contains credentials, which would be in logs and documents; an Airflow connection has them"
    return _why_no_folder(place) if place.scheme == _HDFS else _why_no_prefix(place)


@dataclass(frozen=True, slots=True)
class _Remote:
    """A place that is not on a disk: a scheme, a bucket or a NameNode, and what is after it."""

    scheme: str
    authority: str
    path: str

    @property
    def names(self) -> list[str]:
        return [name for name in self.path.split("/") if name]

    @property
    def has_dots(self) -> bool:
        return not {".", ".."}.isdisjoint(self.names)


def _remote(uri: str) -> _Remote:
    """Return a place that has a store and is not on a disk."""
    found = _REMOTE.fullmatch(uri)
    assert found is not None, "anything else has no store"
    scheme, authority = found["scheme"], found["authority"]
    if scheme == _HDFS:
        authority = authority.removesuffix(_HDFS_PORT)
    return _Remote(scheme, authority, found["path"])


def _why_no_prefix(place: _Remote) -> str | None:
    if _BUCKET.fullmatch(place.authority) is None:
        return f"'{place.authority}' is not the name of a bucket"
    if place.has_dots:
        return "it contains '.' or '..', which are ordinary names in an object store"
    if _PREFIX.fullmatch(place.path) is None:
        return "its prefix has characters besides letters, digits and !.*'()=~_-"
    return None


def _why_no_folder(place: _Remote) -> str | None:
    if not place.authority:
        return _NO_NAMENODE
    if _HOST.fullmatch(place.authority) is None:
        return f"'{place.authority}' is not the name of a host, with a port if there is one"
    if not place.names:
        return "it is a whole file system: name a folder in it"
    if place.has_dots:
        return "it contains '.' or '..', which HDFS refuses"
    if _FOLDER.fullmatch(place.path) is None:
        return "its path has characters besides letters, digits and .=~_-"
    return None


# The parts of an asset's URI, for `Connector.asset_uri`: a place without the parts that templates fill in each run.
#
# /data/out/delays/day=␀   →   file:///data/out/delays

UNKNOWN = "\0"
"""Replaces a template whose value only a run has."""


def lasting(text: str) -> str:
    """Return a path without its UNKNOWN parts; empty if the first part is UNKNOWN."""
    first, *rest = text.split("/")
    kept = [part for part in rest if UNKNOWN not in part]
    is_elsewhere = first.endswith(":") and rest[:1] == [""] and UNKNOWN in "".join(rest[1:2])
    return "" if is_elsewhere or UNKNOWN in first else "/".join([first, *kept])


def place_uri(place: str) -> str:
    """Return the URI of a path or URI: `/data/x` is `file:///data/x`, `s3a:` is `s3:`."""
    if _SCHEME.match(place):
        scheme, _, rest = place.partition(":")
        scheme = {"s3a": "s3", "s3n": "s3"}.get(scheme.lower(), scheme.lower())
        if scheme != "file":
            return f"{scheme}:{rest[:2]}{_one_slash(rest[2:]).rstrip('/')}"
        place = "/" + rest.lstrip("/")
    if not place.startswith("/"):
        return place.rstrip("/")  # like a relative path: Airflow treats it as a name
    return f"file://{quote(_one_slash(place).rstrip('/') or '/', safe='/=*,+@:')}"


def _one_slash(path: str) -> str:
    """Return a path without double slashes, as Hadoop reads it: a parameter may end with a slash."""
    return re.sub("//+", "/", path)
