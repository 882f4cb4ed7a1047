"""What is set for the JVM of a driver on this host, so that it starts faster and takes less CPU.

    serial collector    up to 2 cores and 4 GiB of heap; other sizes were not measured
    later compiling     there, too: the second compiler gets a method after ten times as many calls
    class archive       if one was made for this Java and this class path
    no web server       of Spark's UI where executors are in the driver, unless it or its port is set

What you have set stays: a collector or an archive that is named in a variable or a setting keeps ours out. Where
options of the JVM are in a file, none is added: some files are not read here, and what others hold is not repeated on a
command line, in logs and in records.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from graph_compiler.driver_jvm.class_archive import archive_cache
from graph_compiler.driver_jvm.installation import (
    DriverStartError,
    SparkInstallation,
    class_path_key,
    find_conf_folder,
    find_installation,
)
from graph_compiler.driver_jvm.java_options import JavaOptions, java_options
from graph_compiler.driver_jvm.spark_defaults import read_defaults

ARCHIVE, COLLECTOR, COMPILER = "class archive", "serial collector", "later compiling"
OPTIONS = "options of the JVM"
"""What may be left out."""
_CHOSEN = {COLLECTOR: "collector", COMPILER: "compiler, or when it compiles"}
MOST_CORES, MOST_HEAP = 2, 4 << 30
_MEMORY = "spark.driver.memory"
DEFAULT_OPTIONS = "spark.driver.defaultJavaOptions"
_CLASS_PATHS = ("spark.driver.extraClassPath", "spark.driver.defaultExtraClassPath")
_UI, _UI_PORT = "spark.ui.enabled", "spark.ui.port"
_SERIAL = "-XX:+UseSerialGC"
_TIMES_LATER = 10
_LATER = tuple(
    f"-XX:Tier4{threshold}Threshold={calls * _TIMES_LATER}"
    for threshold, calls in {
        "Invocation": 5_000,
        "MinInvocation": 600,
        "Compile": 15_000,
        "BackEdge": 40_000,
    }.items()
)
"""Java's defaults times ten."""
_QUIET = "-Xlog:cds*=off"
"""An archive that does not fit is no reason for a warning in a task's log."""
_UNITS = {"b": 0, "k": 10, "m": 20, "g": 30, "t": 40, "p": 50}


@dataclass(frozen=True, slots=True, kw_only=True)
class DriverStart:
    """What is known of a driver before it is started: the variables and settings that spark-submit gets."""

    environment: Mapping[str, str]
    conf: Mapping[str, str]
    memory: str | None = None
    properties_file: str | None = None
    program: str = "spark-submit"
    is_local: bool = False
    """Whether its executors are in the same JVM."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StartSettings:
    """Settings of Spark to add, and what is not set with its reason."""

    conf: tuple[tuple[str, str], ...] = ()
    left_out: tuple[tuple[str, str], ...] = ()
    """`(what, why)`."""
    wanted: str | None = None
    """The key of the archive that would be used if it had been made."""


NOTHING_SET = StartSettings()


def start_settings(start: DriverStart) -> StartSettings:
    """Return what to set; a problem of the cache or of the installation is a reason to set less."""
    try:
        file = _defaults_file(start)
        defaults = read_defaults(file)
    except (DriverStartError, OSError, UnicodeDecodeError) as error:
        return StartSettings(left_out=((OPTIONS, str(error)),))
    known = {**defaults, **start.conf}
    options = java_options(start.environment, [known])
    try:
        if DEFAULT_OPTIONS in defaults and DEFAULT_OPTIONS not in start.conf:
            raise DriverStartError(
                f"{DEFAULT_OPTIONS} is set in {file}, and adding to it would show its value"
            )
        installation = find_installation(start.environment, start.program)
        if (unread := installation.unread_file()) is not None:  # it may also ask for a UI
            return StartSettings(left_out=((OPTIONS, f"{unread} may set any, and is not read"),))
        found = _java_settings(installation, start, known, options)
    except DriverStartError as error:
        found = StartSettings(left_out=((OPTIONS, str(error)),))
    if start.is_local and not _has_named_ui(known, options):
        return replace(found, conf=(*found.conf, (_UI, "false")))
    return found


def _java_settings(
    installation: SparkInstallation,
    start: DriverStart,
    known: Mapping[str, str],
    options: JavaOptions,
) -> StartSettings:
    """Return the options of the JVM."""
    words: list[str] = []
    left_out: list[tuple[str, str]] = []
    wanted = None
    larger = _why_not_small(start, known)
    for what, place, added in (
        (COLLECTOR, options.with_collector(), (_SERIAL,)),
        (COMPILER, options.with_compiler(), _LATER),
    ):
        if (why := f"{place} may name a {_CHOSEN[what]}" if place else larger) is None:
            words += added
        else:
            left_out.append((what, why))
    try:
        key = _archive_key(installation, start, known, options)
        cache = archive_cache(start.environment)
        archive = cache.find(key)
    except DriverStartError as error:
        left_out.append((ARCHIVE, str(error)))
    else:
        if archive is None:
            wanted = key
            left_out.append((ARCHIVE, cache.has_failed(key) or "there is none yet"))
        else:
            words += [option_word(f"-XX:SharedArchiveFile={archive}"), _QUIET]
    value = " ".join([*filter(None, [known.get(DEFAULT_OPTIONS)]), *words])
    return StartSettings(
        conf=((DEFAULT_OPTIONS, value),) if words else (), left_out=tuple(left_out), wanted=wanted
    )


def _defaults_file(start: DriverStart) -> Path:
    """Return the file of settings that spark-submit reads; raises DriverStartError."""
    if start.properties_file:
        return Path(start.properties_file)
    return find_conf_folder(start.environment, start.program) / "spark-defaults.conf"


def _has_named_ui(known: Mapping[str, str], options: JavaOptions) -> bool:
    return _UI in known or _UI_PORT in known or options.with_ui() is not None


def _why_not_small(start: DriverStart, known: Mapping[str, str]) -> str | None:
    """Return what is larger than what was measured, None if nothing is."""
    if (cores := available_cores()) > MOST_CORES:
        return f"this process has {cores:g} cores"
    memory = start.memory or known.get(_MEMORY) or start.environment.get("SPARK_DRIVER_MEMORY")
    heap = memory_bytes(memory or start.environment.get("SPARK_MEM") or "1g")
    return None if heap is not None and heap <= MOST_HEAP else f"the heap has {memory}"


def _archive_key(
    installation: SparkInstallation,
    start: DriverStart,
    known: Mapping[str, str],
    options: JavaOptions,
) -> str:
    """Return the key of the archive that fits; raises DriverStartError with the reason why none does."""
    if (place := options.with_archive()) is not None:
        raise DriverStartError(f"{place} may name one")
    for setting in _CLASS_PATHS:
        if known.get(setting):
            raise DriverStartError(f"{setting} is set")
    return class_path_key(installation, start.environment)


def memory_bytes(text: str) -> int | None:
    """Return a size of memory as Spark reads it, `2g`, or a bare number of MiB; None if it is none."""
    found = re.fullmatch(r"(\d+)\s*([bkmgtp]?)b?", text.strip().lower())
    return None if found is None else int(found[1]) << _UNITS[found[2] or "m"]


def available_cores(quota: Path = Path("/sys/fs/cgroup/cpu.max")) -> float:
    """Return how many cores this process may use: its affinity, and the quota of its container."""
    cores = float(_cores_of_this_process())
    try:
        most, _, period = quota.read_text().partition(" ")
        return cores if most == "max" else min(cores, int(most) / int(period))
    except (OSError, ValueError):
        return cores


def _cores_of_this_process() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1  # macOS has no affinity


def option_word(option: str) -> str:
    """Quote an option as Spark reads a list of options."""
    return (
        option
        if not re.search(r"[\s'\"\\]", option)
        else '"' + re.sub(r'(["\\])', r"\\\1", option) + '"'
    )
