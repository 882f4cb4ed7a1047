"""The zone, locale and charset of the JVMs of an application: checked on the driver, handed to its executors."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from pyspark.sql import SparkSession

from graph_compiler.deployment.documents.jvm_settings import (
    EXECUTOR_OPTIONS,
    EXECUTOR_ZONE,
    OPTIONS,
    PROPERTIES,
    ZONE,
    contradictions,
    with_pins,
)
from graph_compiler.errors import GraphCompilerError
from graph_compiler.identifiers import listing
from graph_compiler.spark_runtime.spark_internals.java import connected_jvm

_ASKED = "user.timezone", "user.language", "file.encoding"


class JvmNotPinnedError(GraphCompilerError):
    """A JVM of this application has another zone, locale or charset than all others: rows would differ."""


def check_jvm(submitted: Mapping[str, str]) -> None:
    """Raise JvmNotPinnedError for a driver that started with another zone, locale or charset, or hands one on."""
    found = [
        f"{key} has {word!r}; allowed: {allowed!r}"
        for key, value in sorted(submitted.items())
        for word, allowed in contradictions(key, value)
    ]
    found += list(_strange_properties())
    if found:
        raise _not_pinned("the driver's JVM", found)


def _strange_properties() -> Iterator[str]:
    jvm = connected_jvm()
    zones, locale = jvm.java.util.TimeZone, jvm.java.util.Locale
    zone = zones.getDefault()
    if not zone.hasSameRules(zones.getTimeZone(ZONE)):
        yield f"the time zone is {zone.getID()!r}; allowed: {ZONE!r}"
    wanted = f"{PROPERTIES['user.language']}_{PROPERTIES['user.country']}"
    found = {str(locale.getDefault().toString())}
    found |= {str(locale.getDefault(each).toString()) for each in locale.Category.values()}
    for name in sorted(found - {wanted}):
        yield f"the locale is {name!r}; allowed: {wanted!r}"
    charset = str(jvm.java.nio.charset.Charset.defaultCharset().name())
    if charset != PROPERTIES["file.encoding"]:
        yield f"the charset is {charset!r}; allowed: {PROPERTIES['file.encoding']!r}"


def executor_pins(submitted: Mapping[str, str]) -> dict[str, str]:
    """Return settings for executors: the zone of their Python, and what was submitted for their JVM with the pins."""
    pins = {EXECUTOR_ZONE: ZONE}
    if not submitted.get("spark.master", "").startswith("local"):  # they are in the driver's JVM
        pins[EXECUTOR_OPTIONS] = with_pins(submitted.get(EXECUTOR_OPTIONS))
    return pins


def check_executor_jvms(spark: SparkSession, tasks: int) -> None:
    """Ask executors for their JVM's properties in one job; raises JvmNotPinnedError if one has others."""
    asked = [f"reflect('java.lang.System', 'getProperty', '{name}')" for name in _ASKED]
    rows = spark.range(0, tasks, 1, tasks).selectExpr(f"array({', '.join(asked)}) AS said")
    found = {
        f"{name} is {value!r}; allowed: {PROPERTIES[name]!r}"
        for (said,) in rows.distinct().collect()
        for name, value in zip(_ASKED, said, strict=True)
        if value != PROPERTIES[name]
    }
    if found:
        raise _not_pinned("an executor's JVM", sorted(found))


def _not_pinned(whose: str, found: list[str]) -> JvmNotPinnedError:
    return JvmNotPinnedError(
        f"{whose} differs from those of other hosts, so the same files and tables could give other rows\n"
        f"  found: {listing(found)}\n"
        f"  allowed: {OPTIONS}\n"
        "  hint: tasks are submitted with these options; look for others in _JAVA_OPTIONS, spark-defaults.conf, "
        "spark-env.sh and files of options"
    )
