"""Settings of a cluster or a session do not change the rows of files that this project wrote and reads again."""

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from graph_compiler import Orc, Parquet
from graph_compiler.errors import PartitionNotFoundError
from graph_compiler.spark_runtime.connectors import read_source
from graph_compiler.spark_runtime.results.pinned_settings import (
    READ_OPTIONS,
    READ_SESSION,
    WRITE_OPTIONS,
    WRITE_SESSION,
    pinned,
)
from graph_compiler.tested_versions import SPARK, minor_of
from tests.harness.border_values import VALUES, as_texts, border_values
from tests.harness.sinks import Sinks
from tests.spark.results.test_damaged_data import RESULT, STAGED, area_of

pytestmark = pytest.mark.spark

WORST: Mapping[str, str] = {
    "spark.sql.files.ignoreCorruptFiles": "true",
    "spark.sql.files.ignoreMissingFiles": "true",
    "spark.sql.files.ignoredPathSegmentRegex": "^part",
    "spark.sql.files.maxRecordsPerFile": "1",
    "spark.sql.sources.useV1SourceList": "",
    "spark.sql.sources.ignoreDataLocality": "true",
    "spark.sql.caseSensitive": "true",
    "spark.sql.timestampType": "TIMESTAMP_NTZ",
    "spark.sql.parquet.mergeSchema": "true",
    "spark.sql.parquet.binaryAsString": "true",
    "spark.sql.parquet.int96AsTimestamp": "false",
    "spark.sql.parquet.int96TimestampConversion": "true",
    "spark.sql.parquet.inferTimestampNTZ.enabled": "false",
    "spark.sql.parquet.datetimeRebaseModeInRead": "LEGACY",
    "spark.sql.parquet.datetimeRebaseModeInWrite": "LEGACY",
    "spark.sql.parquet.int96RebaseModeInRead": "LEGACY",
    "spark.sql.parquet.int96RebaseModeInWrite": "LEGACY",
    "spark.sql.parquet.outputTimestampType": "INT96",
    "spark.sql.parquet.writeLegacyFormat": "true",
    "spark.sql.parquet.fieldId.read.enabled": "true",
    "spark.sql.parquet.fieldId.read.ignoreMissing": "true",
    "spark.sql.parquet.fieldId.write.enabled": "false",
    "spark.sql.parquet.recordLevelFilter.enabled": "true",
    "spark.sql.parquet.respectSummaryFiles": "true",
    "spark.sql.parquet.aggregatePushdown": "true",
    "spark.sql.parquet.ignoreVariantAnnotation": "true",
    "spark.sql.legacy.parquet.nanosAsLong": "true",
    "spark.sql.legacy.parquet.returnNullStructIfAllFieldsMissing": "true",
    "spark.sql.legacy.charVarcharAsString": "true",
    "spark.sql.readSideCharPadding": "false",
}
"""Settings of a session that have to do with how files are read and written, none with its default."""
WORST_OF_HADOOP = {
    "fs.file.impl": "org.apache.hadoop.fs.RawLocalFileSystem",
    "fs.file.checksum.verify": "false",
    "mapreduce.output.basename": "_hidden",
    "mapreduce.input.pathFilter.class": "no.such.Filter",
    "parquet.page.verify-checksum.enabled": "false",
    "parquet.page.write-checksum.enabled": "false",
    "orc.skip.corrupt.data": "true",
    "orc.force.positional.evolution": "true",
}
# Settings whose names say that they could change rows, and that do not change those of staged files: each was set in
# turn to what it is not, and every type of tests/harness/border_values.py was read and written.
HARMLESS = frozenset(Path(__file__).with_name("harmless_settings.txt").read_text().split())
ONLY_BEFORE = {"spark.sql.sources.v2.bucketing.allowJoinKeysSubsetOfPartitionKeys.enabled"}
"""Settings that the newest Spark does not have any more."""
_COULD_CHANGE_ROWS = re.compile(
    r"^spark\.sql\.(files|sources|parquet|legacy\.parquet)\.|(ignore|rebase|corrupt|missing)", re.I
)


@contextmanager
def hadoop_settings(spark: SparkSession, settings: Mapping[str, str]) -> Iterator[None]:
    """Set settings of Hadoop for the whole application, as `spark.hadoop.…` in its defaults does."""
    assert spark._jsc is not None
    configuration = spark._jsc.hadoopConfiguration()
    before = {key: configuration.get(key) for key in settings}
    for key, value in settings.items():
        configuration.set(key, value)
    try:
        yield
    finally:
        for key, old in before.items():
            configuration.unset(key) if old is None else configuration.set(key, old)


def registered_settings(spark: SparkSession) -> dict[str, str]:
    """Return the settings that Spark's SQL knows, internal ones too, with their defaults."""
    assert spark._jvm is not None
    module = spark._jvm.java.lang.Class.forName("org.apache.spark.sql.internal.SQLConf$")
    entries: Any = module.getField("MODULE$").get(None).getConfigEntries()
    found = entries.iterator()
    settings = {}
    while found.hasNext():
        entry = found.next()
        settings[str(entry.key())] = str(entry.defaultValueString())
    return settings


@pytest.fixture
def kinds() -> list[str]:
    return [kind for kind in VALUES if kind not in ("time", "interval")]


def test_no_initial_setting_changes_staged_rows(kinds: list[str], spark: SparkSession, tmp_path: Path) -> None:
    rows = border_values(spark, kinds)
    wanted, schema = as_texts(rows), rows.schema
    area = area_of(spark, tmp_path)
    with pinned(spark, WORST), hadoop_settings(spark, WORST_OF_HADOOP):
        manifest = area.stage(RESULT, rows)
        assert (len(manifest.files), manifest.rows) == (1, len(wanted["string"]))
        assert manifest.files[0].checksums is not None
        back = area.read(area.find(STAGED))
        assert back.sparkSession is spark
        assert back.schema == schema
        assert as_texts(back) == wanted


def test_damaged_files_are_noticed_even_if_the_cluster_ignores_them(spark: SparkSession, tmp_path: Path) -> None:
    area = area_of(spark, tmp_path)
    with pinned(spark, WORST), hadoop_settings(spark, WORST_OF_HADOOP):
        manifest = area.stage(RESULT, spark.range(0, 1000, 1, 2).selectExpr("id"))
        assert area.read(area.find(STAGED)).count() == 1000
        file = Path(manifest.location, manifest.files[0].name)
        rows = area.read(area.find(STAGED))
        content = bytearray(file.read_bytes())
        content[200] ^= 1
        file.write_bytes(content)
        with pytest.raises(Exception, match="Checksum error"):
            rows.collect()
        file.unlink()
        with pytest.raises(Exception, match="FILE_NOT_EXIST|does not exist"):
            rows.collect()


def test_files_that_spark_does_not_list_are_not_read_as_empty(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from graph_compiler.spark_runtime.results import reading

    area = area_of(spark, tmp_path)
    area.stage(RESULT, spark.range(10))
    monkeypatch.setattr(reading, "READ_OPTIONS", {"pathGlobFilter": "no-such-file"})
    with pytest.raises(PartitionNotFoundError, match="Spark lists 0 files"):
        area.read(area.find(STAGED))


@pytest.mark.parametrize("connector", [Parquet, Orc])
def test_a_merge_keeps_the_targets_rows_whatever_files_the_cluster_ignores(
    connector: type[Parquet | Orc], spark: SparkSession, sinks: Sinks, tmp_path: Path
) -> None:
    sinks.write(connector(f"{tmp_path}/out"), "SELECT id, id AS v FROM range(10)")
    ignores = {key: value for key, value in WORST.items() if ".ignore" in key and "regex" not in key.lower()}
    of_orc = {key: value for key, value in WORST_OF_HADOOP.items() if key.startswith("orc.")}
    with pinned(spark, ignores), hadoop_settings(spark, of_orc):
        rows = "SELECT id, -1L AS v FROM range(9, 11)"
        sinks.write(connector(f"{tmp_path}/out"), rows, run="r2", mode="merge", keys=("id",))
    found = read_source(connector(f"{tmp_path}/out"), spark).collect()
    assert sorted(map(tuple, found)) == [*((n, n) for n in range(9)), (9, -1), (10, -1)]


def test_every_setting_that_could_change_rows_is_classified(spark: SparkSession) -> None:
    known = {*WORST, *READ_SESSION, *WRITE_SESSION, *HARMLESS}
    suspects = {key for key in registered_settings(spark) if _COULD_CHANGE_ROWS.search(key)}
    assert sorted(suspects - known) == [], "pin them in pinned_settings.py, or say why not"
    if minor_of(spark.version) == SPARK.minors[-1]:
        assert sorted(HARMLESS - set(registered_settings(spark)) - ONLY_BEFORE) == []


def test_pinned_settings_are_tested_with_their_worst_value() -> None:
    tried = {*WORST, *WORST_OF_HADOOP}
    of_spark = {
        "ignoreCorruptFiles": "spark.sql.files.ignoreCorruptFiles",
        "ignoreMissingFiles": "spark.sql.files.ignoreMissingFiles",
        "ignoredPathSegmentRegex": "spark.sql.files.ignoredPathSegmentRegex",
        "mergeSchema": "spark.sql.parquet.mergeSchema",
        "datetimeRebaseMode": "spark.sql.parquet.datetimeRebaseModeInRead",
        "int96RebaseMode": "spark.sql.parquet.int96RebaseModeInRead",
        "maxRecordsPerFile": "spark.sql.files.maxRecordsPerFile",
    }
    pins = {*READ_SESSION, *WRITE_SESSION, *READ_OPTIONS, *WRITE_OPTIONS}
    untried = {of_spark.get(key, key) for key in pins} - tried
    # A folder that is no partition's has no place in a list of files; and the cache is off so that others hold.
    assert untried == {"ignoreInvalidPartitionPaths", "fs.file.impl.disable.cache"}
