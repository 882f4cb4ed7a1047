"""Pin the zone of a process, and of the JVM it starts; the host's own zone stays known.

Versions that did not pin it read and wrote ORC's TIMESTAMP, and `timestamp` columns of databases, in the host's zone.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from graph_compiler.deployment.documents.jvm_settings import (
    HOST_ZONE_VARIABLE,
    SUBMIT_VARIABLE,
    ZONE,
    ZONE_VARIABLE,
    with_pins,
)

_YEARS = range(1970, 2038)


def pinned_variables(environment: Mapping[str, str]) -> dict[str, str]:
    """Return the variables that pin a process, and a JVM that spark-submit starts in it; they name the host's zone."""
    return {
        ZONE_VARIABLE: ZONE,
        HOST_ZONE_VARIABLE: host_zone(environment) or "",
        SUBMIT_VARIABLE: with_pins(environment.get(SUBMIT_VARIABLE)),
    }


def pin_process() -> None:
    """Pin this process's zone, and the options of a JVM that it starts later."""
    os.environ |= pinned_variables(os.environ)
    time.tzset()


def host_zone(environment: Mapping[str, str] = os.environ) -> str | None:
    """Return the name of this host's zone, None if its clock has always shown UTC."""
    if (passed := environment.get(HOST_ZONE_VARIABLE)) is not None:
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


@contextmanager
def pinned_process() -> Iterator[None]:
    """Pin this process as `pin_process` does, and restore its variables at the end."""
    before = {name: os.environ.get(name) for name in pinned_variables({})}
    pin_process()
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value
        time.tzset()
