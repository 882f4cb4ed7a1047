"""The zone, locale and charset of every JVM and Python of our Spark applications, whatever their hosts have.

Spark's session zone is not enough: `timestamp` columns of databases and TIMESTAMP of ORC files go through the JVM's
zone, and functions in Python see times in the zone of their process.

    -Duser.timezone=Europe/Vienna    contradicts
    -Duser.timezone=Etc/UTC          does not
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

ZONE, ZONE_VARIABLE = "UTC", "TZ"
PROPERTIES: Mapping[str, str] = {
    "user.timezone": ZONE,
    "user.language": "en",
    "user.country": "US",
    # Java takes what is not given from the host: LC_ALL=sr_RS@latin has a script.
    "user.script": "",
    "user.variant": "",
    "file.encoding": "UTF-8",
}
"""Java's properties that can change rows."""
OPTIONS = " ".join(f"-D{name}={value}" for name, value in PROPERTIES.items())
SUBMIT_VARIABLE = "SPARK_SUBMIT_OPTS"
"""Where the JVM of spark-submit finds options, in addition to its settings."""
EXECUTOR_OPTIONS, EXECUTOR_ZONE = "spark.executor.extraJavaOptions", "spark.executorEnv.TZ"
HOST_ZONE_VARIABLE = "GRAPH_COMPILER_HOST_ZONE"
"""Passed to processes whose zone is pinned already; empty if the host is in UTC."""
RESIDENT = "GRAPH_COMPILER_RESIDENT"
"""The variable that is set if the JVM was started before this process, and stays after it."""
CONFIRMED_ZONE = "spark.graph_compiler.confirmed_zone"
"""The setting with which a user confirms that old rows of targets are in UTC, or were converted: "UTC"."""
READS_DIFFERENTLY = (
    "TIMESTAMP of ORC files, and timestamp columns of databases without a zone, are read and written in UTC. Versions "
    "before 0.2 used the host's zone"
)
_SAME_ZONE = frozenset(
    f"{area}{name}" for area in ("", "Etc/") for name in ("UTC", "UCT", "GMT", "Universal", "Zulu", "Greenwich", "GMT0")
)
_SAME_CHARSET = frozenset({"utf-8", "utf8"})
_PROPERTY = re.compile(
    r"-D(?P<property>user\.timezone|file\.encoding"
    r"|user\.(?:language|country|region|script|variant|extensions)(?:\.(?:format|display))?)"
    r"(?:=(?P<value>.*))?",
    re.DOTALL,
)
_WORD = re.compile(r"""(?:"(?:\\.|[^"\\])*"|'[^']*'|\\.|[^\s'"\\])+""", re.DOTALL)
_PART = re.compile(r""""((?:\\.|[^"\\])*)"|'([^']*)'|((?:\\.|[^\s'"\\])+)""", re.DOTALL)
_NUMBER = re.compile(r"[0-9]+")
_OPTIONS_OF = re.compile(
    r"spark\.(?:driver|executor)\.(?:default|extra)JavaOptions"
    r"|.*[eE]nv\.(?:JAVA_TOOL_OPTIONS|JDK_JAVA_OPTIONS|_JAVA_OPTIONS|SPARK_SUBMIT_OPTS)"
)
_ZONE_OF = re.compile(r"spark\.(?:executorEnv|yarn\.appMasterEnv|kubernetes\.driverEnv)\.TZ")


def contradictions(key: str, value: str) -> Iterator[tuple[str, str]]:
    """Yield `(found, allowed)` for what a setting of Spark says against the pins."""
    if _ZONE_OF.fullmatch(key) and value not in _SAME_ZONE:
        yield f"{ZONE_VARIABLE}={value}", f"{ZONE_VARIABLE}={ZONE}"
    if _OPTIONS_OF.fullmatch(key):
        yield from contradicting_words(value)


def contradicting_words(options: str) -> Iterator[tuple[str, str]]:
    """Yield `(found, allowed)` for each word of a JVM's options that says something else than the pins."""
    for word in _words(options):
        found = _PROPERTY.fullmatch(word)
        if found is None:
            continue
        name, value = found["property"], found["value"] or ""
        pinned = _pinned(name)
        if not _is_same(name, value, pinned):
            yield word, f"-D{name}={pinned}"


def with_pins(options: str | None) -> str:
    """Return options of a JVM that end with the pins."""
    kept = (options or "").removesuffix(OPTIONS).rstrip()
    return f"{kept} {OPTIONS}" if kept else OPTIONS


def _pinned(name: str) -> str:
    general = name.removesuffix(".format").removesuffix(".display")
    return PROPERTIES.get(general.replace("region", "country"), "")


def _is_same(name: str, value: str, pinned: str) -> bool:
    if name == "user.timezone":
        return value in _SAME_ZONE
    if name == "file.encoding":
        return value.lower() in _SAME_CHARSET
    return value.lower() == pinned.lower()


def _words(options: str) -> Iterator[str]:
    """Yield the words of options as Spark splits them: quotes group, a backslash takes the next character as it is."""
    for word in _WORD.finditer(options):
        yield "".join(
            single or re.sub(r"\\(.)", r"\1", double or bare, flags=re.DOTALL)
            for double, single, bare in _PART.findall(word[0])
        )


RECORDED: Mapping[str, str] = {
    "spark.sql.ansi.enabled": "true",
    # Spark's default, INT96, is deprecated and does not imply UTC: other engines read it as local times.
    "spark.sql.parquet.outputTimestampType": "TIMESTAMP_MICROS",
    "spark.sql.session.timeZone": "UTC",
}
"""Settings that descriptors and fingerprints have."""
UNRECORDED: Mapping[str, str] = {
    # With true, readers pass over files whose numbers are all -0.0 where a condition asks for 0.0: `v >= 0`.
    "parquet.filter.bloom.enabled": "false",
    "parquet.filter.dictionary.enabled": "false",
    "spark.sql.orc.filterPushdown": "false",
    # With true, `a EXCEPT a WHERE c` becomes `a WHERE NOT c`, which keeps 0.0 if only the equal -0.0 was taken away.
    "spark.sql.optimizer.replaceExceptWithFilter": "false",
    # With true, a join over an expression of text with a collation loses rows: the filter hashes bytes (SPARK-58486).
    "spark.sql.optimizer.runtime.bloomFilter.enabled": "false",
    # With false, a part of a stage that varies may be computed again beside what was read before (SPARK-53575).
    "spark.sql.shuffle.orderIndependentChecksum.enabled": "true",
    "spark.sql.shuffle.orderIndependentChecksum.enableFullRetryOnMismatch": "true",
    # With false, columns of an Arrow function's batches may be of other types, whose bytes are read as they are.
    "spark.sql.execution.arrow.pyspark.validateSchema.enabled": "true",
    # With false, numbers that pandas functions return wrap or lose digits without an error.
    "spark.sql.execution.pandas.convertToArrowArraySafely": "true",
    # With true, frames have columns of Int64, but pandas rounds some of their numbers (its issue 63903).
    "spark.sql.execution.pythonUDF.pandas.preferIntExtensionDtype": "false",
}
"""Settings pinned by the driver that are in no fingerprint, so runs that began without them continue."""
SESSION: Mapping[str, str] = {**RECORDED, **UNRECORDED}
"""Settings pinned for every application, since they can change a result."""
_LOCALITY_WAIT = "spark.locality.wait"
_HUGE_METHODS, _MOST_BYTES_COMPILED = "spark.sql.codegen.hugeMethodLimit", "8000"
STRICT_SOURCES = "spark.graph_compiler.strict_sources"
"""The setting that is "false" if sources read as in versions before 0.2: option `sources.strict`."""
SHUFFLE_PARTITIONS = "spark.sql.shuffle.partitions"
INITIAL_PARTITIONS = "spark.sql.adaptive.coalescePartitions.initialPartitionNum"
"""Into how many partitions an exchange goes at first, if adaptive execution may join them; unset, the one above."""
MAX_PARALLELISM = "spark.graph_compiler.max_parallelism"
"""The setting with which the driver learns option `pipeline.max-parallelism`."""
_SPARKS_OWN = {SHUFFLE_PARTITIONS: "200"}
"""Spark's default."""


def driver_defaults(master: str, conf: Mapping[str, str]) -> Mapping[str, str]:
    """Return settings that a driver has unless `conf`, its own, sets them. They change no rows.

    Spark lets a task wait for the host of its blocks (HDFS), and looks at the clock again when another one ends. Behind
    the last one, a driver without other executors would wait forever (SPARK-4939), so there it waits for none.

    Java (HotSpot) compiles no method of more than 8,000 bytes. Spark generates one for each stage, so with many columns
    rows would go through an interpreter. With this limit, Spark generates several short methods instead.
    """
    found = {}
    if master.startswith("local") and not any(key.startswith(_LOCALITY_WAIT) for key in conf):
        found[_LOCALITY_WAIT] = "0"
    if _HUGE_METHODS not in conf:
        found[_HUGE_METHODS] = _MOST_BYTES_COMPILED
    return found


def capped_partitions(submitted: Mapping[str, str]) -> dict[str, str]:
    """Return the numbers of partitions of exchanges that are above the maximum, with the maximum; often none.

    The driver asks, because only there all settings are known: those of the connection and of `spark-defaults.conf`,
    too. A text that is no number is Spark's to refuse.
    """
    most = submitted.get(MAX_PARALLELISM, "")
    if not _NUMBER.fullmatch(most):
        return {}
    found = {**_SPARKS_OWN, **submitted}
    numbers = {key: found.get(key, "").strip() for key in (SHUFFLE_PARTITIONS, INITIAL_PARTITIONS)}
    return {key: most for key, number in numbers.items() if _NUMBER.fullmatch(number) and int(number) > int(most)}
