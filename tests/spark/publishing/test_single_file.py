"""Targets that are one file on a disk, with Spark: their rows, their bytes, and what is refused."""

import bz2
import gzip
import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from graph_compiler import Csv, Files, Json, StreamExecutionEnvironment, Text, Values
from graph_compiler.declaration.connectors import FileConnector
from graph_compiler.deployment.documents.report import ExecutionReport
from graph_compiler.errors import DecisionLostError, PublicationError
from graph_compiler.spark_runtime.connectors.file_sink import FileSink
from graph_compiler.spark_runtime.publishing import publication
from graph_compiler.spark_runtime.publishing.local_target import why_no_file
from graph_compiler.staging.publications import mounts
from graph_compiler.staging.store.local_store import LocalStore
from tests.harness.sinks import Sinks
from tests.spark.conftest import RunPipeline

pytestmark = pytest.mark.spark

ROWS = "SELECT * FROM VALUES (2, 'b'), (1, NULL), (3, 'c,d') AS rows(id, word)"
NO_ROWS = f"{ROWS} WHERE id > 3"
ONE: dict[str, Any] = {"single_file": True}
NEW: dict[str, Any] = {"single_file": True, "mode": "error-if-exists"}


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir() if path.name != "staging")


@pytest.fixture
def out(tmp_path: Path) -> Path:
    """Return a folder with files of others, and a hidden one."""
    folder = tmp_path / "out"
    folder.mkdir()
    (folder / "other.csv").write_text("theirs")
    (folder / ".hidden").write_text("theirs")
    return folder


@pytest.mark.parametrize(
    ("connector", "rows", "bytes"),
    [
        (Csv("report.csv"), ROWS, b'id,word\n2,b\n1,\n3,"c,d"\n'),
        (Csv("report.tsv", header=False, options={"sep": "\t"}), ROWS, b"2\tb\n1\t\n3\tc,d\n"),
        (Json("report.jsonl"), ROWS, b'{"id":2,"word":"b"}\n{"id":1,"word":null}\n{"id":3,"word":"c,d"}\n'),
        (Text("no ending"), "SELECT 'a' AS line", b"a\n"),
        (Files(format="csv", path="100%[1].csv", options={"header": True}), ROWS, b'id,word\n2,b\n1,""\n3,"c,d"\n'),
        (Csv("none.csv"), NO_ROWS, b"id,word\n"),
        (Json("none.json"), NO_ROWS, b""),
        (Text("none.txt"), "SELECT 'a' AS line WHERE FALSE", b""),
    ],
    ids=lambda value: getattr(value, "path", None),
)
def test_all_rows_are_in_one_file_and_others_stay(
    sinks: Sinks, out: Path, connector: FileConnector, rows: str, bytes: bytes
) -> None:
    name = connector.one_path
    target = replace(connector, path=f"{out}/{name}")
    for run in ("r1", "r2"):
        found = sinks.write(target, rows, run=run, **ONE)
        assert (out / name).read_bytes().replace(b'1,""', b"1,") == bytes.replace(b'1,""', b"1,")
        assert found.bytes == len((out / name).read_bytes())
        assert names(out) == sorted([".hidden", "other.csv", name])


def test_xml_is_one_document(spark: SparkSession, sinks: Sinks, out: Path) -> None:
    target = Files(format="xml", path=f"{out}/rows.xml", options={"rowTag": "row"})
    sinks.write(target, ROWS, **ONE)
    read = spark.read.format("xml").option("rowTag", "row").load(f"{out}/rows.xml")
    assert sorted(row.id for row in read.collect()) == [1, 2, 3]


@pytest.mark.parametrize(("codec", "ending", "opened"), [("gzip", ".gz", gzip.open), ("bzip2", ".bz2", bz2.open)])
def test_the_name_shows_the_compression(
    spark: SparkSession, sinks: Sinks, out: Path, codec: str, ending: str, opened: Callable[[Path], Any]
) -> None:
    target = Csv(f"{out}/report.csv{ending}", options={"compression": codec})
    sinks.write(target, ROWS, **ONE)
    with opened(out / f"report.csv{ending}") as file:
        assert file.read().splitlines()[0] == b"id,word"
    assert spark.read.csv(target.one_path, header=True).count() == 3


def test_a_name_that_hides_the_compression_is_refused_before_it_is_published(sinks: Sinks, out: Path) -> None:
    """Hadoop's class is no name that the compiler knows."""
    codec = "org.apache.hadoop.io.compress.GzipCodec"
    with pytest.raises(PublicationError, match=r"its rows are compressed \(\.gz\)"):
        sinks.write(Csv(f"{out}/report.csv", options={"compression": codec}), ROWS, **ONE)
    assert not (out / "report.csv").exists()


def test_rows_of_many_tasks_are_in_the_order_of_the_sort(
    spark: SparkSession, run_pipeline: RunPipeline, out: Path
) -> None:
    env = StreamExecutionEnvironment("sorted")
    rows = env.from_source(Values([[n * 7919 % 1000, n] for n in range(1000)], "id INT, n INT"), "rows")
    ordered = rows.rebalance().filter("n >= 0").sort("id DESC").name("ordered")
    ordered.filter("id < 900").sink_to(Csv(f"{out}/report.csv"), single_file=True).name("report")
    rows.sink_to(Csv(f"{out}/all.csv"), single_file=True).name("all")
    spark.conf.set("spark.sql.files.maxRecordsPerFile", "10")  # does not divide it
    try:
        (report,) = run_pipeline(env.pipeline())
    finally:
        spark.conf.unset("spark.sql.files.maxRecordsPerFile")
    assert report.failure is None, report.failure
    lines = (out / "report.csv").read_text().splitlines()[1:]
    assert [int(line.partition(",")[0]) for line in lines] == list(range(899, -1, -1))
    assert len((out / "all.csv").read_text().splitlines()) == 1001
    assert names(out) == [".hidden", "all.csv", "other.csv", "report.csv"]


def test_readers_see_the_old_file_until_it_is_published(sinks: Sinks, out: Path) -> None:
    target = Csv(f"{out}/report.csv")
    sinks.write(target, "SELECT 1 AS id", run="r1", **ONE)
    prepared = sinks.prepare(target, sinks.spark.sql("SELECT 2 AS id"), run="r2", **ONE)
    assert (out / "report.csv").read_text() == "id\n1\n"
    opened = (out / "report.csv").open()
    prepared.publish()
    assert (out / "report.csv").read_text() == "id\n2\n"
    assert opened.read() == "id\n1\n"  # a reader that has opened it reads it to its end
    opened.close()


def test_of_two_runs_that_write_one_file_the_later_decision_is_refused(sinks: Sinks, out: Path) -> None:
    target = Csv(f"{out}/report.csv")
    first = sinks.prepare(target, sinks.spark.sql("SELECT 1 AS id"), run="r1", **ONE)
    second = sinks.prepare(target, sinks.spark.sql("SELECT 2 AS id"), run="r2", **ONE)
    second.publish()
    with pytest.raises(DecisionLostError, match="another execution has published"):
        first.publish()
    assert (out / "report.csv").read_text() == "id\n2\n"


def test_what_a_dead_driver_has_decided_is_finished_by_the_next(
    sinks: Sinks, out: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    target = Csv(f"{out}/report.csv")
    sinks.write(target, "SELECT 1 AS id", run="r1", **ONE)
    prepared = sinks.prepare(target, sinks.spark.sql("SELECT 2 AS id"), run="r2", **ONE)
    with monkeypatch.context() as patch:
        patch.setattr(publication.Publisher, "_carry_out", _dies)
        with pytest.raises(KeyboardInterrupt):
            prepared.publish()
    assert (out / "report.csv").read_text() == "id\n1\n"
    sinks.open(target, run="r3", **ONE)
    assert (out / "report.csv").read_text() == "id\n2\n"


def _dies(*_: object) -> None:
    raise KeyboardInterrupt


def test_a_run_replaces_its_own_file_and_creates_none_over_that_of_others(sinks: Sinks, out: Path) -> None:
    target = Csv(f"{out}/report.csv")
    sinks.write(target, "SELECT 1 AS id", run="r1", **NEW)
    sinks.write(target, "SELECT 2 AS id", run="r1", **NEW)  # the same run again
    assert (out / "report.csv").read_text() == "id\n2\n"
    with pytest.raises(PublicationError, match=r"report\.csv exists\n.*'error-if-exists'"):
        sinks.write(target, "SELECT 3 AS id", run="r2", **NEW)
    (out / "report.csv").write_text("by hand")
    with pytest.raises(PublicationError, match=r"report\.csv exists"):
        sinks.write(target, "SELECT 4 AS id", run="r1", **NEW)
    assert (out / "report.csv").read_text() == "by hand"


def test_a_file_that_comes_while_rows_are_written_is_not_replaced_by_error_if_exists(sinks: Sinks, out: Path) -> None:
    opened = sinks.open(Csv(f"{out}/report.csv"), **NEW)
    rows = opened.check(sinks.spark.sql("SELECT 1 AS id"))
    (out / "report.csv").write_text("by hand")
    with pytest.raises(PublicationError, match=r"report\.csv exists"):
        opened.prepare(rows)
    opened.discard()
    assert (out / "report.csv").read_text() == "by hand"
    assert names(out) == [".hidden", "other.csv", "report.csv"]


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda path: path.mkdir(), "is a folder; allowed: a file, or a path at which nothing is"),
        (lambda path: path.symlink_to("other.csv"), "is a link to other.csv, and no file takes the place of a link"),
        (lambda path: path.symlink_to("nowhere"), "is a link to nowhere"),
        (os.mkfifo, "is a device, a pipe or a socket"),
    ],
    ids=["folder", "link", "broken-link", "pipe"],
)
def test_only_a_file_is_replaced(sinks: Sinks, out: Path, make: Callable[[Path], None], words: str) -> None:
    make(out / "report.csv")
    with pytest.raises(PublicationError, match=words):
        sinks.open(Csv(f"{out}/report.csv"), **ONE)
    assert (out / "other.csv").read_text() == "theirs"


def test_a_file_that_cannot_be_renamed_over_is_refused(out: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = out / "report.csv"
    assert why_no_file(file) is None
    file.write_text("old")
    assert why_no_file(file) is None
    table = out / "mountinfo"
    table.write_text(f"36 35 98:0 / {str(out).replace(' ', chr(92) + '040')}/report.csv rw - ext4 /dev/root rw\n")
    with monkeypatch.context() as patch:
        patch.setattr(mounts, "_MOUNTS", table)
        assert why_no_file(file) == "is mounted there, so that no file can take its place"
        assert why_no_file(out / "other.csv") is None
    monkeypatch.setattr(os, "geteuid", lambda: 12345)
    assert why_no_file(file) is None
    out.chmod(0o1777)
    assert why_no_file(file) == "belongs to another user, in a folder in which only owners may replace files"


def test_a_folder_that_was_a_file_and_a_file_that_was_a_folder(sinks: Sinks, out: Path) -> None:
    """The target's ledger has both; no name of one counts for the other."""
    target = Csv(f"{out}/report.csv")
    sinks.write(target, "SELECT 1 AS id", run="r1", single_file=False)
    with pytest.raises(PublicationError, match="is a folder"):
        sinks.open(target, run="r1", **ONE)
    (out / "report.csv").rename(out / "moved")
    sinks.write(target, "SELECT 2 AS id", run="r1", **NEW)
    with pytest.raises(PublicationError, match="is a file"):
        sinks.open(target, run="r1", single_file=False)
    (out / "report.csv").unlink()
    sinks.write(target, "SELECT 3 AS id", run="r1", mode="error-if-exists")
    assert sinks.spark.read.csv(target.one_path, header=True).collect()[0].id == "3"


def test_missing_folders_are_made_and_a_closed_one_is_reported(
    run_pipeline: RunPipeline, out: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def run(path: str) -> ExecutionReport:
        env = StreamExecutionEnvironment("one")
        env.from_source(Values([[1]], "id INT"), "rows").sink_to(Csv(path), single_file=True).name("report")
        (report,) = run_pipeline(env.pipeline())
        return report

    assert run(f"{out}/new/folder/report.csv").failure is None
    assert (out / "new/folder/report.csv").read_text() == "id\n1\n"
    (out / "new/folder/report.csv").chmod(0o444)  # only the folder is written
    assert run(f"{out}/new/folder/report.csv").failure is None
    failure = run(f"{out}/other.csv/report.csv").failure
    assert failure is not None
    assert "other.csv is a file" in failure.message
    real = os.access
    monkeypatch.setattr(os, "access", lambda path, mode: str(path) != f"{out}/new" and real(path, mode))
    failure = run(f"{out}/new/report.csv").failure
    assert failure is not None
    assert f"cannot be written: no permission for {out}/new" in failure.message


def test_a_source_reads_the_file(spark: SparkSession, sinks: Sinks, run_pipeline: RunPipeline, out: Path) -> None:
    sinks.write(Csv(f"{out}/report.csv"), ROWS, **ONE)
    env = StreamExecutionEnvironment("reader")
    read = env.from_source(Csv(f"{out}/report.csv", schema="id INT, word STRING"), "report")
    read.sink_to(Json(f"{out}/read.json"), single_file=True).name("out")
    (report,) = run_pipeline(env.pipeline())
    assert report.failure is None, report.failure
    assert spark.read.json(f"{out}/read.json").count() == 3


def test_the_columns_of_the_old_file_are_compared_if_that_is_asked(sinks: Sinks, out: Path) -> None:
    target = Csv(f"{out}/report.csv", on_schema_change="fail")
    sinks.write(target, "SELECT 1 AS id", run="r1", **ONE)
    with pytest.raises(Exception, match="word"):
        sinks.write(target, ROWS, run="r2", **ONE)
    assert (out / "report.csv").read_text() == "id\n1\n"


def test_a_discarded_file_leaves_nothing(sinks: Sinks, out: Path) -> None:
    opened = sinks.open(Csv(f"{out}/report.csv"), **ONE)
    assert isinstance(opened, FileSink)
    opened.prepare(opened.check(sinks.spark.sql(ROWS)))
    place = opened.prepares()
    assert LocalStore().is_there(place.place)
    opened.discard()
    assert names(out) == [".hidden", "other.csv"]
