"""The time zone that this host has, before it is pinned for our processes.

Versions that did not pin it read and wrote ORC's TIMESTAMP, and `timestamp` columns of databases, in this zone.
"""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from pathlib import Path

VARIABLE = "GRAPH_COMPILER_HOST_ZONE"
"""Passed to processes whose zone is pinned already; empty if the host is in UTC."""
CONFIRMED = "spark.graph_compiler.confirmed_zone"
"""The setting with which a user confirms that old rows of targets are in UTC, or were converted: "UTC"."""
READS_DIFFERENTLY = (
    "TIMESTAMP of ORC files, and timestamp columns of databases without a zone, are read and written in UTC. Versions "
    "before 0.2 used the host's zone"
)
_YEARS = range(1970, 2038)


def host_zone(environment: Mapping[str, str] = os.environ) -> str | None:
    """Return the name of this host's zone, None if its clock has always shown UTC."""
    if (passed := environment.get(VARIABLE)) is not None:
        return passed or None
    if not any(time.localtime(at).tm_gmtoff for at in _moments()):
        return None
    return environment.get("TZ") or _system_zone()


def _moments() -> list[int]:
    """Return a moment of each month."""
    month = 30 * 24 * 3600
    return [(year - 1970) * 365 * 24 * 3600 + n * month for year in _YEARS for n in range(12)]


def _system_zone(file: Path = Path("/etc/localtime")) -> str:
    _, found, name = os.path.realpath(file).partition("zoneinfo/")
    return name if found else "/".join(time.tzname)
