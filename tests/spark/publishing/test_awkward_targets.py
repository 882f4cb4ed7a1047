"""Sinks of files whose target, columns, values, options or neighbors an attacker has chosen."""

import json
import shutil
import tempfile
from dataclasses import replace
from datetime import date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from graph_compiler import Csv, Orc, Parquet, Range, StreamExecutionEnvironment
from graph_compiler.compiler.pipeline_compiler import compile_pipeline
from graph_compiler.declaration.connectors import FileConnector
from graph_compiler.errors import InvalidPipelineError, PublicationError
from graph_compiler.spark_runtime.publishing.literal_paths import literal_path
from graph_compiler.staging.publications.listing import data_files
from graph_compiler.staging.store.local_store import LocalStore
from tests.harness.sinks import Sinks

pytestmark = [pytest.mark.spark, pytest.mark.ci]
MODES = ["append", "overwrite", "overwrite-partitions", "error-if-exists", "merge"]
ODD_VALUES = ["", "__HIVE_DEFAULT_PARTITION__", "x._COPYING_"]


def rows(spark: SparkSession, path: str) -> list[tuple[Any, ...]]:
    return sorted((tuple(row) for row in spark.read.parquet(literal_path(path)).collect()), key=str)


def settings(mode: str, **more: object) -> dict[str, Any]:
    return {"mode": mode} | ({"keys": ("id",)} if mode == "merge" else {}) | more


@pytest.mark.parametrize(
    "column",
    ["_day", "empty-seats"] + [pytest.param(name, marks=pytest.mark.long) for name in ("part-x", "a=b", "k%41", "_")],
)
@pytest.mark.parametrize("mode", MODES)
def test_a_run_counts_once_whatever_its_partition_column_is_called(
    mode: str, column: str, spark: SparkSession, sinks: Sinks, tmp_path: Path
) -> None:
    target = Parquet(f"{tmp_path}/out")
    how = settings(mode, partition_by=(column,))
    if mode != "error-if-exists":
        sinks.write(target, f"SELECT 1L AS id, 7 AS `{column}`", run="r0", **how)
    for _ in range(2):
        sinks.write(target, f"SELECT 2L AS id, 7 AS `{column}`", run="r1", **how)
    stays = mode in ("append", "merge")
    assert rows(spark, target.one_path) == [(1, 7)] * stays + [(2, 7)]
    if mode == "error-if-exists":
        with pytest.raises(PublicationError, match="holds 1 file from elsewhere"):
            sinks.open(target, run="r2", **how)


@pytest.mark.parametrize("column", ["_day", "empty-seats"])
@pytest.mark.parametrize("mode", ["overwrite", "overwrite-partitions"])
def test_without_folder_exchange_old_files_are_removed_whatever_their_column_is_called(
    mode: str, column: str, spark: SparkSession, sinks: Sinks, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(LocalStore, "promises", replace(LocalStore.promises, atomic_exchange=False))
    test_a_run_counts_once_whatever_its_partition_column_is_called(mode, column, spark, sinks, tmp_path)


def test_a_partition_column_that_hides_its_folders_is_refused(sinks: Sinks, tmp_path: Path) -> None:
    with pytest.raises(PublicationError, match=r"column '\.day' .* readers skip"):
        sinks.write(Parquet(f"{tmp_path}/out"), "SELECT 1 id, 1 `.day`", partition_by=(".day",))


def test_files_of_others_stay_whatever_they_are_called(spark: SparkSession, sinks: Sinks, tmp_path: Path) -> None:
    spark.sql("SELECT 1L AS id, 1 AS day").write.partitionBy("day").parquet(f"{tmp_path}/out")
    (theirs,) = (tmp_path / "out" / "day=1").glob("part-*")
    theirs.rename(theirs.with_name("empty-1.parquet"))
    shutil.copy(theirs.with_name("empty-1.parquet"), theirs.with_name("part-0-e0.parquet"))
    target = Parquet(f"{tmp_path}/out")
    for run in ("r1", "r1", "r2"):
        sinks.write(target, "SELECT 2L AS id, 1 AS day", run=run, mode="append", partition_by=("day",))
    assert rows(spark, target.one_path) == [(1, 1), (1, 1), (2, 1), (2, 1)]


def test_a_marker_file_is_removed_once_there_are_rows_but_not_a_foreign_file_of_its_name(
    sinks: Sinks, tmp_path: Path
) -> None:
    target, how = Parquet(f"{tmp_path}/out"), settings("append", partition_by=("day",))
    sinks.write(target, "SELECT 1L AS id, 1 AS day WHERE false", run="r1", **how)
    (marker,) = data_files(tmp_path / "out")
    assert marker.startswith("empty-")
    sinks.write(target, "SELECT 2L AS id, 1 AS day", run="r2", **how)
    assert marker not in data_files(tmp_path / "out")
    (mine,) = data_files(tmp_path / "out")
    shutil.copy(tmp_path / "out" / mine, tmp_path / "out" / "empty-theirs.parquet")
    with pytest.raises(PublicationError, match="in folders by nothing, and partition_by is day"):
        sinks.write(target, "SELECT 3L AS id, 1 AS day", run="r3", **how)
    assert "empty-theirs.parquet" in data_files(tmp_path / "out")


def test_intents_without_a_list_of_markers_are_carried_out(spark: SparkSession, sinks: Sinks, tmp_path: Path) -> None:
    target, how = Parquet(f"{tmp_path}/out"), settings("append", partition_by=("day",))
    sinks.write(target, "SELECT 1L AS id, 1 AS day WHERE false", run="r1", **how)
    (intent,) = (sinks.root / ".targets").rglob("0.intent.json")
    document = json.loads(intent.read_text())
    assert document.pop("markers")
    intent.chmod(0o600)
    intent.write_text(json.dumps(document))
    intent.with_name("0.done.json").unlink()
    sinks.write(target, "SELECT 2L AS id, 1 AS day", run="r2", **how)
    assert rows(spark, target.one_path) == [(2, 1)]
    assert not [name for name in data_files(tmp_path / "out") if "/" not in name]


@pytest.mark.parametrize("kind", [Parquet, Orc, Csv])
@pytest.mark.parametrize("mode", MODES)
def test_a_value_no_folder_can_hold_is_refused_and_nothing_changes(
    mode: str, kind: type[FileConnector], sinks: Sinks, tmp_path: Path
) -> None:
    if kind is Csv and mode == "merge":
        pytest.skip("CSV files cannot be merged")
    target, how = kind(f"{tmp_path}/out"), settings(mode, partition_by=("k",))
    if mode != "error-if-exists":
        sinks.write(target, "SELECT 1L AS id, 'a' AS k", run="r0", **how)
    before = data_files(tmp_path / "out")
    values = ", ".join(f"({number + 5}L, '{value}')" for number, value in enumerate(ODD_VALUES))
    query = f"SELECT * FROM VALUES {values}, (2L, ''), (3L, NULL), (4L, 'b') AS t(id, k)"
    with pytest.raises(PublicationError) as refusal:
        sinks.write(target, query, run="r1", **how)
    assert str(refusal.value).splitlines()[:4] == [
        "names of partition folders cannot hold what it would write",
        "  column 'k': 2 rows with '', read back as NULL",
        "  column 'k': 1 row with '__HIVE_DEFAULT_PARTITION__', read back as NULL",
        "  column 'k': 1 row with text that ends in '._COPYING_', read back as no row at all: "
        "readers skip such folders",
    ]
    assert data_files(tmp_path / "out") == before


def test_bytes_that_are_not_utf_8_are_refused(sinks: Sinks, tmp_path: Path) -> None:
    query = "SELECT 1 AS id, CAST(b AS STRING) AS k FROM VALUES (X'FF'), (X'FE'), (X'00') AS t(b)"
    words = "(?s)2 rows with bytes that are not UTF-8.*1 row with a NUL character"
    with pytest.raises(PublicationError, match=words):
        sinks.write(Parquet(f"{tmp_path}/out"), query, partition_by=("k",))


def test_values_of_every_kind_come_back_from_folders(spark: SparkSession, sinks: Sinks, tmp_path: Path) -> None:
    values = ["/", "=", "%41", "a\nb", "x" * 200, " ", ".", "..", "_", "é", "e\u0301", "[*]{}\\?"]
    given = [
        (n, value, datetime(2013, 1, 1, 1, 2, 3, n), date(1, 1, 1), Decimal("-0.10"), n % 2 == 0)
        for n, value in enumerate([*values, None])
    ]
    schema = "id INT, s STRING, t TIMESTAMP, d DATE, n DECIMAL(5,2), b BOOLEAN"
    frame = spark.createDataFrame(given, schema)
    for mode in ("append", "append", "merge"):
        how = settings(mode, partition_by=("s", "t", "d", "n", "b"))
        sinks.write(Parquet(f"{tmp_path}/out"), frame, run="r1", **how)
    back = spark.read.schema(frame.schema).parquet(f"{tmp_path}/out")
    assert back.exceptAll(frame).count() == 0
    assert back.count() == len(given)


def test_a_folder_name_that_is_too_long_fails_before_anything_is_decided(
    spark: SparkSession, sinks: Sinks, tmp_path: Path
) -> None:
    target = Parquet(f"{tmp_path}/out")
    with pytest.raises(Exception, match="(?i)name too long|TASK_WRITE_FAILED"):
        sinks.write(target, f"SELECT 1 AS id, '{'é' * 200}' AS k", partition_by=("k",))
    assert not list(sinks.root.rglob("*.intent.json"))
    sinks.write(target, "SELECT 1 AS id, 'a' AS k", partition_by=("k",))
    assert rows(spark, target.one_path) == [(1, "a")]


def test_a_row_that_moves_to_another_partition_leaves_its_old_one(
    spark: SparkSession, sinks: Sinks, tmp_path: Path
) -> None:
    target, how = Parquet(f"{tmp_path}/out"), settings("merge", partition_by=("k",))
    sinks.write(target, "SELECT * FROM VALUES (1, 'a'), (2, 'b') AS t(id, k)", run="r1", **how)
    sinks.write(target, "SELECT * FROM VALUES (1, 'b'), (3, NULL) AS t(id, k)", run="r2", **how)
    assert rows(spark, target.one_path) == [(1, "b"), (2, "b"), (3, None)]
    sinks.write(target, "SELECT 3 AS id, 'c' AS k", run="r3", **how)
    assert rows(spark, target.one_path) == [(1, "b"), (2, "b"), (3, "c")]


def test_partitions_are_replaced_whatever_the_case_of_their_column(
    spark: SparkSession, sinks: Sinks, tmp_path: Path
) -> None:
    spark.sql("SELECT 1L AS id, id AS Day FROM range(2)").write.partitionBy("Day").parquet(f"{tmp_path}/out")
    how = settings("overwrite-partitions", partition_by=("day",))
    for _ in range(2):
        sinks.write(Parquet(f"{tmp_path}/out"), "SELECT 2L AS id, 1L AS day", **how)
    assert rows(spark, f"{tmp_path}/out") == [(1, 0), (2, 1)]


@pytest.mark.parametrize("mode", MODES)
def test_rows_behind_a_link_are_counted_and_what_is_there_stays(
    mode: str, spark: SparkSession, sinks: Sinks, tmp_path: Path
) -> None:
    spark.range(1).coalesce(1).write.parquet(f"{tmp_path}/others")
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "k=1").symlink_to(tmp_path / "others")
    there = data_files(tmp_path / "others")
    target, how = Parquet(f"{tmp_path}/out"), settings(mode, partition_by=("k",))
    if mode == "error-if-exists":
        with pytest.raises(PublicationError, match="holds 1 file from elsewhere"):
            sinks.open(target, **how)
        return
    for run in ("r1", "r1", "r2"):
        sinks.write(target, "SELECT 9L AS id, 1 AS k", run=run, **how)
    expected = {"append": [(0, 1), (9, 1), (9, 1)], "merge": [(0, 1), (9, 1)]}
    assert rows(spark, target.one_path) == expected.get(mode, [(9, 1)])
    assert there <= data_files(tmp_path / "others")
    assert (tmp_path / "out" / "k=1").is_symlink() is (mode == "append")


@pytest.mark.parametrize("mode", ["overwrite", "overwrite-partitions"])
def test_without_folder_exchange_a_link_is_also_removed(
    mode: str, spark: SparkSession, sinks: Sinks, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(LocalStore, "promises", replace(LocalStore.promises, atomic_exchange=False))
    test_rows_behind_a_link_are_counted_and_what_is_there_stays(mode, spark, sinks, tmp_path)


def test_a_partition_inside_a_linked_folder_is_not_replaced(spark: SparkSession, sinks: Sinks, tmp_path: Path) -> None:
    spark.sql("SELECT 1L AS id, 1 AS m").write.partitionBy("m").parquet(f"{tmp_path}/others")
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "y=1").symlink_to(tmp_path / "others")
    how = settings("overwrite-partitions", partition_by=("y", "m"))
    with pytest.raises(PublicationError, match="y=1 is a link, and files behind a link are never replaced"):
        sinks.write(Parquet(f"{tmp_path}/out"), "SELECT 2L AS id, 1 AS y, 1 AS m", **how)
    assert rows(spark, f"{tmp_path}/out") == [(1, 1, 1)]
    assert not list(sinks.root.rglob("*.intent.json"))


@pytest.mark.parametrize("kind", ["file", "dangling link"])
def test_a_file_in_the_way_of_a_partition_is_reported_before_the_decision(
    kind: str, spark: SparkSession, sinks: Sinks, tmp_path: Path
) -> None:
    (tmp_path / "out").mkdir()
    if kind == "file":
        (tmp_path / "out" / "_k=1").write_text("")
    else:
        (tmp_path / "out" / "_k=1").symlink_to("nowhere")
    how = {"partition_by": ("_k",)}
    with pytest.raises(PublicationError):
        sinks.write(Parquet(f"{tmp_path}/out"), "SELECT 1 id, 1 _k", mode="append", **how)  # type: ignore[arg-type]
    assert not list(sinks.root.rglob("*.intent.json"))
    sinks.write(Parquet(f"{tmp_path}/out"), "SELECT 1 id, 1 _k", mode="overwrite", **how)  # type: ignore[arg-type]
    assert rows(spark, f"{tmp_path}/out") == [(1, 1)]


@pytest.mark.parametrize("option", ["path", "PATH", "mapreduce.output.basename"])
def test_an_option_that_says_where_files_go_is_refused_when_the_pipeline_is_compiled(option: str) -> None:
    env = StreamExecutionEnvironment("p")
    rows = env.from_source(Range(0, 4), "numbers")
    rows.sink_to(Parquet("/out", options={option: "_elsewhere"})).name("out")
    with pytest.raises(InvalidPipelineError, match=f"option '{option}' is not allowed on a sink"):
        compile_pipeline(env.pipeline())


OPTIONS = {
    "a name for files": {"mapreduce.output.basename": "_mine"},
    "small files": {"maxRecordsPerFile": "2"},
    "dynamic": {"partitionOverwriteMode": "dynamic"},
    "summaries": {"parquet.summary.metadata.level": "ALL"},
    "old committer": {"mapreduce.fileoutputcommitter.algorithm.version": "2"},
    "reader's choice": {"pathGlobFilter": "*.csv", "modifiedAfter": "2050-01-01T00:00:00"},
    "hidden names": {"ignoredPathSegmentRegex": "^p"},
}


@pytest.mark.parametrize("options", OPTIONS.values(), ids=OPTIONS.keys())
def test_writer_options_do_not_change_which_rows_are_there(
    options: dict[str, str], spark: SparkSession, sinks: Sinks, tmp_path: Path
) -> None:
    target = Parquet(f"{tmp_path}/out", options=options)
    for run, mode in (("r1", "append"), ("r1", "append"), ("r2", "merge")):
        how = settings(mode, partition_by=("k",))
        written = sinks.write(target, "SELECT id, id % 2 AS k FROM range(0, 9, 1, 3)", run=run, **how)
        assert written.rows == 9
    assert rows(spark, target.one_path) == [(id, id % 2) for id in range(9)]


def test_session_settings_do_not_change_which_rows_are_there(spark: SparkSession, sinks: Sinks, tmp_path: Path) -> None:
    assert spark._jsc is not None
    hadoop = spark._jsc.hadoopConfiguration()
    target = Parquet(f"{tmp_path}/out")
    spark.conf.set("spark.sql.files.ignoredPathSegmentRegex", "^p")
    hadoop.set("mapreduce.output.basename", "_mine")
    try:
        for run in ("r1", "r2"):
            sinks.write(target, "SELECT id FROM range(9)", run=run, **settings("merge"))
    finally:
        spark.conf.unset("spark.sql.files.ignoredPathSegmentRegex")
        hadoop.unset("mapreduce.output.basename")
    assert rows(spark, target.one_path) == [(id,) for id in range(9)]


@pytest.mark.parametrize("kind", [Parquet, Orc, Csv])
def test_files_that_are_not_found_where_they_were_written_are_never_published(
    kind: type[FileConnector], sinks: Sinks, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sinks.write(kind(f"{tmp_path}/out"), "SELECT 1 AS id")
    before = data_files(tmp_path / "out")
    name = "graph_compiler.spark_runtime.publishing.written_files._PINNED"
    monkeypatch.setattr(name, {"mapreduce.output.basename": "_mine"})
    with pytest.raises(PublicationError, match="5 rows went to the writer, and its 0 .* files"):
        sinks.write(kind(f"{tmp_path}/out"), "SELECT id FROM range(5)", run="r2")
    assert data_files(tmp_path / "out") == before


NAMES = ["x[1]{a,b}", "pct%20 #;,'\"$~", "_x=1", pytest.param("n" * 255, id="255 letters")]
MORE_NAMES = ["s*q?", "back\\slash[x\\", "co:lon\nline", "é e\u0301 ", "..a", "é" * 127, ".x"]


@pytest.mark.parametrize("name", [*NAMES, *(pytest.param(name, marks=pytest.mark.long) for name in MORE_NAMES)])
def test_target_names_are_taken_literally(name: str, spark: SparkSession, sinks: Sinks, tmp_path: Path) -> None:
    folder = tmp_path / name
    for mode in MODES:
        shutil.rmtree(folder, ignore_errors=True)
        for _ in range(2):
            query = "SELECT id, 1 AS k FROM range(3)"
            sinks.write(Parquet(str(folder)), query, run=mode, **settings(mode))
        assert rows(spark, str(folder)) == [(id, 1) for id in range(3)], mode
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted([name, "staging"])


@pytest.mark.parametrize("mode", MODES)
def test_a_target_on_another_disk_is_written_again_and_again(
    mode: str, spark: SparkSession, sinks: Sinks, tmp_path: Path
) -> None:
    shared = Path("/dev/shm")
    if not shared.is_dir() or shared.stat().st_dev == tmp_path.stat().st_dev:
        pytest.skip("this machine has no second file system that a test may write to")
    with tempfile.TemporaryDirectory(dir=shared) as folder:
        (tmp_path / "out").symlink_to(folder)
        target, how = Parquet(f"{tmp_path}/out"), settings(mode, partition_by=("k",))
        for _ in range(2):
            sinks.write(target, "SELECT id, id % 2 AS k FROM range(4)", run="r1", **how)
        assert rows(spark, target.one_path) == [(id, id % 2) for id in range(4)]
        assert sorted(path.name for path in Path(folder).iterdir()) == ["k=0", "k=1"]
    assert not list(tmp_path.glob(".out*"))


@pytest.mark.parametrize(
    ("path", "words"),
    [
        ("/", "is the root of the file system"),
        ("{root}/" + "n" * 256, "has a name of more than 255 bytes"),
        ("{root}/link", "is a link to nowhere, which does not exist"),
        ("{root}/file", "is a file"),
    ],
)
def test_unusable_targets_are_refused_before_any_row_moves(path: str, words: str, sinks: Sinks, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to("nowhere")
    (tmp_path / "file").touch()
    with pytest.raises(PublicationError, match=words):
        sinks.open(Parquet(path.format(root=tmp_path)))
