"""Sources of CSV, JSON and text as pipelines use them: records set aside, read as NULL, or read as before."""

import gzip
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import pytest
from pyspark.sql import SparkSession
from pyspark.sql.datasource import DataSource, DataSourceReader
from pyspark.sql.types import StructType

from graph_compiler import Csv, Files, Json, Parquet, StreamExecutionEnvironment, Text
from graph_compiler.declaration.connectors import FileConnector
from graph_compiler.deployment.documents.jvm_settings import STRICT_SOURCES
from graph_compiler.errors import SchemaChangedError
from graph_compiler.spark_runtime.connectors import read_source
from graph_compiler.spark_runtime.connectors.source import source_schema
from graph_compiler.spark_runtime.results.pinned_settings import pinned
from tests.spark.conftest import RunPipeline

pytestmark = [pytest.mark.spark, pytest.mark.ci]
SCHEMA = "id INT, name STRING, amount DECIMAL(9, 2)"
RECORDS = ["1,ann,5", "2,bob", "3,carl,7,extra", "4,dora,oops", '5,"e, f",1.50']


@pytest.fixture
def orders(tmp_path: Path) -> str:
    (tmp_path / "orders.csv").write_text("\n".join(["id,name,amount", *RECORDS, ""]))
    return f"{tmp_path}/orders.csv"


@pytest.mark.parametrize("is_staged", [False, True])
def test_each_record_is_in_one_of_both_outputs(
    is_staged: bool, orders: str, spark: SparkSession, run_pipeline: RunPipeline, tmp_path: Path
) -> None:
    env = StreamExecutionEnvironment("sales")
    source = Csv(orders, schema=SCHEMA, rejects="bad")
    rows = env.from_source(source, "orders")
    kept = rows.filter("amount > 0").name("kept")
    (kept.stage("read again") if is_staged else kept).sink_to(Parquet(f"{tmp_path}/kept"))
    rows.get_side_output("bad").sink_to(Parquet(f"{tmp_path}/bad")).name("bad")
    assert run_pipeline(env.pipeline())[-1].failure is None
    found = spark.read.parquet(f"{tmp_path}/kept").orderBy("id").collect()
    assert [row.id for row in found] == [1, 5]
    bad = spark.read.parquet(f"{tmp_path}/bad").orderBy("record").collect()
    assert [(row.record, row.column, row.text) for row in bad] == [
        ("2,bob", None, None),
        ("3,carl,7,extra", None, None),
        ("4,dora,oops", "amount", "oops"),
    ]
    assert {row.file for row in bad} == {f"file:{orders}"}
    assert bad[2].reason == "it does not fit DECIMAL(9,2)"


def test_records_that_nobody_reads_are_left_out_of_the_rows(
    orders: str, spark: SparkSession, run_pipeline: RunPipeline, tmp_path: Path
) -> None:
    env = StreamExecutionEnvironment("sales")
    source = Csv(orders, schema="name STRING, id INT", on_schema_change="ignore", rejects="bad")
    env.from_source(source, "orders").sink_to(Parquet(f"{tmp_path}/kept"))
    assert run_pipeline(env.pipeline())[-1].failure is None
    assert spark.read.parquet(f"{tmp_path}/kept").columns == ["name", "id"]


def test_a_quote_that_is_not_closed_fails_whatever_is_said(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text('id,name\n1,"x\ny"\n')
    for source in (
        Csv(f"{tmp_path}/a.csv", schema="id INT, name STRING", rejects="bad"),
        Csv(f"{tmp_path}/a.csv", schema="id INT, name STRING", on_misfit="null"),
    ):
        with pytest.raises(Exception, match="a quote is not closed in its line"):
            read_source(source, spark).collect()


def test_values_that_do_not_fit_are_null_and_others_are_kept(orders: str, spark: SparkSession) -> None:
    rows = read_source(Csv(orders, schema=SCHEMA, on_misfit="null"), spark).orderBy("id").collect()
    assert [(row.id, row.name, row.amount is None) for row in rows] == [
        (1, "ann", False),
        (2, "bob", True),
        (3, "carl", False),
        (4, "dora", True),
        (5, "e, f", False),
    ]


@pytest.mark.parametrize(
    "ask",
    [
        lambda rows: rows.groupBy().count(),
        lambda rows: rows.select("name"),
        lambda rows: rows.where("id = 1"),
        lambda rows: rows.where("amount > 0"),
        lambda rows: rows.where("amount IS NULL"),
        lambda rows: rows.join(rows.sparkSession.createDataFrame([(5,)], "amount INT"), "amount"),
        lambda rows: rows.groupBy("name").agg({"id": "max"}),
    ],
)
def test_a_check_does_not_depend_on_what_is_read(ask: object, spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("id,name,amount\n1,ann,5\n2,bob,oops\n")
    rows = read_source(Csv(f"{tmp_path}/a.csv", schema=SCHEMA), spark)
    with pytest.raises(Exception, match="it does not fit DECIMAL"):
        ask(rows).collect()  # type: ignore[operator]


def test_the_option_reads_as_before(orders: str, spark: SparkSession) -> None:
    with pinned(spark, {STRICT_SOURCES: "false"}):
        inferred = read_source(Csv(orders), spark)
        assert inferred.count() == len(RECORDS)
        declared = read_source(Csv(orders, schema=SCHEMA), spark)
        assert declared.groupBy().count().collect()[0][0] == len(RECORDS)


def test_a_header_with_another_separator_is_refused_if_types_are_inferred(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("id;name\n1;ann\n")
    with pytest.raises(SchemaChangedError, match=r'declare options={"sep": ";"}'):
        read_source(Csv(f"{tmp_path}/a.csv"), spark)


def test_lines_of_text_are_checked_and_set_aside(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_bytes("fine\nM\xfcller\n".encode("latin-1"))
    with pytest.raises(Exception, match="bytes that are not of its encoding"):
        read_source(Text(f"{tmp_path}/a.txt"), spark).collect()
    lenient = read_source(Text(f"{tmp_path}/a.txt", on_misfit="null"), spark)
    assert sorted(map(tuple, lenient.collect()), key=str) == [("fine",), (None,)]


def test_folders_have_their_declared_types_and_are_pruned(spark: SparkSession, tmp_path: Path) -> None:
    for day in ("01", "02"):
        (tmp_path / f"day={day}").mkdir()
        (tmp_path / f"day={day}" / "a.json").write_text('{"id": 1}\n')
    rows = read_source(Json(str(tmp_path), schema="id INT, day STRING"), spark).where("day = '02'")
    assert list(map(tuple, rows.collect())) == [(1, "02")]
    plan = rows._jdf.queryExecution().executedPlan().toString()
    assert "PartitionFilters: [isnotnull(day" in plan


HEADERS = {
    "UTF-16": ("id,name\n1,Zo\u00eb\n".encode("utf-16"), 'declare options={"encoding": "UTF-16"}'),
    "UTF-16 without a mark": ("id,name\n1,a\n".encode("utf-16-le"), 'declare options={"encoding": "UTF-16LE"}'),
    "Latin-1": ("id,n\xe4me\n1,a\n".encode("latin-1"), 'declare options={"encoding": "ISO-8859-1"}'),
    "gzip": (gzip.compress(b"id,name\n1,a\n", mtime=0), "compressed with gzip"),
}


@pytest.mark.parametrize("kind", HEADERS)
@pytest.mark.parametrize("options", [{}, {"multiLine": "true"}])
@pytest.mark.parametrize("schema", [None, "id INT, name STRING"])
def test_a_header_in_another_encoding_names_its_file(
    kind: str, options: dict[str, str], schema: str | None, spark: SparkSession, tmp_path: Path
) -> None:
    content, hint = HEADERS[kind]
    (tmp_path / "a.csv").write_bytes(content)
    with pytest.raises(SchemaChangedError) as refused:
        read_source(Csv(str(tmp_path), schema=schema, options=options), spark)
    assert f"the header of the file {tmp_path}/a.csv has bytes" in str(refused.value)
    assert hint in str(refused.value)


def test_a_header_in_another_encoding_is_found_in_gzip(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "a.csv.gz").write_bytes(gzip.compress("id,n\xe4me\n1,a\n".encode("latin-1")))
    with pytest.raises(SchemaChangedError, match='"encoding": "ISO-8859-1"'):
        read_source(Csv(str(tmp_path)), spark)


@pytest.mark.parametrize(
    ("kind", "options", "message"),
    [
        (Csv, {"singleVariantColumn": "v"}, "is not supported for CSV"),
        (Json, {"encoding": "UTF-16"}, '"UTF-16LE", "lineSep"'),
        (Json, {"charset": "utf-32be"}, '"UTF-32BE", "lineSep"'),
    ],
)
def test_options_that_leave_records_unchecked_are_refused(
    kind: type[Csv | Json], options: dict[str, str], message: str, spark: SparkSession, tmp_path: Path
) -> None:
    (tmp_path / "a").write_text("a\n1\n")
    with pytest.raises(SchemaChangedError, match=message):
        read_source(kind(str(tmp_path), options=options), spark)


@pytest.mark.parametrize("option", [{"inferSchema": "false"}, {"INFERSCHEMA": False}])
@pytest.mark.parametrize("kind", [Csv, partial(Files, format="csv")])
def test_types_that_are_not_to_be_inferred_are_text(
    kind: Callable[..., FileConnector], option: dict[str, object], spark: SparkSession, tmp_path: Path
) -> None:
    """Inferred, 12E4 is 120000.0."""
    (tmp_path / "codes.csv").write_text("code,n\n12E4,1\n007,2\n")
    source = kind(path=f"{tmp_path}/codes.csv", options={"header": "true", **option})
    rows = read_source(source, spark)
    assert rows.dtypes == [("code", "string"), ("n", "string")]
    assert [tuple(row) for row in rows.collect()] == [("12E4", "1"), ("007", "2")]
    assert source_schema(source, spark) == rows.schema


def test_a_data_source_without_files_may_have_declared_columns(spark: SparkSession, tmp_path: Path) -> None:
    spark.dataSource.register(_Numbers)
    source = Files(format="numbers_of_a_test", path=f"{tmp_path}", schema="n INT")
    assert [row.n for row in read_source(source, spark).collect()] == [1, 2]


def test_a_format_may_be_the_name_of_a_class(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"x")
    name = "org.apache.spark.sql.execution.datasources.binaryfile.BinaryFileFormat"
    rows = read_source(Files(format=name, path=f"{tmp_path}"), spark)
    assert [bytes(row.content) for row in rows.collect()] == [b"x"]


class _Numbers(DataSource):
    @classmethod
    def name(cls) -> str:
        return "numbers_of_a_test"

    def schema(self) -> str:
        return "n INT"

    def reader(self, schema: StructType) -> DataSourceReader:  # noqa: ARG002  # Spark asks for it
        return _Reader()


class _Reader(DataSourceReader):
    def read(self, partition: object) -> Iterator[tuple[int]]:  # noqa: ARG002  # Spark asks for it
        yield from ((1,), (2,))
