"""What each connector reads and writes, and what each format cannot store."""

import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from datetime import date
from pathlib import Path
from unittest.mock import Mock

import pytest
from pyspark.errors import AnalysisException, PySparkException
from pyspark.sql import DataFrame, SparkSession

from graph_compiler import (
    Csv,
    Files,
    FunctionSource,
    Json,
    Orc,
    Parquet,
    Range,
    StreamExecutionEnvironment,
    Table,
    Text,
    Values,
)
from graph_compiler.declaration.connectors import Connector, FileConnector
from graph_compiler.errors import ConfigurationError, DecisionLostError, PublicationError
from graph_compiler.extensions import load_spark_half
from graph_compiler.spark_runtime.columns.column_types import check_columns
from graph_compiler.spark_runtime.connectors import read_source
from graph_compiler.spark_runtime.connectors.sink import claim_target
from graph_compiler.spark_runtime.connectors.source import read
from graph_compiler.spark_runtime.results.pinned_settings import pinned
from graph_compiler.staging.publications.ledger import Ledger
from tests.architecture.test_modules import leaves
from tests.harness.sinks import Sinks, files_of
from tests.spark.conftest import RunPipeline

pytestmark = pytest.mark.spark

ROWS = "SELECT * FROM VALUES ('a', 1, DATE'2013-01-01'), ('b;\"c\"', NULL, NULL) AS t(k, v, d)"
FORMATS: dict[str, tuple[FileConnector, FileConnector]] = {
    "parquet": (Parquet("out"), Parquet("out")),
    "orc": (Orc("out"), Orc("out")),
    "csv": (Csv("out"), Csv("out", schema="k STRING, v INT, d DATE")),
    "csv, other options": (
        Csv("out", header=False, options={"sep": ";", "compression": "gzip"}),
        Csv("out", header=False, options={"sep": ";"}, schema="k STRING, v INT, d DATE"),
    ),
    "json": (Json("out"), Json("out", schema="k STRING, v INT, d DATE")),
    "any format": (Files("out", format="parquet"), Files("out", format="parquet")),
}


def at(connector: FileConnector, target: Path) -> FileConnector:
    return connector.with_texts({"path": str(target)})


def answers(spark: SparkSession) -> DataFrame:
    return spark.sql("SELECT 42 AS answer")


def no_rows(spark: SparkSession) -> str:
    return spark.version


def test_every_connector_has_a_reader_and_every_writable_one_a_writer() -> None:
    kinds = leaves(Connector) - {Connector}
    for kind in kinds:
        load_spark_half(kind)
    unread = {kind.__name__ for kind in kinds if read.dispatch(kind) is read.dispatch(object)}
    assert unread == {"FunctionSink"}
    writable = {kind for kind in kinds if kind.sink_modes}
    nobody = claim_target.dispatch(object)
    assert {kind for kind in writable if claim_target.dispatch(kind) is nobody} == set()
    assert {kind.__name__ for kind in kinds - writable} == {"FunctionSource", "Kafka", "Range", "Rate", "Values"}


@pytest.mark.parametrize(("writes", "reads"), FORMATS.values(), ids=FORMATS.keys())
def test_what_is_written_is_read_back_and_counted(
    writes: FileConnector, reads: FileConnector, spark: SparkSession, sinks: Sinks, tmp_path: Path
) -> None:
    written = sinks.write(at(writes, tmp_path / "out"), ROWS)
    assert written.rows == 2
    assert written.bytes == sum((tmp_path / "out" / f).stat().st_size for f in files_of(tmp_path / "out"))
    rows = read_source(at(reads, tmp_path / "out"), spark).collect()
    assert sorted(map(tuple, rows)) == [("a", 1, date(2013, 1, 1)), ('b;"c"', None, None)]


def test_text_is_lines_of_one_column(spark: SparkSession, sinks: Sinks, tmp_path: Path) -> None:
    written = sinks.write(Text(str(tmp_path / "out")), "SELECT * FROM VALUES ('x y'), ('z') AS t(v)")
    assert written.rows == 2
    rows = read_source(Text(str(tmp_path / "out")), spark).collect()
    assert sorted(row.value for row in rows) == ["x y", "z"]


@pytest.mark.ci
@pytest.mark.parametrize("format", ["parquet", "orc", "csv", "json", "text"])
@pytest.mark.parametrize("partition_by", [(), ("k",)])
def test_an_empty_result_is_readable(
    partition_by: tuple[str, ...], format: str, spark: SparkSession, sinks: Sinks, tmp_path: Path
) -> None:
    connector = {"parquet": Parquet, "orc": Orc, "csv": Csv, "json": Json, "text": Text}[format]
    target = connector(str(tmp_path / "out"))
    columns = "v" if format == "text" and not partition_by else "v, k"
    query = f"SELECT {columns} FROM VALUES ('a', 'x') AS t(v, k)"
    assert sinks.write(target, f"{query} WHERE false", partition_by=partition_by).rows == 0
    # Empty JSON has no columns: a source without schema is refused.
    source = Json(target.path, schema="v STRING, k STRING") if format == "json" else target
    rows = read_source(source, spark)
    assert rows.count() == 0
    if format != "text":
        assert set(rows.columns) == {"v", "k"}
    sinks.write(target, query, run="r2", mode="append", partition_by=partition_by)
    assert [row.v if format != "text" else row.value for row in read_source(target, spark).collect()] == ["a"]


@pytest.mark.long  # a session of its own, which retries tasks
def test_rows_are_counted_exactly_when_tasks_are_retried(tmp_path: Path) -> None:
    script = f'''
import sys
from pathlib import Path
from pyspark.sql import SparkSession
from pyspark.sql.functions import udf
from graph_compiler.spark_runtime.publishing.written_files import FileFormat, write_files

spark = SparkSession.builder.master("local[2,4]").config("spark.ui.enabled", "false").getOrCreate()
spark.sparkContext.setLogLevel("OFF")

@udf("long")
def fails_once(id):
    marker = Path("{tmp_path}", f"failed-{{id // 250}}")
    if id % 250 == 249 and not marker.exists():
        marker.touch()
        raise ValueError(id)
    return id

rows = spark.range(0, 1000, 1, 4).select(fails_once("id").alias("id"))
files, count = write_files(rows, "{tmp_path}/out", FileFormat(name="csv", options={{}}))
print(len(list(Path("{tmp_path}").glob("failed-*"))), len(files), count, spark.read.csv("{tmp_path}/out").count())
'''
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert done.stdout.split() == ["4", "4", "1000", "1000"], done.stderr


TYPES = {
    "BOOLEAN": "true",
    "TINYINT": "1Y",
    "SMALLINT": "1S",
    "INT": "1",
    "BIGINT": "1L",
    "FLOAT": "1.5F",
    "DOUBLE": "1.5D",
    "DECIMAL": "1.50BD",
    "STRING": "'x'",
    "BINARY": "X'00'",
    "DATE": "DATE'2013-01-01'",
    "TIMESTAMP": "TIMESTAMP'2013-01-01 00:00:00'",
    "TIMESTAMP_NTZ": "TIMESTAMP_NTZ'2013-01-01 00:00:00'",
    "INTERVAL MONTH": "INTERVAL '1' MONTH",
    "INTERVAL DAY": "INTERVAL '1' DAY",
    "INTERVAL": "make_interval(1, 1)",
    "ARRAY": "array(1)",
    "MAP": "map('a', 1)",
    "STRUCT": "struct(1 AS a)",
    "VARIANT": "parse_json('1')",
    "VOID": "NULL",
    "TIME": "TIME'12:00:00'",
    "ARRAY of VOID": "array(NULL)",
    "ARRAY of INTERVAL": "array(make_interval(1))",
}


@pytest.mark.ci
@pytest.mark.parametrize("format", ["parquet", "orc", "csv", "json", "text"])
def test_accepted_types_are_those_that_spark_writes_except_binary_text(
    format: str, spark: SparkSession, tmp_path: Path
) -> None:
    ours, sparks = set(), set()
    for number, (name, expression) in enumerate(TYPES.items()):
        rows = spark.sql(f"SELECT {expression} AS c").coalesce(1)
        with suppress(PublicationError):
            check_columns(rows.schema, format, ())
            ours.add(name)
        with suppress(AnalysisException):
            rows.write.format(format).save(f"{tmp_path}/{number}")
            sparks.add(name)
    assert ours == sparks - ({"BINARY"} if format == "csv" else set())


def test_types_that_a_format_cannot_hold_are_refused_with_operator_and_column(
    run_pipeline: RunPipeline, tmp_path: Path
) -> None:
    env = StreamExecutionEnvironment("p")
    rows = env.from_source(Range(0, 3), "numbers")
    rows.sink_to(Parquet(f"{tmp_path}/good")).name("good")
    rows.with_columns(lists="array(id)").sink_to(Csv(f"{tmp_path}/bad")).name("bad")
    failure = run_pipeline(env.pipeline())[-1].failure
    assert failure is not None
    assert (failure.operator, failure.throwable_type) == ("bad", "NON_RECOVERABLE_ERROR")
    assert failure.message == ("csv files cannot hold what it would write\n  column 'lists' is ARRAY<BIGINT>")
    assert not (tmp_path / "good").exists()
    assert not [path for path in tmp_path.iterdir() if "graph_compiler" in path.name]


@pytest.mark.parametrize(
    ("columns", "partition_by", "words"),
    [
        ("1 AS a, 2 AS A", (), "it would write a more than once"),
        ("1 AS a, 2 AS b", ("k",), "partition_by names 'k'; found: a, b"),
        ("1 AS a, 2 AS b", ("a", "b"), "every column is in partition_by"),
        ("1 AS a, array(1) AS k", ("k",), "column 'k' is ARRAY<INT>; a folder's name cannot hold it"),
    ],
)
def test_column_names_no_file_can_have_are_refused(
    columns: str, partition_by: tuple[str, ...], words: str, sinks: Sinks, tmp_path: Path
) -> None:
    with pytest.raises(PublicationError, match=words):
        sinks.write(Parquet(f"{tmp_path}/out"), f"SELECT {columns}", partition_by=partition_by)
    assert not (tmp_path / "out").exists()


def test_a_text_sink_takes_one_column_of_text(sinks: Sinks, tmp_path: Path) -> None:
    with pytest.raises(PublicationError, match="found: a INT, b STRING; allowed: one STRING column"):
        sinks.write(Text(f"{tmp_path}/out"), "SELECT 1 AS a, 'x' AS b")


def test_values_have_the_types_of_their_schema(spark: SparkSession) -> None:
    schema = "k STRING, n BIGINT, x DOUBLE, b BOOLEAN, d DATE, m DECIMAL(10,2), `o'dd ``name` STRING"
    rows = read_source(Values([("a", 1, 0.5, True, "2013-01-31", "12.50", "z"), (None,) * 7], schema), spark)
    assert [(f.name, f.dataType.simpleString()) for f in rows.schema][-3:] == [
        ("d", "date"),
        ("m", "decimal(10,2)"),
        ("o'dd `name", "string"),
    ]
    first, second = rows.collect()
    assert (first.k, first.n, first.x, first.b, first.d, str(first.m)) == (
        *("a", 1, 0.5, True),
        *(date(2013, 1, 31), "12.50"),
    )
    assert set(second) == {None}


def test_cells_of_text_have_the_text_of_their_values(spark: SparkSession) -> None:
    values = Values([(True, "1e3", "0.50", [False, 7])], "a STRING, b DOUBLE, c FLOAT, d ARRAY<STRING>")
    assert [tuple(row) for row in read_source(values, spark).collect()] == [("true", 1000.0, 0.5, ["false", "7"])]


def test_a_range_and_a_function_are_sources(run_pipeline: RunPipeline, spark: SparkSession, tmp_path: Path) -> None:
    env = StreamExecutionEnvironment("p")
    numbers = env.from_source(Range(0, 10, 3), "numbers")
    answer = env.from_source(FunctionSource(answers), "answers").select(id="cast(answer AS BIGINT)")
    numbers.union(answer).sink_to(Parquet(f"{tmp_path}/out")).name("out")
    assert run_pipeline(env.pipeline())[-1].failure is None
    assert sorted(row.id for row in spark.read.parquet(f"{tmp_path}/out").collect()) == [0, 3, 6, 9, 42]


def test_a_function_source_that_does_not_return_a_dataframe_is_named(run_pipeline: RunPipeline, tmp_path: Path) -> None:
    env = StreamExecutionEnvironment("p")
    env.from_source(FunctionSource(no_rows), "rows").sink_to(Parquet(f"{tmp_path}/out"))
    failure = run_pipeline(env.pipeline())[-1].failure
    assert failure is not None
    assert failure.operator == "rows"
    assert "no_rows returned a str; it must return a DataFrame" in failure.message


def test_a_table_is_read_and_written_and_a_run_appends_once(
    spark: SparkSession, sinks: Sinks, capsys: pytest.CaptureFixture[str]
) -> None:
    spark.sql("DROP TABLE IF EXISTS sales")
    try:
        assert sinks.write(Table("sales"), "SELECT 1 AS id", mode="append").rows == 1
        assert sinks.write(Table("sales"), "SELECT 1 AS id", mode="append").rows == 1
        assert {sinks.open(Table("sales"), mode=mode).target for mode in ("append", "overwrite")} == {"table sales"}
        assert "sales is not changed: execution e0 of this run" in capsys.readouterr().err
        sinks.write(Table("sales"), "SELECT 2 AS id", mode="append", run="r2")
        assert sorted(row.id for row in read_source(Table("sales"), spark).collect()) == [1, 2]
        sinks.write(Table("sales"), "SELECT 3 AS id", mode="overwrite", run="r3")
        assert [row.id for row in read_source(Table("sales"), spark).collect()] == [3]
        with pytest.raises(PublicationError, match="its target sales exists"):
            sinks.open(Table("sales"), mode="error-if-exists", run="r4")
    finally:
        spark.sql("DROP TABLE IF EXISTS sales")


def test_a_table_is_replaced_whole_whatever_the_session_says(spark: SparkSession, sinks: Sinks) -> None:
    """With `dynamic` in spark-defaults.conf, partitions without new rows would keep their old ones."""
    spark.sql("DROP TABLE IF EXISTS days")
    try:
        spark.sql("CREATE TABLE days (k INT, day STRING) USING parquet PARTITIONED BY (day)")
        spark.sql("INSERT INTO days VALUES (1, 'mon'), (2, 'tue')")
        with pinned(spark, {"spark.sql.sources.partitionOverwriteMode": "dynamic"}):
            sinks.write(Table("days"), "SELECT 3 AS k, 'tue' AS day", mode="overwrite")
            assert [tuple(row) for row in spark.table("days").collect()] == [(3, "tue")]
            sinks.write(Table("days"), "SELECT 4 AS k, 'x' AS day WHERE false", mode="overwrite", run="r2")
            assert spark.table("days").count() == 0
    finally:
        spark.sql("DROP TABLE IF EXISTS days")


@pytest.mark.parametrize("format", [Csv, Json])
def test_records_that_are_checked_are_not_read_by_lenient_patterns(
    format: type[Csv] | type[Json], spark: SparkSession, tmp_path: Path
) -> None:
    (tmp_path / "rows.txt").write_text("day\n2024-01-05 banana\n" if format is Csv else '{"day": "24-1-5"}')
    source = format(str(tmp_path), schema="day DATE", options={"dateFormat": "yyyy-MM-dd"})
    policy = "spark.sql.legacy.timeParserPolicy"
    with pinned(spark, {policy: "LEGACY"}), pytest.raises(ConfigurationError, match="dateFormat would take the begin"):
        read_source(source, spark).collect()
    with pinned(spark, {policy: "CORRECTED"}), pytest.raises(PySparkException):
        read_source(source, spark).collect()


def test_a_table_that_must_not_exist_is_not_replaced_where_others_have_written_since(
    spark: SparkSession, sinks: Sinks
) -> None:
    spark.sql("DROP TABLE IF EXISTS sales")
    try:
        for _ in range(2):  # what the run itself has left it may replace
            sinks.write(Table("sales"), "SELECT 1 AS id", mode="error-if-exists")
        sinks.write(Table("sales"), "SELECT 2 AS id", mode="overwrite", run="r2")
        with pytest.raises(PublicationError, match="others have published to its target sales"):
            sinks.open(Table("sales"), mode="error-if-exists")
        assert sinks.write(Table("sales"), "SELECT 1 AS id", mode="append").rows == 1
        with pytest.raises(PublicationError, match="others have published to its target sales"):
            sinks.open(Table("sales"), mode="error-if-exists")
        assert [row.id for row in spark.table("sales").collect()] == [2]
    finally:
        spark.sql("DROP TABLE IF EXISTS sales")


def test_a_superseded_attempt_changes_nothing_even_if_its_successor_wrote_nothing(
    spark: SparkSession, sinks: Sinks
) -> None:
    spark.sql("DROP TABLE IF EXISTS sales")
    try:
        sinks.write(Table("sales"), "SELECT 1 AS id", mode="append")
        sleeping = sinks.prepare(Table("sales"), spark.sql("SELECT 2 AS id"), mode="overwrite")
        assert sinks.write(Table("sales"), "SELECT 1 AS id", mode="append").rows == 1
        with pytest.raises(DecisionLostError):
            sleeping.publish()
        assert [row.id for row in read_source(Table("sales"), spark).collect()] == [1]
        assert sinks.write(Table("sales"), "SELECT 1 AS id", mode="append").rows == 1
        sinks.write(Table("sales"), "SELECT 4 AS id", mode="append", run="r2")
        assert sorted(row.id for row in spark.table("sales").collect()) == [1, 4]
    finally:
        spark.sql("DROP TABLE IF EXISTS sales")


@pytest.fixture
def sales(spark: SparkSession) -> Iterator[Table]:
    spark.sql("DROP TABLE IF EXISTS sales")
    yield Table("sales", run_column="_run", attempt_column="_attempt")
    spark.sql("DROP TABLE IF EXISTS sales")


def test_rows_inserted_twice_by_a_dead_driver_are_distinguishable(
    spark: SparkSession, sinks: Sinks, sales: Table, monkeypatch: pytest.MonkeyPatch
) -> None:
    sinks.write(sales, "SELECT id FROM range(2)", run="r1", mode="append")
    prepared = sinks.prepare(sales, spark.range(10, 12), run="r2", mode="append")
    with monkeypatch.context() as patch:
        patch.setattr(Ledger, "finish", Mock(side_effect=KeyboardInterrupt))
        with pytest.raises(KeyboardInterrupt):
            prepared.publish()
    sinks.write(sales, spark.range(10, 12).toDF("id"), run="r2", mode="append")
    assert sorted(row.id for row in spark.table("sales").collect()) == [0, 1, 10, 10, 11, 11]
    once = spark.sql(
        "SELECT id, _run FROM sales s WHERE _attempt = (SELECT max(_attempt) FROM sales t WHERE t._run = s._run)"
    )
    assert sorted((row.id, row._run) for row in once.collect()) == [
        *((0, "p/r1"), (1, "p/r1")),
        *((10, "p/r2"), (11, "p/r2")),
    ]


def test_the_attempt_column_must_exist_and_be_ours(spark: SparkSession, sinks: Sinks, sales: Table) -> None:
    spark.sql("CREATE TABLE sales (_run STRING, id BIGINT) USING parquet")
    with pytest.raises(PublicationError, match="no STRING column _attempt\n.*ALTER TABLE sales ADD"):
        sinks.write(sales, spark.range(1), mode="append")
    spark.sql("ALTER TABLE sales ADD COLUMNS (_attempt STRING)")
    with pytest.raises(PublicationError, match="its rows have _run, which run_column"):
        sinks.write(sales, "SELECT 1L AS id, 'x' AS _run", mode="append")
    sinks.write(sales, spark.range(1), mode="append")
    assert [(row.id, row._run) for row in spark.table("sales").collect()] == [(0, "p/r1")]


@pytest.mark.parametrize("kind", [Csv, Json, Orc, Parquet])
def test_empty_results_are_written_and_counted(
    kind: type[FileConnector], run_pipeline: RunPipeline, tmp_path: Path
) -> None:
    env = StreamExecutionEnvironment("p")
    env.from_source(Range(0, 3), "in").filter("false").sink_to(kind(f"{tmp_path}/out"))
    report = run_pipeline(env.pipeline())[-1]
    assert report.failure is None, report.failure
    assert [output.rows for output in report.outputs] == [0]


@pytest.mark.parametrize("schema", ["k STRING, n INT", None])
@pytest.mark.parametrize(("null_value", "found"), [("", (None, None, "NA", "NA")), ("NA", (None, "", None, None))])
def test_an_empty_field_of_csv_is_missing_whatever_stands_for_a_missing_value(
    null_value: str, found: tuple[str | None, ...], schema: str | None, spark: SparkSession, tmp_path: Path
) -> None:
    (tmp_path / "a.csv").write_text('k,n\n,1\n"",2\nNA,3\n"NA",4\n')
    rows = read_source(Csv(str(tmp_path), schema=schema, null_value=null_value), spark, None)
    assert tuple(row.k for row in sorted(rows.collect(), key=lambda row: row.n)) == found
