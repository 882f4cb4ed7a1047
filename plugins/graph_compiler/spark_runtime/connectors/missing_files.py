"""Sources of files that may be missing: `if_missing="empty"` (decision 80).

A store has to say that nothing is there. Hadoop does so for HDFS and S3: a store that does not answer, a bucket that
does not exist and a missing permission are errors of their own. For a disk it does not: what may not be looked at, what
is behind a file, and a link to nothing look to it as if they were missing. So the folders above are looked at here.
"""

from __future__ import annotations

import os
import stat
from pathlib import PurePosixPath

from pyspark.sql import SparkSession
from pyspark.sql.types import StructField, StructType

from graph_compiler import program_log
from graph_compiler.declaration.connectors import FileConnector, IfMissing, RecordFiles
from graph_compiler.declaration.connectors.file_uris import is_pattern, local_path
from graph_compiler.errors import UnreadFilesError
from graph_compiler.spark_runtime.columns.declared_schema import parse_schema
from graph_compiler.spark_runtime.connectors.source import MISFIT, REJECTS, Found
from graph_compiler.spark_runtime.failures.causes import does_not_exist, similar_path
from graph_compiler.spark_runtime.spark_internals.file_listings import rows_of_no_files
from graph_compiler.spark_runtime.spark_internals.hadoop_files import unmatched_path
from graph_compiler.staging.publications.listing import declared_pattern, visible_pattern

LOG = program_log.logger(__name__)


def is_literal(path: str) -> bool:
    """Whether a path names one file or folder, as it is written: it has no wildcard, and none that is escaped."""
    return not is_pattern(path) and "\\" not in path


def why_missing(connector: FileConnector, spark: SparkSession) -> str | None:
    """Return why a source cannot be read: nothing is at a path, and it may not be missing; None if it can.

    Raises the errors of Hadoop if its store does not answer, or refuses.
    """
    missing = [each for path in connector.paths if (each := _unmatched(path, spark)) is not None]
    why = why_unknown if connector.if_missing == IfMissing.EMPTY else does_not_exist
    return "\n".join(reason for each in missing if (reason := why(each))) or None


def _unmatched(path: str, spark: SparkSession) -> str | None:
    found = unmatched_path(spark, visible_pattern(path))
    return None if found is None else declared_pattern(found)


def why_unknown(missing: str) -> str | None:
    """Return why it is not known whether a path on this host is missing; None for one that is, and for other stores."""
    local = local_path(missing)
    why = None if local is None else _why_unknown(local)
    if why is None:
        return None
    return (
        f"its input {missing} cannot be looked for: {why}\n"
        "  allowed: a path that the driver may look at; if_missing='empty' is for one at which nothing is"
    )


def _why_unknown(local: PurePosixPath) -> str | None:
    path = PurePosixPath("/")
    for part in local.parts[1:]:
        if not is_literal(part):
            return None if os.access(path, os.R_OK | os.X_OK) else f"{path} may not be listed"
        above, path = path, path / part
        try:
            is_folder = stat.S_ISDIR(os.stat(path).st_mode)
        except FileNotFoundError:
            return f"{path} is a link to nothing" if os.path.lexists(path) else None
        except OSError as error:
            is_refused = isinstance(error, PermissionError)
            return f"{above} may not be looked into" if is_refused else f"{path}: {error.strerror}"
        if not is_folder and path != local:
            return f"{path} is a file"
    return None


def rows_if_missing(connector: FileConnector, spark: SparkSession) -> Found | None:
    """Return no rows, with the declared columns, if nothing is at a source's path and it may be missing.

    Raises UnreadFilesError if it is not known whether it is missing.
    """
    if connector.if_missing != IfMissing.EMPTY or connector.schema is None:
        return None
    missing = _unmatched(connector.one_path, spark)
    if missing is None:
        return None
    if wrong := why_unknown(missing):
        raise UnreadFilesError(wrong)
    rows = rows_of_no_files(spark, missing, columns_of_no_rows(connector))
    if rows is None:  # they have arrived in between
        return None
    near = similar_path(missing)
    LOG.warning("nothing is at %s, so it has no rows%s", missing, f"; did you mean '{near}'?" if near else "")
    return Found(rows=rows, schema=parse_schema(connector.schema))


def columns_of_no_rows(connector: FileConnector) -> StructType:
    """Return the columns of a source that has no file: those that are declared, and the mark of records set aside."""
    assert connector.schema is not None, "the compiler refuses such sources without a schema"
    schema = parse_schema(connector.schema)
    if isinstance(connector, RecordFiles) and connector.rejects is not None:
        return StructType([*schema, StructField(MISFIT, StructType.fromDDL(REJECTS))])
    return schema
