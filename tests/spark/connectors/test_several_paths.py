"""Sources of several paths: each is read as if it were the only one, and no file twice."""

from collections.abc import Callable
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from graph_compiler import Csv, Json, Orc, Parquet, StreamExecutionEnvironment, Text
from graph_compiler.declaration.connectors import FileConnector
from graph_compiler.errors import RepeatedReadError, SchemaChangedError, UnreadFilesError
from graph_compiler.spark_runtime.connectors import read_source
from graph_compiler.spark_runtime.connectors.source import source_schema
from tests.spark.conftest import RunPipeline

pytestmark = pytest.mark.spark

SCHEMA = "k STRING, v INT"
Write = Callable[[str, str], str]


@pytest.fixture
def write(spark: SparkSession, tmp_path: Path) -> Write:
    """Write rows of `VALUES` to a folder, in the format that is the folder's name up to a dash; return the path."""

    def rows_of(name: str, query: str) -> str:
        path = f"{tmp_path}/{name}"
        spark.sql(query).coalesce(1).write.format(name.partition("-")[0]).option("header", "true").save(path)
        return path

    return rows_of


def rows_in(connector: FileConnector, spark: SparkSession) -> list[tuple[object, ...]]:
    return sorted(map(tuple, read_source(connector, spark).collect()), key=str)


@pytest.mark.parametrize("kind", [Csv, Json, Parquet, Orc])
@pytest.mark.parametrize("schema", [SCHEMA, None])
def test_the_rows_of_all_paths_are_read_whatever_the_order_of_their_columns(
    kind: Callable[..., FileConnector], schema: str | None, spark: SparkSession, write: Write
) -> None:
    name = kind.__name__.lower()
    a = write(f"{name}-a", "SELECT 'a' AS k, 1 AS v")
    b = write(f"{name}-b", "SELECT 2 AS v, 'b' AS k")
    found = read_source(kind([a, b], schema=schema), spark)
    assert sorted((row["k"], row["v"]) for row in found.collect()) == [("a", 1), ("b", 2)]
    assert found.columns == ["k", "v"]
    assert source_schema(kind([a, b], schema=schema), spark).names == ["k", "v"]


@pytest.mark.ci
def test_lines_of_text_and_a_path_with_a_comma(spark: SparkSession, tmp_path: Path) -> None:
    for name, line in (("a,b", "one"), ("a", "two"), ("b", "three")):
        (tmp_path / name).mkdir()
        (tmp_path / name / "x.txt").write_text(f"{line}\n")
    assert rows_in(Text(f"{tmp_path}/a,b"), spark) == [("one",)]
    assert rows_in(Text([f"{tmp_path}/a", f"{tmp_path}/b"]), spark) == [("three",), ("two",)]
    for kind in (Csv, Json, Parquet, Orc):
        name = f"{tmp_path}/c,{kind.__name__}"
        spark.sql("SELECT 'a' AS k").write.format(kind.__name__.lower()).option("header", "true").save(name)
        assert rows_in(kind(name), spark) == rows_in(kind(name, schema="k STRING"), spark) == [("a",)]


def test_folders_are_columns_below_each_path(spark: SparkSession, tmp_path: Path) -> None:
    for shop, day in (("a", "2024-01-01"), ("b", "2024-01-02")):
        spark.sql("SELECT 1 AS v").write.json(f"{tmp_path}/{shop}/day={day}")
    paths = [f"{tmp_path}/a", f"{tmp_path}/b"]
    found = read_source(Json(paths, schema="v INT, day DATE"), spark)
    assert sorted(str(row.day) for row in found.collect()) == ["2024-01-01", "2024-01-02"]
    inferred = read_source(Json(paths), spark)
    assert sorted(str(row.day) for row in inferred.collect()) == ["2024-01-01", "2024-01-02"]


def test_a_path_whose_folders_are_no_columns_is_refused(spark: SparkSession, tmp_path: Path) -> None:
    spark.sql("SELECT 1 AS v").write.parquet(f"{tmp_path}/a/day=2024-01-01")
    spark.sql("SELECT 1 AS v").write.parquet(f"{tmp_path}/b")
    paths = [f"{tmp_path}/a", f"{tmp_path}/b"]
    with pytest.raises(SchemaChangedError, match=f"'day' is gone.*\n.*file: file:{tmp_path}/b/"):
        read_source(Parquet(paths, schema="v INT, day DATE"), spark)
    with pytest.raises(SchemaChangedError, match="its paths have different columns") as error:
        read_source(Parquet(paths), spark)
    assert 'schema="v INT, day DATE", on_schema_change="ignore"' in str(error.value)
    found = read_source(Parquet(paths, schema="v INT, day DATE", on_schema_change="ignore"), spark)
    assert sorted(str(row.day) for row in found.collect()) == ["2024-01-01", "None"]


def test_types_that_differ_between_paths(spark: SparkSession, write: Write) -> None:
    a = write("parquet-a", "SELECT 'a' AS k, 1 AS v")
    b = write("parquet-b", "SELECT 'b' AS k, 2L AS v")
    with pytest.raises(SchemaChangedError, match='hint: declare schema="k STRING, v BIGINT"'):
        read_source(Parquet([a, b]), spark)
    with pytest.raises(SchemaChangedError, match="column 'v' was widened"):
        read_source(Parquet([a, b], schema=SCHEMA), spark)
    evolved = Parquet([a, b], schema=SCHEMA, on_schema_change="evolve")
    assert rows_in(evolved, spark) == [("a", 1), ("b", 2)]
    assert dict(read_source(evolved, spark).dtypes)["v"] == "bigint"


def test_a_file_below_two_paths_is_refused(spark: SparkSession, tmp_path: Path) -> None:
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "x.csv").write_text("k,v\na,1\n")
    with pytest.raises(RepeatedReadError, match=r"a/x.csv is below two of its paths, .*/\* and .*/a: .* read twice"):
        read_source(Csv([f"{tmp_path}/*", f"{tmp_path}/a"], schema=SCHEMA), spark)
    with pytest.raises(RepeatedReadError, match="below two of its paths"):
        read_source(Csv([f"{tmp_path}/a", f"{tmp_path}/a/x.csv"], schema=SCHEMA), spark)
    assert len(rows_in(Csv([f"{tmp_path}/a/*.csv", f"{tmp_path}/[b-z]"], schema=SCHEMA), spark)) == 2


def test_files_that_are_not_read_are_refused_below_each_path(spark: SparkSession, tmp_path: Path) -> None:
    for name in ("a", "b/below"):
        (tmp_path / name).mkdir(parents=True)
        (tmp_path / name / "x.csv").write_text("k,v\na,1\n")
    (tmp_path / "b" / "y.csv").write_text("k,v\nb,2\n")
    paths = [f"{tmp_path}/a", f"{tmp_path}/b"]
    with pytest.raises(UnreadFilesError, match="1 file below file:.*/b would not be read"):
        read_source(Csv(paths, schema=SCHEMA), spark)
    every = Csv(paths, schema=SCHEMA, options={"recursiveFileLookup": "true"})
    assert len(rows_in(every, spark)) == 3


def test_one_of_the_paths_may_be_missing(
    spark: SparkSession, tmp_path: Path, run_pipeline: RunPipeline, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "x.csv").write_text("k,v\na,1\nb,x\n")
    paths = [f"{tmp_path}/a", f"{tmp_path}/b"]
    may = Csv(paths, schema=SCHEMA, if_missing="empty", rejects="bad")
    found = read_source(may, spark)
    assert found.count() == 2
    assert f"nothing is at file:{tmp_path}/b" in capsys.readouterr().err

    def pipeline(source: Csv) -> StreamExecutionEnvironment:
        env = StreamExecutionEnvironment("p")
        rows = env.from_source(source, "rows")
        rows.sink_to(Parquet(f"{tmp_path}/out")).name("out")
        if source.rejects:
            rows.get_side_output("bad").sink_to(Json(f"{tmp_path}/bad")).name("bad")
        return env

    (report,) = run_pipeline(pipeline(may).pipeline())
    assert report.failure is None, report.failure
    assert {output.name: output.rows for output in report.outputs} == {"out": 1, "bad": 1}
    assert sorted(each.is_empty for each in report.sources if each.operator == "rows") == [False, True]
    (failed,) = run_pipeline(pipeline(Csv([*paths, f"{tmp_path}/c"], schema=SCHEMA)).pipeline())
    assert failed.failure is not None
    assert all(f"{tmp_path}/{name} does not exist" in failed.failure.message for name in ("b", "c"))


def test_records_that_do_not_fit_are_set_aside_from_each_path(spark: SparkSession, tmp_path: Path) -> None:
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "x.csv").write_text("v,k\n1,a\nx,b\n" if name == "a" else "k,v\na,1\nb,y\n")
    rows = read_source(Csv([f"{tmp_path}/a", f"{tmp_path}/b"], schema=SCHEMA, rejects="bad"), spark)
    marks = [row["graph_compiler_misfit"] for row in rows.collect()]
    assert sorted(mark.text for mark in marks if mark) == ["x", "y"]


def test_a_pattern_in_one_path_and_hidden_files(spark: SparkSession, tmp_path: Path) -> None:
    for name in ("x/a", "x/b", "y"):
        (tmp_path / name).mkdir(parents=True)
        (tmp_path / name / "x.csv").write_text("k,v\na,1\n")
    assert len(rows_in(Csv([f"{tmp_path}/x/*", f"{tmp_path}/y"], schema=SCHEMA), spark)) == 3
    (tmp_path / "_z.csv").write_text("k,v\na,1\n")
    with pytest.raises(UnreadFilesError, match="_z.csv would not be read"):
        read_source(Csv([f"{tmp_path}/y", f"{tmp_path}/_z.csv"], schema=SCHEMA), spark)
