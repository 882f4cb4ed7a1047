"""What options of a JVM already say, so that nothing is added that contradicts them.

Two collectors keep a JVM from starting; of two archives, the last one is used.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

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
_UI = re.compile(r"-Dspark\.ui\.(enabled|port)\b")
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
        return self._place(_UI)

    def _place(self, pattern: re.Pattern[str]) -> str | None:
        for place, options in self.places:
            # Quotes group words; what they enclose may itself begin with one of these options.
            if any(pattern.match(word.strip("'\"")) for word in options.split()):
                return place
        return None


def java_options(
    environment: Mapping[str, str], settings: Iterable[Mapping[str, str]]
) -> JavaOptions:
    """Return the options in these variables and settings of Spark."""
    found = [(name, environment[name]) for name in VARIABLES if name in environment]
    found += [(key, each[key]) for each in settings for key in SETTINGS if key in each]
    return JavaOptions(places=tuple(found))
