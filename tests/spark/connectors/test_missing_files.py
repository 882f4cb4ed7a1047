"""Sources of files that may be missing: no rows if nothing is at the path; what nobody can look at still fails."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from graph_compiler import Csv, Files, Json, Orc, Parquet, StreamExecutionEnvironment, Text
from graph_compiler.declaration.connectors import FileConnector
from graph_compiler.deployment.documents.report import ExecutionReport
from graph_compiler.errors import UnreadFilesError
from graph_compiler.explain.text.actual_text import remarks
from graph_compiler.spark_runtime.connectors import read_source
from graph_compiler.spark_runtime.connectors.missing_files import why_unknown
from tests.spark.conftest import RunPipeline

pytestmark = pytest.mark.spark

SCHEMA = "id INT NOT NULL, day DATE"
KINDS: dict[str, Callable[..., FileConnector]] = {
    "csv": Csv,
    "json": Json,
    "orc": Orc,
    "parquet": Parquet,
    "xml": lambda path, **given: Files(path=path, format="xml", **given),
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("path", ["today", "in/today/a.csv", "day=*", "in/{a,b}/*"])
def test_a_path_at_which_nothing_is_has_no_rows_and_the_declared_columns(
    spark: SparkSession, tmp_path: Path, kind: str, path: str
) -> None:
    rows = read_source(KINDS[kind](f"{tmp_path}/{path}", schema=SCHEMA, if_missing="empty"), spark)
    assert rows.collect() == []
    assert [(field.name, field.dataType.simpleString()) for field in rows.schema] == [("id", "int"), ("day", "date")]


def test_lines_of_text_may_be_missing(spark: SparkSession, tmp_path: Path) -> None:
    rows = read_source(Text(f"{tmp_path}/today", schema="value STRING", if_missing="empty"), spark)
    assert rows.collect() == []


def test_files_that_are_there_are_read_and_checked(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "in.csv").write_text("id,day\n1,2024-01-01\n")
    rows = read_source(Csv(f"{tmp_path}/in.csv", schema="id INT, day STRING", if_missing="empty"), spark)
    assert [tuple(row) for row in rows.collect()] == [(1, "2024-01-01")]


def run(run_pipeline: RunPipeline, source: FileConnector, target: Path) -> ExecutionReport:
    env = StreamExecutionEnvironment("days")
    read = env.from_source(source, "today")
    read.sink_to(Parquet(f"{target}/rows")).name("rows")
    if getattr(source, "rejects", None):
        read.get_side_output("bad").sink_to(Parquet(f"{target}/bad")).name("bad")
    (report,) = run_pipeline(env.pipeline())
    return report


def test_the_report_and_the_log_say_that_nothing_was_there(
    run_pipeline: RunPipeline, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "in" / "sales").mkdir(parents=True)
    source = Csv(f"{tmp_path}/in/slaes/1", schema="id INT", if_missing="empty", rejects="bad")
    report = run(run_pipeline, source, tmp_path / "out")
    assert report.failure is None
    assert {each.name: each.rows for each in report.outputs} == {"rows": 0, "bad": 0}
    said = f"'today' has no rows: there are no files at file:{tmp_path}/in/slaes/1"
    assert said in remarks(report)
    assert said in [files.words() for files in report.sources if files.is_empty]
    printed = capsys.readouterr().err
    assert (
        f"nothing is at file:{tmp_path}/in/slaes/1, so it has no rows; did you mean '{tmp_path}/in/sales'?" in printed
    )


def test_a_folder_without_files_is_reported_alike(run_pipeline: RunPipeline, tmp_path: Path) -> None:
    (tmp_path / "today").mkdir()
    source = Parquet(f"{tmp_path}/today", schema="id INT", if_missing="empty")
    report = run(run_pipeline, source, tmp_path / "out")
    assert f"'today' has no rows: there are no files at file:{tmp_path}/today" in remarks(report)


@pytest.mark.parametrize("if_missing", [None, "fail"])
def test_a_missing_path_fails_by_default(run_pipeline: RunPipeline, tmp_path: Path, if_missing: str | None) -> None:
    source = Csv(f"{tmp_path}/today", schema="id INT", if_missing=if_missing)
    failure = run(run_pipeline, source, tmp_path / "out").failure
    assert failure is not None
    assert f"its input file:{tmp_path}/today does not exist" in failure.message
    assert "hint: if there may be no files, declare schema= and if_missing='empty'" in failure.message
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("path", ["xyz://lake/today", "s4a://lake/today", "hdfs://127.0.0.1:1/today"])
def test_a_scheme_that_is_not_known_and_a_store_that_does_not_answer_fail(
    run_pipeline: RunPipeline, tmp_path: Path, path: str
) -> None:
    source = Csv(path, schema="id INT", if_missing="empty")
    failure = run(run_pipeline, source, tmp_path / "out").failure
    assert failure is not None
    assert failure.operator == "today"


def _link_to_nothing(folder: Path) -> None:
    (folder / "lake").symlink_to(folder / "unmounted")


def _file(folder: Path) -> None:
    (folder / "lake").write_text("a file")


def _loop(folder: Path) -> None:
    (folder / "lake").symlink_to(folder / "lake")


@pytest.mark.parametrize(
    ("make", "why"),
    [(_link_to_nothing, "lake is a link to nothing"), (_file, "lake is a file"), (_loop, "Too many levels")],
)
@pytest.mark.parametrize("below", ["today", "day=*/x"])
def test_what_only_looks_missing_on_a_disk_fails(
    run_pipeline: RunPipeline, spark: SparkSession, tmp_path: Path, make: Callable[[Path], None], why: str, below: str
) -> None:
    make(tmp_path)
    source = Json(f"{tmp_path}/lake/{below}", schema="id INT", if_missing="empty")
    failure = run(run_pipeline, source, tmp_path / "out").failure
    assert failure is not None
    assert why in failure.message
    with pytest.raises(UnreadFilesError, match=why):
        read_source(source, spark)


def test_a_folder_that_may_not_be_looked_into_is_not_missing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "secret").mkdir()
    true_stat = os.stat

    def refusing(path: object, *args: object, **given: object) -> os.stat_result:
        if str(path).startswith(f"{tmp_path}/secret/"):
            raise PermissionError(13, "Permission denied")
        return true_stat(path, *args, **given)  # type: ignore[arg-type]

    monkeypatch.setattr("graph_compiler.spark_runtime.connectors.missing_files.os.stat", refusing)
    said = why_unknown(f"file:{tmp_path}/secret/today") or ""
    assert f"{tmp_path}/secret may not be looked into" in said


def test_a_folder_that_may_not_be_listed_is_not_one_without_a_match(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("graph_compiler.spark_runtime.connectors.missing_files.os.access", lambda *_: False)
    assert f"{tmp_path} may not be listed" in (why_unknown(f"file:{tmp_path}/day=*") or "")


def test_two_readers_of_a_missing_path_read_the_same(run_pipeline: RunPipeline, tmp_path: Path) -> None:
    env = StreamExecutionEnvironment("days")
    today = env.from_source(Csv(f"{tmp_path}/today", schema="id INT", if_missing="empty"), "today")
    today.filter("id > 1").name("large").sink_to(Parquet(f"{tmp_path}/out/large")).name("large_sink")
    today.sink_to(Parquet(f"{tmp_path}/out/all")).name("all_sink")
    reports = run_pipeline(env.pipeline())
    assert [report.failure for report in reports] == [None]
    assert [(output.name, output.rows) for output in reports[0].outputs] == [("large_sink", 0), ("all_sink", 0)]
