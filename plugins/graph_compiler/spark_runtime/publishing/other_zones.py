"""Rows that stay in a target beside new ones, and that an earlier version wrote in the zone of its host."""

from __future__ import annotations

from pyspark.sql import SparkSession
from pyspark.sql.types import ArrayType, DataType, MapType, StructType, TimestampType

from graph_compiler.deployment.documents.host_zone import CONFIRMED, READS_DIFFERENTLY, host_zone
from graph_compiler.deployment.documents.jvm_settings import ZONE
from graph_compiler.errors import PublicationError
from graph_compiler.staging.publications.ledger import Ledger


def refuse_another_zone(
    spark: SparkSession, ledger: Ledger, target: str, before: int, rows: StructType
) -> None:
    """Raise PublicationError if rows with times stay in a target that may have been written in another zone.

    The check needs a host with another zone, and is for targets whose times go through the JVM's zone.
    """
    zone = host_zone()
    if zone is None or not _has_times(rows) or spark.conf.get(CONFIRMED, "") == ZONE:
        return
    if ledger.may_have_another_zone(target, before):
        raise PublicationError(
            f"its target {target} was last written by a version that used the zone of its host, and this host has "
            f"{zone}: one target would hold times in two zones. {READS_DIFFERENTLY}\n"
            "  allowed: a target whose times are all in UTC\n"
            "  hint: look at its times. If they are in UTC (its rows came from hosts in UTC), set the option "
            f"{CONFIRMED}: {ZONE} for the next run. If not, convert them first with to_utc_timestamp(at, '{zone}'), "
            "or overwrite the target from its sources"
        )


def _has_times(kind: DataType) -> bool:
    match kind:
        case StructType():
            return any(_has_times(field.dataType) for field in kind.fields)
        case ArrayType():
            return _has_times(kind.elementType)
        case MapType():
            return _has_times(kind.keyType) or _has_times(kind.valueType)
    return isinstance(kind, TimestampType)
