"""Write files under their final names, each byte once, and name only those of committed task attempts.

Spark's batch writers rename what they have written, which a store of objects does by copying it. Its streaming sink of
files does not: `ManifestFileCommitProtocol` gives the files of each task attempt a name of their own, and the driver
logs the names that the committed attempts report. That log is in a temporary folder of the driver here.

A failed attempt may leave files that are not named, and so may an attempt that continues after it was given up.

`DataSource`, `FileFormatWriter`, `ManifestFileCommitProtocol`, `FileStreamSinkLog`, `SQLExecution`, private to Spark:
4.3.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from pyspark.java_gateway import ensure_callback_server_started
from pyspark.sql import DataFrame, SparkSession

from graph_compiler.spark_runtime.spark_internals.executed_plan import WriteMetrics
from graph_compiler.spark_runtime.spark_internals.java import java_class, scala_map, scala_object, scala_sequence
from graph_compiler.spark_runtime.spark_internals.plans import elements
from graph_compiler.spark_runtime.spark_internals.versions import defaults_from

_SOURCES = "org.apache.spark.sql.execution.datasources"
_STREAMING = "org.apache.spark.sql.execution.streaming"
_LOG_VERSION = 1
_BATCH = 0


@dataclass(frozen=True, slots=True)
class NamedFile:
    """A file that a committed task attempt has written, by its path in the folder, and its size there."""

    name: str
    bytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class DirectWrite:
    """The files of a write, and what their writers have counted."""

    files: tuple[NamedFile, ...]
    counted: WriteMetrics


def write_directly(
    rows: DataFrame,
    folder: str,
    *,
    format: str = "parquet",
    options: Mapping[str, str],
    partition_by: Sequence[str] = (),
) -> DirectWrite:
    """Write rows to files of a format directly in a folder, or in its partition folders; raises what Spark raises.

    Listeners for queries see it as a query named after this function, whose logical plan is that of the rows.
    """
    spark = rows.sparkSession
    with tempfile.TemporaryDirectory(prefix="direct-write-") as log:
        metrics = scala_object(spark, f"{_SOURCES}.BasicWriteJobStatsTracker").metrics()
        query = rows._jdf.queryExecution()  # `DataFrame._jdf`: 4.x classic
        target = _Target(folder, format, dict(options), tuple(partition_by))
        body = _Body(lambda: _write(spark, query, target, metrics, log))
        ensure_callback_server_started(  # type: ignore[no-untyped-call]  # pyspark's own
            spark.sparkContext._gateway
        )
        name = java_class(spark, "scala.Option").apply(write_directly.__name__)
        execution = scala_object(spark, "org.apache.spark.sql.execution.SQLExecution")
        try:
            execution.withNewExecutionId(query, name, body)
        except Exception:
            # The JVM was only told that the call failed; this is the reason, as Spark has thrown it.
            if body.error is not None:
                raise body.error from None
            raise
        return DirectWrite(files=_logged(Path(log), folder), counted=_counted(metrics))


@dataclass(frozen=True, slots=True)
class _Target:
    folder: str
    format: str
    options: dict[str, str]
    partition_by: tuple[str, ...]


@dataclass(slots=True)
class _Body:
    """A function without arguments, for Scala."""

    do: Callable[[], object]
    error: Exception | None = None

    class Java:
        """The Java interface, for py4j."""

        implements = ("scala.Function0",)

    def apply(self) -> None:
        """Call it, and keep what it raises."""
        try:
            self.do()
        except Exception as error:
            self.error = error
            raise


def _write(spark: SparkSession, query: Any, target: _Target, metrics: Any, log: str) -> None:
    none, no_columns = scala_object(spark, "scala.None"), scala_sequence(spark, [])
    no_map, options = scala_map(spark, {}), scala_map(spark, target.options)
    session = spark._jsparkSession
    configuration = session.sessionState().newHadoopConfWithOptions(options)
    committer = java_class(spark, f"{_STREAMING}.ManifestFileCommitProtocol")(str(_BATCH), target.folder)
    file_log = java_class(spark, f"{_STREAMING}.sinks.FileStreamSinkLog")
    committer.setupManifestOptions(file_log(_LOG_VERSION, session, Path(log).as_uri(), none), _BATCH)
    tracker = java_class(spark, f"{_SOURCES}.BasicWriteJobStatsTracker")(
        java_class(spark, "org.apache.spark.util.SerializableConfiguration")(configuration), metrics
    )
    source = java_class(spark, f"{_SOURCES}.DataSource")(
        *(session, target.format, no_columns, none, no_columns, none, options),
        *defaults_from(scala_object(spark, f"{_SOURCES}.DataSource"), "apply", 8),
    )
    writer = scala_object(spark, f"{_SOURCES}.FileFormatWriter")
    spec = java_class(spark, f"{_SOURCES}.FileFormatWriter$OutputSpec")
    output = query.analyzed().output()
    writer.write(
        session,
        query.executedPlan(),
        source.providingInstance(),
        committer,
        spec(target.folder, no_map, output),
        configuration,
        scala_sequence(spark, _columns(output, target.partition_by)),
        none,
        scala_sequence(spark, [tracker]),
        options,
        *defaults_from(writer, "write", 11),
    )


def _columns(output: Any, names: Sequence[str]) -> list[Any]:
    """Return the columns of these names, which ignore case, as Spark's writers do."""
    by_name = {str(column.name()).lower(): column for column in elements(output)}
    return [by_name[name.lower()] for name in names]


def _counted(metrics: Any) -> WriteMetrics:
    rows, files, size = (int(metrics.apply(name).value()) for name in ("numOutputRows", "numFiles", "numOutputBytes"))
    return WriteMetrics(rows=rows, files=files, bytes=size)


def _logged(log: Path, folder: str) -> tuple[NamedFile, ...]:
    """Return the files in the log: a line with its version, and one for each file."""
    lines = (log / str(_BATCH)).read_text().splitlines()[1:]
    found = [(_path(str(entry["path"])), int(entry["size"])) for entry in map(json.loads, lines)]
    around = f"{urlsplit(folder).path}/"
    assert all(path.startswith(around) for path, _ in found), "Spark writes into the folder"
    files = [NamedFile(path.removeprefix(around), size) for path, size in found]
    return tuple(sorted(files, key=lambda file: file.name))


def _path(uri: str) -> str:
    """Return the path of a URI, which a name's %3A is %253A in."""
    return unquote(urlsplit(uri).path)
