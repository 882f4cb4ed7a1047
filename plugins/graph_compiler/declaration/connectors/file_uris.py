"""Where rows can be staged and published: paths, `file:` URIs, and the places of stores (decision 67)."""

from __future__ import annotations

import re
from pathlib import PurePosixPath
from urllib.parse import quote

from graph_compiler.errors import ExtensionError
from graph_compiler.stores.known_stores import (
    UNTRIED,
    asset_scheme,
    kind_by_any_name,
    kind_of_place,
    store_kind,
    store_kinds,
)
from graph_compiler.stores.store_kind import PlaceInStore, StoreKind

LOCAL_PLACES = "an absolute path or a file: URI"
RELATIVE = "a relative path"
_FILE = re.compile(r"file:(//(?=/)|(?=/(?!/)))", re.IGNORECASE)
_WILDCARD = re.compile(r"[*?\[{]")
_SCHEME = re.compile(r"([a-zA-Z][a-zA-Z0-9+.-]*):/")


def places_with_stores() -> str:
    """Return where rows can be staged and published, for messages."""
    *forms, last = (kind.form for kind in store_kinds())
    return f"{', '.join(['an absolute path', 'a file: URI', *forms])}, or {last}"


def has_store(place: str) -> bool:
    """Whether a place is a path, or is in a store; it may be one that no declaration may name."""
    return place.startswith("/") or kind_of_place(place) is not None


def local_path(uri: str) -> PurePosixPath | None:
    """Return the normalized path of a `file:` URI or an absolute path; None for anything else."""
    path = _FILE.sub("", uri, count=1) if _FILE.match(uri) else uri
    return PurePosixPath("/" + path.lstrip("/")) if path.startswith("/") else None


def is_pattern(path: str) -> bool:
    """Whether Hadoop reads a path as a pattern, which may match several files. A backslash is not looked at."""
    return bool(_WILDCARD.search(path))


def before_wildcard(path: str) -> str:
    """Return a path up to its first wildcard; all of one that is no pattern."""
    return _WILDCARD.split(path, maxsplit=1)[0]


def escape_wildcards(path: str) -> str:
    """Return the pattern that matches only a path of this name."""
    return _WILDCARD.sub(r"\\\g<0>", path)


def store_part(uri: str) -> str | None:
    """Return the bucket or the file system of a place that is not on a disk: `s3a://lake`; None for one on a disk."""
    kind = kind_of_place(uri)
    return None if kind is None else f"{kind.scheme}://{parts_of(kind, uri).authority}"


def why_not_local(uri: str) -> str | None:
    """Return why a place is not on a disk of this host, None if it is; `LOCAL_PLACES` are allowed."""
    if local_path(uri) is not None:
        return None
    if uri[:5].lower() == "file:":
        return "a file: URI needs an absolute path: file:///…"
    scheme = _SCHEME.match(uri)
    return f"it has scheme '{scheme[1]}:'" if scheme else RELATIVE


def why_no_target(uri: str) -> str | None:
    """Return why nothing can be published to a folder, None if it can; `places_with_stores` are allowed."""
    path = local_path(uri)
    if path is not None and ".." in path.parts:
        return "it contains '..'"
    if (wrong := why_no_staging(uri)) is not None or path is not None:
        return wrong
    has_names = bool(_in_store(uri)[1].names)
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
    kind, place = _in_store(uri)
    return "/".join([f"{kind.scheme}://{place.authority}", *place.names])


def why_no_staging(uri: str) -> str | None:
    """Return why no rows can be staged in a place, None if they can; `places_with_stores` are allowed."""
    if local_path(uri) is not None or (scheme := _SCHEME.match(uri)) is None:
        return why_not_local(uri)
    try:
        kind = store_kind(scheme[1])
    except ExtensionError as error:
        return str(error)
    if kind is None:
        return _why_no_store(scheme[1].lower()) or why_not_local(uri)
    if kind_of_place(uri) is None:  # with one slash
        return kind.why_no_authority or why_not_local(uri)
    place = parts_of(kind, uri)
    if "@" in place.authority:
        return "it contains credentials, which would be in logs and documents; an Airflow connection has them"
    return kind.why_unfit(place)


def _why_no_store(name: str) -> str | None:
    """Return why a scheme that has no store has none; None if it is not known, or is not as it is written here."""
    meant = kind_by_any_name(name)
    if meant is not None and name != meant.scheme:
        return f"Spark's name of this scheme is {meant.scheme}:, not {name}:"
    if name in UNTRIED:
        return f"there is no store for '{name}:' yet, because none has been tried (docs/stores.md)"
    return None


def parts_of(kind: StoreKind, uri: str) -> PlaceInStore:
    """Return the parts of a place in a store, without the store's default port."""
    authority, slash, path = uri.partition("://")[2].partition("/")
    return PlaceInStore(authority.removesuffix(kind.default_port), f"{slash}{path}")


def _in_store(uri: str) -> tuple[StoreKind, PlaceInStore]:
    kind = kind_of_place(uri)
    assert kind is not None, "anything else has no store"
    return kind, parts_of(kind, uri)


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
        if scheme.lower() != "file":
            return f"{asset_scheme(scheme)}:{rest[:2]}{_one_slash(rest[2:]).rstrip('/')}"
        place = "/" + rest.lstrip("/")
    if not place.startswith("/"):
        return place.rstrip("/")  # like a relative path: Airflow treats it as a name
    return f"file://{quote(_one_slash(place).rstrip('/') or '/', safe='/=*,+@:')}"


def _one_slash(path: str) -> str:
    """Return a path without double slashes, as Hadoop reads it: a parameter may end with a slash."""
    return re.sub("//+", "/", path)
