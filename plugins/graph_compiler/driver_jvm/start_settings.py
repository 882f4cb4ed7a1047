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
from collections.abc import Iterable, Mapping
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
    for threshold, calls in {"Invocation": 5_000, "MinInvocation": 600, "Compile": 15_000, "BackEdge": 40_000}.items()
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
            raise DriverStartError(f"{DEFAULT_OPTIONS} is set in {file}, and adding to it would show its value")
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
    installation: SparkInstallation, start: DriverStart, known: Mapping[str, str], options: JavaOptions
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
    return StartSettings(conf=((DEFAULT_OPTIONS, value),) if words else (), left_out=tuple(left_out), wanted=wanted)


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
    installation: SparkInstallation, start: DriverStart, known: Mapping[str, str], options: JavaOptions
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
    return option if not re.search(r"[\s'\"\\]", option) else '"' + re.sub(r'(["\\])', r"\\\1", option) + '"'


_CONTINUED = re.compile(r"(?<!\\)(?:\\\\)*\\$")
_PAIR = re.compile(r"((?:\\.|[^\\\s:=])+)\s*[:=\s]\s*(.*)", re.DOTALL)
_ESCAPE = re.compile(r"\\(u[0-9a-fA-F]{4}|.)", re.DOTALL)
_CONTROL = {"t": "\t", "n": "\n", "r": "\r", "f": "\f"}


def read_defaults(file: Path) -> dict[str, str]:
    """Return the settings of a file, none if it is not there; raises OSError or UnicodeDecodeError."""
    if not file.is_file():
        return {}
    return parse_properties(file.read_text("utf-8"))


def parse_properties(text: str) -> dict[str, str]:
    """Return the pairs of a properties file; values without white space at their ends, as Spark takes them."""
    found = {}
    for line in _logical_lines(text):
        pair = _PAIR.fullmatch(line) or _PAIR.fullmatch(f"{line} ")
        if pair is not None:
            found[_plain(pair[1])] = _plain(pair[2]).strip()
    return found


def _logical_lines(text: str) -> list[str]:
    """Return lines without comments; one that ends with a backslash continues on the next."""
    lines, begun = [], ""
    for raw in text.splitlines():
        line = raw.lstrip()
        if not begun and (not line or line[0] in "#!"):
            continue
        if _CONTINUED.search(line):
            begun += line[:-1]
            continue
        lines.append(begun + line)
        begun = ""
    return [*lines, begun] if begun else lines


def _plain(text: str) -> str:
    return _ESCAPE.sub(lambda found: _character(found[1]), text)


def _character(escape: str) -> str:
    if len(escape) == 5:
        return chr(int(escape[1:], 16))
    return _CONTROL.get(escape, escape)


# What options of a JVM already say, so that nothing is added that contradicts them.
#
# Two collectors keep a JVM from starting; of two archives, the last one is used.

_COLLECTOR = re.compile(
    r"-XX:([+-]Use\w*GC\b|[+-]AggressiveHeap\b|[+-]UseStringDeduplication\b"
    r"|[+-]?G1|MaxGCPauseMillis\b|InitiatingHeap)"
)
"""Options that choose a collector, or that only some collectors have."""
_ARCHIVE = re.compile(
    r"-Xshare|-XX:(SharedArchiveFile\b|ArchiveClassesAtExit\b|SharedClassListFile\b|[+-]?AOT"
    r"|[+-](DumpSharedSpaces|AutoCreateSharedArchive|RecordDynamicDumpInfo)\b)"
)
_COMPILER = re.compile(
    r"-X(int|comp|mixed)\b|-XX:([+-]?Tier|[+-]?(C1|C2)|CICompiler|[+-]UseJVMCI|\w*CompileThreshold|Compil)"
)
"""Options that say when methods are compiled, or with which compiler."""
_WEB_UI = re.compile(r"-Dspark\.ui\.(enabled|port)\b")
_HIDDEN = re.compile(r"@|-XX:(Flags|VMOptionsFile|[+-]ReadVMOptionsFile)\b")
"""Options that are in a file."""

VARIABLES = ("SPARK_SUBMIT_OPTS", "JAVA_TOOL_OPTIONS", "JDK_JAVA_OPTIONS", "_JAVA_OPTIONS")
"""Where a JVM that spark-submit starts finds options, beside its arguments."""
SETTINGS = ("spark.driver.defaultJavaOptions", "spark.driver.extraJavaOptions")


@dataclass(frozen=True, slots=True, kw_only=True)
class JavaOptions:
    """Options from all places, each as `(place, options)`."""

    places: tuple[tuple[str, str], ...]

    def with_collector(self) -> str | None:
        """Return the first place that names a collector, or may name one in a file; None if there is none."""
        return self._place(_COLLECTOR) or self._place(_HIDDEN)

    def with_archive(self) -> str | None:
        """Return the first place that says something of shared classes, or may in a file; None if there is none."""
        return self._place(_ARCHIVE) or self._place(_HIDDEN)

    def with_compiler(self) -> str | None:
        """Return the first place that says when methods are compiled, or may in a file; None if there is none."""
        return self._place(_COMPILER) or self._place(_HIDDEN)

    def with_ui(self) -> str | None:
        """Return the first place that sets whether Spark's UI is there, or its port; None if there is none."""
        return self._place(_WEB_UI)

    def _place(self, pattern: re.Pattern[str]) -> str | None:
        for place, options in self.places:
            # Quotes group words; what they enclose may itself begin with one of these options.
            if any(pattern.match(word.strip("'\"")) for word in options.split()):
                return place
        return None


def java_options(environment: Mapping[str, str], settings: Iterable[Mapping[str, str]]) -> JavaOptions:
    """Return the options in these variables and settings of Spark."""
    found = [(name, environment[name]) for name in VARIABLES if name in environment]
    found += [(key, each[key]) for each in settings for key in SETTINGS if key in each]
    return JavaOptions(places=tuple(found))
