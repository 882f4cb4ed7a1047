"""The parts of an asset's URI, for `Connector.asset_uri`: a place without the parts that templates fill in each run.

/data/out/delays/day=␀   →   file:///data/out/delays
"""

from __future__ import annotations

import re
from urllib.parse import quote

UNKNOWN = "\0"
"""Replaces a template whose value only a run has."""
_SCHEME = re.compile(r"[a-zA-Z][a-zA-Z0-9+.-]*:/")


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
