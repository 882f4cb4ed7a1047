"""The files that we list in a folder are those that Spark's own listing finds."""

import shutil
from collections.abc import Callable
from pathlib import Path
from urllib.parse import unquote, urlparse

import pytest
from py4j.protocol import Py4JError
from pyspark.sql import SparkSession
from pyspark.sql.functions import input_file_name

from graph_compiler.spark_runtime.publishing.literal_paths import literal_path
from graph_compiler.staging.publications.listing import (
    data_files,
    files_with_rows,
    first_link,
    has_rows,
    is_hidden,
    visible_pattern,
)

NAMES = [
    *("a", "x=_1", "x~", "part.crc", "_", "_=", "_x", "_x=1", ".x", ".x=1", ".", "..x", "_SUCCESS"),
    *("x._COPYING_", "_COPYING_", "._COPYING_", "_x=1._COPYING_", "_temporary", "a b", "é", "[x]"),
    *("_metadata", "_metadata=", "_metadatax", "_metadata._COPYING_", "_common_metadata", "_meta"),
    *("_common_metadata.x", "_common_metadata=1", "k=_1", "k=.1", "empty-1", "x\n", "*", "{a,b}"),
]

pytestmark = [pytest.mark.spark, pytest.mark.ci]


@pytest.fixture
def rows(spark: SparkSession, tmp_path: Path) -> Path:
    """Return a file of one row."""
    spark.range(1).coalesce(1).write.parquet(f"{tmp_path}/source")
    return next((tmp_path / "source").glob("part-*"))


def put(folder: Path, rows: Path, *names: str) -> None:
    for name in names:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(rows, folder / name)


def scanned(spark: SparkSession, folder: Path, **options: str) -> frozenset[str]:
    """Return the files that Spark takes rows from."""
    reader = spark.read.schema("id LONG").options(**options)
    found = reader.parquet(literal_path(str(folder))).select(input_file_name()).collect()
    return frozenset(_inside(folder, row[0]) for row in found)


def listed(spark: SparkSession, folder: Path) -> frozenset[str]:
    """Return the files that Spark lists."""
    reader = spark.read.schema("id LONG").option("recursiveFileLookup", "true")
    return frozenset(_inside(folder, uri) for uri in reader.parquet(literal_path(str(folder))).inputFiles())


def _inside(folder: Path, uri: str) -> str:
    return unquote(urlparse(uri).path).removeprefix(f"{folder}/")


@pytest.fixture
def sparks_rule(spark: SparkSession) -> Callable[[str], bool]:
    assert spark._jvm is not None
    module = getattr(getattr(spark._jvm, "org.apache.spark.util.HadoopFSUtils$"), "MODULE$")
    try:
        hidden = [module.defaultIgnoredPathSegmentRegexPattern()]
    except Py4JError:  # before 4.2, there is one rule
        hidden = []
    return lambda name: bool(module.shouldFilterOutPathName(name, *hidden))


@pytest.mark.parametrize("name", NAMES)
def test_hidden_names_are_those_that_spark_hides(name: str, sparks_rule: Callable[[str], bool]) -> None:
    assert is_hidden(name) is sparks_rule(name)


def test_files_and_folders_at_every_level_are_those_that_spark_lists_and_reads(
    spark: SparkSession, rows: Path, tmp_path: Path
) -> None:
    names = [name for name in NAMES if name != "."]
    folder = tmp_path / "out"
    put(folder, rows, *names)
    assert data_files(folder) == listed(spark, folder)
    assert files_with_rows(folder) == scanned(spark, folder)
    shutil.rmtree(folder)
    put(folder, rows, *(f"{name}/{inner}/a" for name in names for inner in ("k=1", "_k=1", "_k")))
    assert data_files(folder) == listed(spark, folder)


def test_columns_with_underscores_are_partitions_as_spark_reads_them(
    spark: SparkSession, rows: Path, tmp_path: Path
) -> None:
    put(tmp_path / "out", rows, "_day=1/a", "_day=2/b", "_day=2/_c", "_day=2/_d=e", "_other/x")
    assert files_with_rows(tmp_path / "out") == scanned(spark, tmp_path / "out")
    assert files_with_rows(tmp_path / "out") == {"_day=1/a", "_day=2/b", "_day=2/_d=e"}


def test_links_are_followed_as_spark_follows_them(spark: SparkSession, rows: Path, tmp_path: Path) -> None:
    folder, elsewhere = tmp_path / "out", tmp_path / "elsewhere"
    put(folder, rows, "k=1/a")
    put(elsewhere, rows, "b")
    (folder / "k=2").symlink_to(elsewhere)
    (folder / "k=3").symlink_to("nowhere")
    (folder / "k=1" / "link").symlink_to(elsewhere / "b")
    (folder / "k=1" / "dangling").symlink_to("nowhere")
    assert data_files(folder) == {"k=1/a", "k=1/link", "k=2/b"} == scanned(spark, folder)


def test_a_link_cycle_is_walked_once(tmp_path: Path) -> None:
    (tmp_path / "out" / "k=1").mkdir(parents=True)
    (tmp_path / "out" / "k=1" / "a").touch()
    (tmp_path / "out" / "k=1" / "again").symlink_to("..")
    (tmp_path / "out" / "self").symlink_to(".")
    assert data_files(tmp_path / "out") == {"k=1/a"}


def test_the_outermost_link_on_the_way_to_a_file_is_found(tmp_path: Path) -> None:
    (tmp_path / "else" / "m=1").mkdir(parents=True)
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "y=1").symlink_to(tmp_path / "else")
    assert first_link(tmp_path / "out", "y=1/m=1/a") == "y=1"
    assert first_link(tmp_path / "else", "m=1/a") is None
    assert first_link(tmp_path / "out", "y=1") is None


def test_summaries_are_listed_and_have_no_rows() -> None:
    assert not is_hidden("_metadata")
    assert not has_rows("_metadata")
    assert has_rows("_day=1")


@pytest.mark.parametrize(
    "name", ["*", "**", "*x", "*a b", "*.x", "*=1", "*=", "*_x=1", "*_", "*_COPYING_", "*metadata", "*,b", "*é", "*-1"]
)
def test_a_name_with_a_leading_star_matches_as_for_hadoop_but_nothing_hidden(name: str, spark: SparkSession) -> None:
    assert spark._jvm is not None
    glob = getattr(spark._jvm, "org.apache.hadoop.fs.GlobPattern")
    declared, visible = glob(name), glob(visible_pattern(name))
    names = [*NAMES, "a,b", ",b", "_a,b", "_v,x=1,b"]
    matched = {each for each in names if declared.matches(each) and not is_hidden(each)}
    found = {each for each in names if visible.matches(each)}
    assert {each for each in found if not each.endswith("._COPYING_")} == {
        each for each in matched if not each.endswith("._COPYING_")
    }
    assert matched <= found
