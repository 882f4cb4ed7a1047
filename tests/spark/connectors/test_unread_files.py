"""Files below a source's folder that Spark would leave out: refused; and sources that read all folders below."""

import shutil
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from graph_compiler import Parquet, StreamExecutionEnvironment, Text
from graph_compiler.deployment.documents.report import ThrowableType
from graph_compiler.errors import SchemaChangedError, UnreadFilesError
from graph_compiler.spark_runtime.connectors import read_source
from graph_compiler.spark_runtime.repeatability.source_files import listings_of
from graph_compiler.spark_runtime.spark_internals.plan_leaves import plan_leaves
from tests.spark.conftest import RunPipeline

pytestmark = [pytest.mark.spark, pytest.mark.ci]

ALL_BELOW = {"recursiveFileLookup": "true"}


def make(folder: Path, *files: str) -> None:
    """Write text files, each with its name in it; a name that ends in `!` is that of an empty file."""
    shutil.rmtree(folder, ignore_errors=True)
    for name in files:
        path = folder / name.removesuffix("!")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("" if name.endswith("!") else f"{name}\n")


def read(spark: SparkSession, folder: Path, path: str = "", options: Mapping[str, str] | None = None) -> set[str]:
    source = Text(f"{folder}{path}", options=options or {})
    return {row["value"] for row in read_source(source, spark).select("value").collect()}


@pytest.mark.parametrize(("files", "path", "options", "unread"), [
    (("a", "2023/12/b", "2023/c"), "", {}, {"2023/12/b", "2023/c"}),
    (("2023/12/b",), "", {}, {"2023/12/b"}),
    (("a", "2023/12/b", "2023/c"), "/*", {}, {"2023/12/b"}),
    (("a", "2023/12/b"), "", ALL_BELOW, set()),
    (("a", "2023/12/b"), "", {"RECURSIVEfilelookup": "TRUE"}, set()),
    (("a.txt", "2023/12/b.txt"), "/*.txt", {}, set()),
    (("a", "b"), "/a", {}, set()),
    (("d1/a", "d1/sub/b", "d2/c"), "/d*", {}, {"d1/sub/b"}),
    (("d1/a", "d2/c"), "/{d1,d2}", {}, set()),
    (("a", "_log_of_others/x", ".staging/y", "_temporary/0/z", "x._COPYING_/w"), "", {}, set()),
    (("a", "sub/_SUCCESS", "sub/_metadata", "sub/.a.crc"), "", {}, set()),
    (("a", "sub/empty!"), "", {}, set()),
    (("day=1/a", "day=2/b"), "", {}, set()),
    (("day=1/a", "day=2/b", "_day=3/c"), "", {}, None),
    (("day=1/a", "day=2/b", "c"), "", {}, {"c"}),
    (("day=1/a", "day=2/b", "_SUCCESS", "_logs/c", "day=2/_tmp/d"), "", {}, set()),
    (("day=1/a", "day=2/sub/b"), "", {}, set()),
    (("day=1/h=1/a", "day=1/h=2/b"), "", {}, set()),
    (("day=1/a", "day=1/b"), "/day=1", {}, set()),
    (("day=1/a", "day=1/sub/b"), "/day=1", {}, {"day=1/sub/b"}),
    (("x=1/day=1/a", "x=1/c"), "/x=1", {}, {"x=1/c"}),
    (("a.csv", "old/b.csv", "old/b.bak"), "", {"pathGlobFilter": "*.csv"}, {"old/b.csv"}),
    (("a.csv", "old/b.bak"), "", {"pathGlobFilter": "*.csv"}, set()),
    (("a", "old/b"), "", {"modifiedBefore": "2020-01-01T00:00:00"}, set()),
    (("a", "old/b"), "", {"modifiedAfter": "2020-01-01T00:00:00"}, {"old/b"}),
    (("day=1/a.csv", "day=2/b.bak"), "", {"pathGlobFilter": "*.csv"}, set()),
    (("a b", "größe x/b%20c,d"), "", {}, {"größe x/b%20c,d"}),
    (("a", ".b.graph_compiler/e1/ready/c", "_temporary/0/d"), "/*", {}, set()),
    (("a", ".b.graph_compiler/e1/ready/c", "_temporary/0/d"), "/*", ALL_BELOW, set()),
])  # fmt: skip
def test_files_are_read_or_the_source_is_refused(
    files: tuple[str, ...],
    path: str,
    options: Mapping[str, str],
    unread: set[str] | None,
    spark: SparkSession,
    tmp_path: Path,
) -> None:
    folder = tmp_path / "in"
    make(folder, *files)
    if unread is None:
        with pytest.raises(SchemaChangedError, match="named after different columns"):
            read(spark, folder, path, options)
        return
    if not unread:
        read(spark, folder, path, options)
        return
    with pytest.raises(UnreadFilesError) as refused:
        read(spark, folder, path, options)
    words = str(refused.value)
    assert words.startswith(f"{len(unread)} file")
    assert [f"file:{folder}/{name}" in words for name in unread] == [True] * len(unread)
    assert "recursiveFileLookup" in words


def test_only_some_of_many_are_named(spark: SparkSession, tmp_path: Path) -> None:
    make(tmp_path / "in", "a", *(f"old/{number}" for number in range(10)))
    with pytest.raises(UnreadFilesError, match="10 files below (.*\n)*    and 7 others\n"):
        read(spark, tmp_path / "in")


NAMES = st.sampled_from(["a", "b", "day=1", "day=2", "_x", ".h", "_day=1", "sub", "old.csv"])
TREES = st.lists(st.lists(NAMES, min_size=0, max_size=3), min_size=1, max_size=4)


@settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))
@given(folders=TREES)
def test_no_file_is_left_out_without_an_error(folders: list[list[str]], spark: SparkSession, tmp_path: Path) -> None:
    files = {"/".join([*folder, f"{number}.txt"]) for number, folder in enumerate(folders)}
    make(tmp_path / "in", *files)
    shown = {
        file
        for file in files
        if not any(part.startswith(".") or (part.startswith("_") and "=" not in part) for part in file.split("/"))
    }
    raw = None
    with suppress(PySparkException):  # Spark refuses some of these folders itself
        raw = {row["value"] for row in spark.read.text(f"{tmp_path}/in").select("value").collect()}
    if raw == shown:
        assert read(spark, tmp_path / "in") == shown
    elif raw is not None:
        with pytest.raises(UnreadFilesError, match=f"^{len(shown - raw)} file"):
            read(spark, tmp_path / "in")


@pytest.mark.parametrize("options", [
    ALL_BELOW, {**ALL_BELOW, "pathGlobFilter": "*.txt"}, {**ALL_BELOW, "modifiedAfter": "2020-01-01T00:00:00"},
])  # fmt: skip
def test_a_file_in_a_folder_below_has_not_changed(
    options: Mapping[str, str], spark: SparkSession, tmp_path: Path
) -> None:
    make(tmp_path / "in", "a.txt", "2023/12/b.txt", "old/c.bak")
    rows = read_source(Text(f"{tmp_path}/in", options=options), spark)
    (listing,) = listings_of(spark, plan_leaves(rows))
    assert len(listing.files) == 2 + (len(options) != 2 or "modifiedAfter" in options)
    assert listing.why_changed() is None
    (tmp_path / "in/2023/12/b.txt").write_text("something longer\n")
    assert "2023/12/b.txt had 14 bytes, and has 17" in str(listing.why_changed())
    (tmp_path / "in/2023/12/b.txt").unlink()
    assert "2023/12/b.txt is gone" in str(listing.why_changed())


def test_a_file_that_was_written_again_is_not_gone(spark: SparkSession, tmp_path: Path) -> None:
    make(tmp_path / "in", "a.txt")
    soon = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(time.time() + 3))
    options = {"modifiedBefore": soon, "timeZone": "UTC"}
    rows = read_source(Text(f"{tmp_path}/in", options=options), spark)
    (listing,) = listings_of(spark, plan_leaves(rows))
    time.sleep(4)
    (tmp_path / "in/a.txt").write_text("a.txt\n")
    assert "a.txt was written again" in str(listing.why_changed())


def test_all_folders_below_are_read_by_a_pipeline(
    spark: SparkSession, run_pipeline: RunPipeline, tmp_path: Path
) -> None:
    spark.range(1).write.parquet(f"{tmp_path}/in/new")
    spark.range(2).write.parquet(f"{tmp_path}/in/old/2023")
    env = StreamExecutionEnvironment("below")
    source = Parquet(f"{tmp_path}/in", schema="id BIGINT", options=ALL_BELOW)
    env.from_source(source, "orders").sink_to(Parquet(f"{tmp_path}/out"))
    (report,) = run_pipeline(env.pipeline())
    assert report.failure is None
    assert spark.read.parquet(f"{tmp_path}/out").count() == 3


def test_a_source_with_folders_below_fails_once(spark: SparkSession, run_pipeline: RunPipeline, tmp_path: Path) -> None:
    spark.range(2).write.parquet(f"{tmp_path}/in/old/2023")
    env = StreamExecutionEnvironment("below")
    source = Parquet(f"{tmp_path}/in", schema="id BIGINT")
    env.from_source(source, "orders").sink_to(Parquet(f"{tmp_path}/out"))
    (report,) = run_pipeline(env.pipeline())
    assert report.failure is not None
    assert report.failure.throwable_type is ThrowableType.NON_RECOVERABLE_ERROR
    assert report.failure.operator == "orders"
    assert "would not be read" in report.failure.message
    assert "old/2023/part-00000" in report.failure.message


@pytest.mark.parametrize(
    ("files", "path", "skipped"),
    [
        (("_a.csv",), "/_a.csv", "_a.csv"),
        ((".a.csv",), "/.a.csv", ".a.csv"),
        (("a._COPYING_",), "/a._COPYING_", "a._COPYING_"),
        (("_a", "_b"), "/_*", "_a"),
        (("_in/a",), "/_in", None),
        (("_in/a",), "/_in/*", None),
        (("in/_SUCCESS",), "/in", None),
        (("in/_SUCCESS",), "/in/*", None),
        (("_in/_SUCCESS",), "/_in", None),
        (("_x=1/a",), "/_x=1", None),
    ],
)
@pytest.mark.parametrize("schema", [None, "value STRING"])
def test_a_file_that_a_source_names_and_spark_skips_is_refused(
    files: tuple[str, ...], path: str, skipped: str | None, schema: str | None, spark: SparkSession, tmp_path: Path
) -> None:
    make(tmp_path, *files)
    source = Text(f"{tmp_path}{path}", schema=schema)
    if skipped is None:
        found = {row["value"] for row in read_source(source, spark).select("value").collect()}
        assert found == {name for name in files if not name.endswith("_SUCCESS")}
        return
    with pytest.raises(UnreadFilesError, match="would not be read: Spark skips hidden names") as refused:
        read_source(source, spark)
    assert f"{tmp_path}/{skipped}" in str(refused.value)
    make(tmp_path, "renamed")
    assert read(spark, tmp_path, "/renamed") == {"renamed"}


@pytest.mark.parametrize("options", [{}, ALL_BELOW])
@pytest.mark.parametrize("schema", [None, "value STRING"])
def test_a_star_matches_no_hidden_folder(
    schema: str | None, options: Mapping[str, str], spark: SparkSession, tmp_path: Path
) -> None:
    make(tmp_path / "in", "d/a", ".d2/b", "_d3/c", "_v=1/d")
    make(tmp_path / "hidden", ".d2/b")
    for path, found in (("in/*", {"d/a", "_v=1/d"}), ("in/*/*", {"d/a", "_v=1/d"}), ("in/*d*/a", {"d/a"})):
        rows = read_source(Text(f"{tmp_path}/{path}", schema=schema, options=options), spark)
        assert {row["value"] for row in rows.select("value").collect()} == found
    assert read(spark, tmp_path / "in", "/.*") == {".d2/b"}
    with pytest.raises(UnreadFilesError, match=r"/\.d2 is hidden, and a wildcard") as refused:
        read(spark, tmp_path / "in", "/?d[2]")
    assert "[^._]" in str(refused.value)
    assert read(spark, tmp_path / "in", "/[^._]*") == {"d/a"}
    with pytest.raises(UnreadFilesError, match=r"/\.d2 is hidden, and a wildcard"):
        read(spark, tmp_path / "hidden", "/*")
    assert read_source(Text(f"{tmp_path}/hidden/*", schema="value STRING", if_missing="empty"), spark).count() == 0
    with pytest.raises(PySparkException, match=rf"PATH_NOT_FOUND.*{tmp_path}/in/\*\.gz"):
        read(spark, tmp_path / "in", "/*.gz")


def test_a_hidden_file_of_parquet_is_refused_with_and_without_a_schema(spark: SparkSession, tmp_path: Path) -> None:
    spark.range(1).coalesce(1).write.parquet(f"{tmp_path}/in")
    (file,) = (tmp_path / "in").glob("part-*")
    file.rename(tmp_path / "_in.parquet")
    for schema in (None, "id BIGINT"):
        with pytest.raises(UnreadFilesError, match=r"_in\.parquet would not be read"):
            read_source(Parquet(f"{tmp_path}/_in.parquet", schema=schema), spark)
