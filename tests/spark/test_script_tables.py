"""Both columns of the tables in docs/migrate.md return the same columns, types and rows."""

import ast
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pyspark import StorageLevel
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession, Window
from pyspark.sql import functions as F

import graph_compiler
from graph_compiler import Json, Range, StreamExecutionEnvironment, Values
from graph_compiler.testing import REAL, MiniCluster
from tests.harness import script_functions
from tests.harness.script_tables import Line, lines_of

pytestmark = [pytest.mark.spark, pytest.mark.ci]

NAMES = {name: getattr(graph_compiler, name) for name in graph_compiler.__all__}
SPARK = {"F": F, "Window": Window, "StorageLevel": StorageLevel}
FUNCTIONS = {name: getattr(script_functions, name) for name in ("size_of", "with_size", "largest", "doubled")}
BOUGHT: tuple[str, list[Any]] = (
    "id INT, country STRING, amount INT, sold INT, text STRING, at STRING, local STRING",
    [
        (1, "at", 5, 0, "a b", "2026-01-05T23:30:00Z", "2026-01-06 00:30:00"),
        (2, "at", 25, 2, "7", "2026-01-31T23:59:59Z", "2026-07-01 02:00:00"),
        (3, "de", 25, 5, "2026-01-05", "2026-07-01T00:00:00Z", "2026-03-29 12:00:00"),
        (4, None, None, None, None, None, None),
        (4, None, None, None, None, None, None),
        (5, "ch", 11, 3, "a b c", "2026-01-05T23:10:00Z", "1999-12-31 23:59:59"),
    ],
)
TABLES: dict[str, tuple[str, list[Any]]] = {
    "df": BOUGHT,
    "more": (BOUGHT[0], [*BOUGHT[1][:2], (9, "fr", 1, 1, "x", None, None)]),
    "other": ("id INT, least INT", [(1, 10), (2, 10), (3, 100)]),
    "small": ("k INT", [(1,), (2,)]),
}
STREAMS = {"df": "rows"}


def frames(spark: SparkSession) -> dict[str, DataFrame]:
    made = {name: spark.createDataFrame(rows, schema) for name, (schema, rows) in TABLES.items()}
    return {name: timed(frame) for name, frame in made.items()}


def timed(frame: DataFrame) -> DataFrame:
    return frame.withColumn("at", F.to_timestamp("at")) if "at" in frame.columns else frame


def streams(env: StreamExecutionEnvironment) -> dict[str, Any]:
    made = {}
    for name, (schema, rows) in TABLES.items():
        stream = env.from_source(Values(rows, schema), name)
        if "at STRING" in schema:
            stream = stream.with_columns(at="CAST(at AS TIMESTAMP)")
        made[STREAMS.get(name, name)] = stream
    return made


def evaluated(text: str, names: dict[str, Any]) -> Any:
    """Run the statements of a cell, and return the value of the last one."""
    *first, last = ast.parse(text).body
    assert isinstance(last, ast.Expr)
    exec(compile(ast.Module(first, []), "<cell>", "exec"), names)
    return eval(compile(ast.Expression(last.value), "<cell>", "eval"), names)


def contents(frame: DataFrame, *, ordered: bool = False) -> tuple[list[tuple[str, str]], list[str]]:
    rows = [repr(tuple(row)) for row in frame.collect()]
    return frame.dtypes, rows if ordered else sorted(rows)


def cases(kind: str) -> list[Any]:
    return [pytest.param(line, id=line.call) for line in lines_of(kind)]


@pytest.fixture
def settings(spark: SparkSession) -> Iterator[Any]:
    """Return the session's settings, which are as before after the test."""
    names = ("spark.sql.ansi.enabled", "spark.sql.session.timeZone", "spark.sql.sources.partitionOverwriteMode")
    before = {name: spark.conf.get(name) for name in names}
    yield spark.conf
    for name, value in before.items():
        spark.conf.set(name, str(value))


def called(spark: SparkSession, line: Line) -> DataFrame:
    env = StreamExecutionEnvironment("migrated")
    stream = evaluated(line.call, {**NAMES, **FUNCTIONS, **streams(env), "env": env})
    returned = stream.filter("true").name("returned")
    returned.sink_to(Json("/out/never/written"))
    return MiniCluster(spark).run(env, until="returned").frame("returned")


@pytest.mark.parametrize("line", cases("rows"))
def test_a_call_returns_the_rows_of_the_script(spark: SparkSession, line: Line) -> None:
    names = {**SPARK, **FUNCTIONS, **frames(spark), "spark": spark}
    ordered = "orderBy" in line.script and "Window" not in line.script
    found = contents(called(spark, line), ordered=ordered)
    assert found == contents(evaluated(line.script, names), ordered=ordered)
    assert found[1]


@pytest.mark.parametrize("line", cases("changed"))
def test_a_call_returns_what_the_script_returned_in_the_old_session(
    spark: SparkSession, settings: Any, line: Line
) -> None:
    found = contents(called(spark, line))
    names = {**SPARK, **frames(spark), "spark": spark}
    copied = outcome(evaluated(line.script, dict(names)))
    settings.set("spark.sql.ansi.enabled", "false")
    settings.set("spark.sql.session.timeZone", "Europe/Berlin")
    expected = contents(evaluated(line.script, names))
    assert found == expected
    assert copied != expected, "there is no difference, so the row says nothing"


def outcome(frame: DataFrame) -> Any:
    """Return the contents, or the error that a script has if it is copied as it is."""
    try:
        return contents(frame)
    except PySparkException as error:
        return error


@pytest.fixture
def tables(spark: SparkSession) -> Iterator[None]:
    """Create and remove the table that is read, and remove the one that is written."""
    spark.createDataFrame([(1, "a")], "id INT, text STRING").write.saveAsTable("bought")
    yield
    for name in ("bought", "sold"):
        spark.sql(f"DROP TABLE IF EXISTS {name}")


@pytest.fixture(scope="module")
def folder(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with the same rows in each format."""
    made = tmp_path_factory.mktemp("read")
    (made / "a.csv").write_text("id,text\n1,a b\n2,NA\n")
    (made / "plain.csv").write_text("1;a b\n2;c\n")
    (made / "a.json").write_text('{"id": 1, "text": "a b"}\n{"id": 2}\n')
    rows = spark.createDataFrame([(1, "a b"), (2, None)], "id INT, text STRING")
    rows.write.parquet(str(made / "parquet"))
    rows.write.orc(str(made / "orc"))
    return made


@pytest.mark.parametrize("line", cases("read"))
@pytest.mark.usefixtures("tables")
def test_a_connector_reads_the_rows_of_the_reader(spark: SparkSession, folder: Path, line: Line) -> None:
    env = StreamExecutionEnvironment("migrated")
    connector = evaluated(line.call, {**NAMES, "folder": folder})
    read = env.from_source(connector, "source").filter("true").name("read")
    read.sink_to(Json("/out/never/written"))
    given = None if isinstance(connector, Values | Range) else REAL
    found = contents(MiniCluster(spark).run(env, given, until="read").frame("read"))
    assert found == contents(evaluated(line.script, {"spark": spark, "folder": folder}))
    assert found[1]


@pytest.mark.parametrize("line", cases("write"))
@pytest.mark.usefixtures("tables")
def test_a_sink_writes_what_the_writer_writes(spark: SparkSession, settings: Any, tmp_path: Path, line: Line) -> None:
    """Both write to what the script has written before, so that the mode shows, and both can follow each other."""
    assert settings
    script, call = tmp_path / "script", tmp_path / "call"
    given = frames(spark)
    names = {**SPARK, "spark": spark}
    if "errorifexists" not in line.script:
        evaluated(line.script, {**names, "df": given["more"], "path": str(script)})
        evaluated(line.script, {**names, "df": given["more"], "path": str(call)})
    evaluated(line.script, {**names, "df": given["df"], "path": str(script)})
    expected = written(spark, script)
    env = StreamExecutionEnvironment("migrated")
    evaluated(line.call, {**NAMES, **streams(env), "path": str(call)})
    MiniCluster(spark).run(env, write_sinks=True)
    assert written(spark, call) == expected


def written(spark: SparkSession, path: Path) -> Any:
    """Return the rows, and the names of folders and kinds of files in them."""
    if not path.exists():
        return contents(spark.table("sold"))
    files = [file.relative_to(path) for file in path.rglob("part-*")]
    suffix = {".csv": "csv", ".gz": "json"}.get(files[0].suffix, "parquet")
    read = spark.read.options(header=True).format(suffix).load(str(path))
    read = timed(read)  # in text, they have milliseconds or microseconds
    return contents(read), {(str(file.parent), file.suffix) for file in files}
