"""Files from public bug reports: what is published is what is in the file, or a message names the way to it."""

from collections.abc import Callable
from datetime import UTC, datetime
from decimal import Decimal
from itertools import count
from pathlib import Path

import pyarrow
import pytest

from graph_compiler import Csv, DataStream, Json, Parquet, StreamExecutionEnvironment
from graph_compiler.deployment.documents.report import ThrowableType
from graph_compiler.testing import REAL, PipelineResult
from tests.cases.case import Case, Refusal, in_order, published
from tests.spark.conftest import RunPipeline

pytestmark = [pytest.mark.spark, pytest.mark.ci]

MONEY = "id;amount\n1;3,50\n2;12,5\n3;1,234\n"
PRICES = "id,price\n1,1.005\n2,2.999\n3,0.0049\n"
NOTES = 'id,text,city\n1,"say ""hi""",Rome\n2,"12"" pipe, old",Oslo\n3,"""quoted""",Bern\n'
RAGGED = "id,name,amount\n1,ann,5\n2,bob\n3,carl,7,extra,9\n4,dora,oops\n"
DECLARED_RAGGED = Csv("in.csv", schema="id INT, name STRING, amount INT")
FIELDS = "it does not have as many fields as there are columns"
KEYS = '{"id": 1, "Amount": 2}\n{"ID": 2, "amount": 3}\n{"id": 3, "amount": 4}\n'
ODD_KEY = Refusal(words=('"Amount": 2', "keys of JSON keep their case"), hint='rejects="bad"')
ARRAY = '[\n {"id": 1},\n {"id": 2}\n]\n'
IS_ARRAY = Refusal(words=("record: '['",), hint='options={"multiLine": "true"}')
POINT = pyarrow.struct([("lon", pyarrow.float64()), ("lat", pyarrow.float64())])
POINTS = pyarrow.array([{"lon": 16.4, "lat": 48.2}, {"lon": 13.4, "lat": 52.5}], POINT)
DAYS = "id,d,t\n1,2024-01-05 banana,2024-01-05 10:00:00\n2,2024,2024-01-05\n3,2024-03,2024\n"
BELOW = {"in/new.parquet": pyarrow.table({"id": [1]}), "in/2023/12/old.parquet": pyarrow.table({"id": [2]})}
WIDENED = {
    "in/1.parquet": pyarrow.table({"id": pyarrow.array([1], pyarrow.int32())}),
    "in/2.parquet": pyarrow.table({"id": pyarrow.array([2**40], pyarrow.int64())}),
}
WITH_NULLS = {"in/1.parquet": pyarrow.table({"n": [5, 6]}), "in/2.parquet": pyarrow.table({"n": [7.0, None]})}
NOON = datetime(2024, 3, 15, 12, 30, tzinfo=UTC)
TIMES = '{"id":1,"at":1711849800000}\n{"id":2,"at":1711849800123}\n'


def counted(rows: DataStream) -> DataStream:
    return rows.aggregate(n="count(*)").name("counted")


def names(rows: DataStream) -> DataStream:
    return rows.select("name").name("names")


def at_as_time(rows: DataStream) -> DataStream:
    return rows.with_columns(at="timestamp_millis(at)").name("timed")


def at_in_microseconds(rows: DataStream) -> DataStream:
    return rows.with_columns(at="to_timestamp(left(at, 26), 'yyyy-MM-dd HH:mm:ss,SSSSSS')").name("timed")


def v_as_decimal(rows: DataStream) -> DataStream:
    return rows.cast(v="DECIMAL(9, 2)").name("numbers")


CASES = {
    "decimal commas": Case(
        files={"in.csv": MONEY},
        source=Csv("in.csv", schema="id INT, amount DECIMAL(9, 2)", options={"sep": ";"}),
        refusals=(
            Refusal(words=("the value '3,50'", "'amount'"), hint='options={"locale": "de-DE"}'),
            Refusal(
                words=("the value '1,234'",),
                hint="to keep all digits, declare DECIMAL(10, 3)",
                changes={"schema": "id INT, amount DECIMAL(10, 3)"},
            ),
        ),
        rows=[
            {"id": 1, "amount": Decimal("3.500")},
            {"id": 2, "amount": Decimal("12.500")},
            {"id": 3, "amount": Decimal("1.234")},
        ],
    ),
    "decimals with more digits, CSV": Case(
        files={"in.csv": PRICES},
        source=Csv("in.csv", schema="id INT, price DECIMAL(9, 2)"),
        refusals=(
            Refusal(
                words=("the value '1.005' does not fit column 'price', DECIMAL(9,2)",),
                hint="to keep all digits, declare DECIMAL(10, 3)",
                changes={"schema": "id INT, price DECIMAL(10, 3)"},
            ),
            Refusal(
                words=("the value '0.0049'",),
                hint="to keep all digits, declare DECIMAL(11, 4)",
                changes={"schema": "id INT, price DECIMAL(11, 4)"},
            ),
        ),
        rows=[
            {"id": 1, "price": Decimal("1.0050")},
            {"id": 2, "price": Decimal("2.9990")},
            {"id": 3, "price": Decimal("0.0049")},
        ],
    ),
    "decimals with more digits, JSON": Case(
        files={"in.json": '{"id":1,"price":1.005}\n{"id":2,"price":"2.999"}\n'},
        source=Json("in.json", schema="id INT, price DECIMAL(9, 2)"),
        refusals=(
            Refusal(
                words=("the value '1.005' does not fit column 'price', DECIMAL(9,2)",),
                hint="to keep all digits, declare DECIMAL(10, 3)",
                changes={"schema": "id INT, price DECIMAL(10, 3)"},
            ),
        ),
        rows=[{"id": 1, "price": Decimal("1.005")}, {"id": 2, "price": Decimal("2.999")}],
    ),
    "columns in another order in the next file": Case(
        files={
            "in/day1.csv": "name,from_city,to_city\nann,Rome,Oslo\n",
            "in/day2.csv": "name,to_city,from_city\nbob,Bern,Wien\n",
        },
        source=Csv("in"),
        refusals=(
            Refusal(
                words=("in/day2.csv does not have the header name, from_city, to_city",),
                hint="declare one source for the files of each header",
                changes={"path": "in/day2.csv"},
            ),
        ),
        rows=[{"name": "bob", "from_city": "Wien", "to_city": "Bern"}],
    ),
    "a line break in quotes": Case(
        files={"in.csv": 'id,address\n1,"Main St 5\n12345, Springfield"\n2,"Oak Rd 1"\n'},
        source=Csv("in.csv", schema="id INT, address STRING"),
        refusals=(Refusal(words=("record: '1,\"Main St 5'", "in.csv"), hint='options={"multiLine": "true"}'),),
        rows=[{"id": 1, "address": "Main St 5\n12345, Springfield"}, {"id": 2, "address": "Oak Rd 1"}],
    ),
    "a line break in quotes, and doubled quotes": Case(
        files={"in.csv": 'id,text\n1,"two\nlines"\n2,"say ""hi"""\n'},
        source=Csv("in.csv", schema="id INT, text STRING"),
        refusals=(
            Refusal(words=("record: '1,\"two'",), hint='options={"multiLine": "true"}'),
            Refusal(words=('record: \'2,"say ""hi"""', "in.csv"), hint=r'options={"escape": "\""}'),
        ),
        rows=[{"id": 1, "text": "two\nlines"}, {"id": 2, "text": 'say "hi"'}],
    ),
    "doubled quotes": Case(
        files={"in.csv": NOTES},
        source=Csv("in.csv", schema="id INT, text STRING, city STRING"),
        refusals=(Refusal(words=('record: \'1,"say ""hi""",Rome\'',), hint=r'options={"escape": "\""}'),),
        rows=[
            {"id": 1, "text": 'say "hi"', "city": "Rome"},
            {"id": 2, "text": '12" pipe, old', "city": "Oslo"},
            {"id": 3, "text": '"quoted"', "city": "Bern"},
        ],
    ),
    "too few and too many fields, inferred, set aside": Case(
        files={"in.csv": RAGGED},
        source=Csv("in.csv"),
        refusals=(Refusal(words=(FIELDS, "record: '2,bob'"), hint='rejects="bad"'),),
        rows=[{"id": 1, "name": "ann", "amount": "5"}, {"id": 4, "name": "dora", "amount": "oops"}],
        bad=["2,bob", "3,carl,7,extra,9"],
    ),
    "too few and too many fields, counted only": Case(
        files={"in.csv": RAGGED},
        source=DECLARED_RAGGED,
        then=counted,
        refusals=(Refusal(words=(FIELDS, "record: '2,bob'"), hint='rejects="bad"'),),
        rows=[{"n": 1}],
        bad=["2,bob", "3,carl,7,extra,9", "4,dora,oops"],
    ),
    "too few and too many fields, one column of them": Case(
        files={"in.csv": RAGGED},
        source=DECLARED_RAGGED,
        then=names,
        refusals=(Refusal(words=(FIELDS, "record: '2,bob'"), hint='on_misfit="null"'),),
        rows=[{"name": "ann"}, {"name": "bob"}, {"name": "carl"}, {"name": "dora"}],
    ),
    "a value of another type in a column that is not read": Case(
        files={"in.csv": "id,name,amount\n1,ann,5\n4,dora,oops\n"},
        source=DECLARED_RAGGED,
        then=names,
        refusals=(Refusal(words=("the value 'oops'", "'amount', INT"), hint='on_misfit="null"'),),
        rows=[{"name": "ann"}, {"name": "dora"}],
    ),
    "newer Parquet files with one more column": Case(
        files={
            "in/1.parquet": pyarrow.table({"id": [1], "a": ["x"]}),
            "in/2.parquet": pyarrow.table({"id": [2], "a": ["y"], "coupon": ["SAVE5"]}),
        },
        source=Parquet("in"),
        rows=[{"id": 1, "a": "x", "coupon": None}, {"id": 2, "a": "y", "coupon": "SAVE5"}],
    ),
    "keys of JSON in another case": Case(
        files={"in.json": KEYS},
        source=Json("in.json", schema="id INT, amount INT"),
        refusals=(ODD_KEY,),
        rows=[{"id": 3, "amount": 4}],
        bad=['{"ID": 2, "amount": 3}', '{"id": 1, "Amount": 2}'],
    ),
    "keys of JSON in another case, inferred": Case(
        files={"in.json": KEYS},
        source=Json("in.json"),
        refusals=(
            Refusal(
                words=("in.json differ only in case: '",),
                hint="declare schema=",
                changes={"schema": "id INT, amount INT"},
            ),
            ODD_KEY,
        ),
        rows=[{"id": 3, "amount": 4}],
        bad=['{"ID": 2, "amount": 3}', '{"id": 1, "Amount": 2}'],
    ),
    "JSON that is one array, declared": Case(
        files={"in.json": ARRAY},
        source=Json("in.json", schema="id INT"),
        refusals=(IS_ARRAY,),
        rows=[{"id": 1}, {"id": 2}],
    ),
    "JSON that is one array, inferred": Case(
        files={"in.json": ARRAY}, source=Json("in.json"), refusals=(IS_ARRAY,), rows=[{"id": 1}, {"id": 2}]
    ),
    "Latin-1": Case(
        files={"in.csv": "id,name\n1,Müller\n2,Café\n".encode("latin-1")},
        source=Csv("in.csv", schema="id INT, name STRING"),
        refusals=(Refusal(words=("bytes that are not of its encoding",), hint='options={"encoding": "ISO-8859-1"}'),),
        rows=[{"id": 1, "name": "Müller"}, {"id": 2, "name": "Café"}],
    ),
    "fields of a struct in another order": Case(
        files={"in.parquet": pyarrow.table({"id": [1, 2], "pos": POINTS})},
        source=Parquet(
            "in.parquet", schema="id BIGINT, pos STRUCT<lat: DOUBLE, lon: DOUBLE>", on_schema_change="ignore"
        ),
        rows=[{"id": 1, "pos": {"lat": 48.2, "lon": 16.4}}, {"id": 2, "pos": {"lat": 52.5, "lon": 13.4}}],
    ),
    "dates with something behind them": Case(
        files={"in.csv": DAYS},
        source=Csv("in.csv", schema="id INT, d DATE, t TIMESTAMP"),
        refusals=(
            Refusal(words=("the value '2024-01-05 banana' does not fit column 'd', DATE",), hint='on_misfit="null"'),
        ),
        rows=[
            {"id": 1, "d": None, "t": datetime(2024, 1, 5, 10, tzinfo=UTC)},
            {"id": 2, "d": None, "t": datetime(2024, 1, 5, tzinfo=UTC)},
            {"id": 3, "d": None, "t": None},
        ],
    ),
    "files in folders below": Case(
        files=BELOW,
        source=Parquet("in", schema="id BIGINT"),
        refusals=(
            Refusal(words=("1 file below", "in/2023/12/old.parquet"), hint="options={'recursiveFileLookup': 'true'}"),
        ),
        rows=[{"id": 1}, {"id": 2}],
    ),
    "files in folders below, left out": Case(
        files=BELOW,
        source=Parquet("in", schema="id BIGINT"),
        refusals=(
            Refusal(
                words=("1 file below", "in/2023/12/old.parquet"),
                hint="one that ends in /*.csv reads such files of the folder itself only",
                changes={"path": "in/*.parquet"},
            ),
        ),
        rows=[{"id": 1}],
    ),
    "INT in old files and BIGINT in new": Case(
        files=WIDENED,
        source=Parquet("in", schema="id BIGINT"),
        refusals=(
            Refusal(
                words=("column 'id'", "INT in file:", "in/1.parquet", "BIGINT in file:"),
                hint="on_schema_change='evolve'",
            ),
        ),
        rows=[{"id": 1}, {"id": 2**40}],
    ),
    "INT in old files and BIGINT in new, inferred": Case(
        files=WIDENED,
        source=Parquet("in"),
        refusals=(
            Refusal(
                words=("column 'id'", "in/1.parquet", "in/2.parquet"),
                hint='schema="id BIGINT" with on_schema_change="evolve"',
                changes={"schema": "id BIGINT", "on_schema_change": "evolve"},
            ),
        ),
        rows=[{"id": 1}, {"id": 2**40}],
    ),
    "whole numbers, and doubles since there are NULLs": Case(
        files=WITH_NULLS,
        source=Parquet("in", schema="n DOUBLE"),
        refusals=(
            Refusal(
                words=("BIGINT in file:", "in/1.parquet", "DOUBLE in file:", "in/2.parquet"),
                hint="on_schema_change='ignore'",
            ),
        ),
        rows=[{"n": 5.0}, {"n": 6.0}, {"n": 7.0}, {"n": None}],
    ),
    **{
        f"an empty folder, {kind.__name__}": Case(
            files={"in": None}, source=kind("in", schema="id INT, name STRING"), rows=[]
        )
        for kind in (Csv, Json, Parquet)
    },
    "a day without a folder": Case(
        files={"in": None},
        source=Csv("today", schema="id INT"),
        refusals=(
            Refusal(
                words=("today does not exist",),
                hint="declare schema= and if_missing='empty'",
                changes={"if_missing": "empty"},
            ),
        ),
        rows=[],
    ),
    "zeros in the name of a folder, inferred": Case(
        files={"in/code=00123/a.csv": "id\n1\n", "in/code=45/a.csv": "id\n2\n"},
        source=Csv("in"),
        refusals=(
            Refusal(
                words=("the value '00123' in the name of a folder does not fit column 'code', INT", "in/code=00123"),
                hint='declare schema="id INT, code STRING"',
                changes={"schema": "id INT, code STRING"},
            ),
        ),
        rows=[{"id": 1, "code": "00123"}, {"id": 2, "code": "45"}],
    ),
    "a decimal in the name of a folder": Case(
        files={"in/v=1.5/a.parquet": pyarrow.table({"id": [1]})},
        source=Parquet("in", schema="id BIGINT, v DECIMAL(9, 2)"),
        refusals=(
            Refusal(
                words=("the value '1.5' in the name of a folder", "'v', DECIMAL(9,2)", "in/v=1.5"),
                hint="declare STRING for this column, and cast what you need",
                changes={"schema": "id BIGINT, v STRING"},
                then=v_as_decimal,
            ),
        ),
        rows=[{"id": 1, "v": Decimal("1.50")}],
    ),
    "a key of JSON with the name of a folder's column": Case(
        files={"in/v=1/a.json": '{"id": 1, "v": 1}\n{"id": 2, "v": 7}\n'},
        source=Json("in", schema="id INT, v INT"),
        refusals=(
            Refusal(
                words=("it has a key with the name of its folder's column, and another value", '"v": 7'),
                hint='options={"recursiveFileLookup": "true"}',
            ),
        ),
        rows=[{"id": 1, "v": 1}, {"id": 2, "v": 7}],
    ),
    "a file whose name Spark skips": Case(
        files={"_in.csv": "id\n1\n", "in.csv": "id\n1\n"},
        source=Csv("_in.csv", schema="id INT"),
        refusals=(
            Refusal(
                words=("_in.csv would not be read: Spark skips hidden names",),
                hint="rename the file, or read a copy with another name",
                changes={"path": "in.csv"},
            ),
        ),
        rows=[{"id": 1}],
    ),
    "comments above the header": Case(
        files={"in.csv": "# made by hand\nid,name\n1,ann\n"},
        source=Csv("in.csv", schema="id INT, name STRING"),
        refusals=(Refusal(words=("begins with #: '# made by hand'",), hint='options={"comment": "#"}'),),
        rows=[{"id": 1, "name": "ann"}],
    ),
    "comments above the header, inferred": Case(
        files={"in.csv": "# made by hand\nid,name\n1,ann\n"},
        source=Csv("in.csv"),
        refusals=(Refusal(words=("record: 'id,name'",), hint='options={"comment": "#"}'),),
        rows=[{"id": 1, "name": "ann"}],
    ),
    "another separator, with columns": Case(
        files={"in.csv": "id;name\n1;ann\n"},
        source=Csv("in.csv", schema="id INT, name STRING"),
        refusals=(Refusal(words=("is one column, 'id;name'",), hint='options={"sep": ";"}'),),
        rows=[{"id": 1, "name": "ann"}],
    ),
    "months, inferred": Case(
        files={"in.csv": "month\n2024-01\n2024-02\n"},
        source=Csv("in.csv"),
        refusals=(
            Refusal(
                words=("the value '2024-0", "'month', TIMESTAMP"),
                hint="Spark inferred this type from the files: declare schema= with STRING for this column",
                changes={"schema": "month STRING"},
            ),
        ),
        rows=[{"month": "2024-01"}, {"month": "2024-02"}],
    ),
    "a workbook with the name of a CSV": Case(
        files={"in.csv": b"PK\x03\x04\x14\x00\x06\x00\xff\xfe", "saved.csv": "id\n1\n"},
        source=Csv("in.csv", schema="id INT"),
        refusals=(
            Refusal(
                words=("bytes that are not of its encoding",),
                hint="the file is a zip archive or a workbook, which Spark cannot read: unpack it, or save it as CSV",
                changes={"path": "saved.csv"},
            ),
        ),
        rows=[{"id": 1}],
    ),
    **{
        f"nanoseconds in Parquet{with_schema}": Case(
            files={
                "in/1.parquet": pyarrow.table({"at": pyarrow.array([NOON], pyarrow.timestamp("us", "UTC"))}),
                "in/2.parquet": pyarrow.table({"at": pyarrow.array([NOON], pyarrow.timestamp("ns", "UTC"))}),
                "us/1.parquet": pyarrow.table({"at": pyarrow.array([NOON], pyarrow.timestamp("us", "UTC"))}),
            },
            source=Parquet("in", schema=schema),
            refusals=(
                Refusal(
                    words=("column 'at' has the type INT64 (TIMESTAMP(NANOS,true)), which Spark does not", "2.parquet"),
                    hint="write microseconds: pandas' to_parquet(…, coerce_timestamps='us')",
                    changes={"path": "us"},
                ),
            ),
            rows=[{"at": NOON}],
        )
        for with_schema, schema in (("", None), (", declared", "at TIMESTAMP"))
    },
    "backslashes before closing quotes": Case(
        files={"in.csv": 'id,path,n\n1,"C:\\dir\\",5\n2,"D:\\",6\n'},
        source=Csv("in.csv", schema="id INT, path STRING, n INT"),
        refusals=(Refusal(words=("a quote is not closed",), hint=r'options={"escape": "\""}'),),
        rows=[{"id": 1, "path": "C:\\dir\\", "n": 5}, {"id": 2, "path": "D:\\", "n": 6}],
    ),
    "brackets in the name of a file": Case(
        files={"in/a[1].csv": "id\n1\n"},
        source=Csv("in/a[1].csv", schema="id INT"),
        refusals=(
            Refusal(
                words=("in/a[1].csv does not exist", "it is read as a pattern; a file of that name is written '"),
                hint=r"in/a\[1].csv'",
                changes={"path": r"in/a\[1].csv"},
            ),
        ),
        rows=[{"id": 1}],
    ),
    "nanoseconds by a pattern": Case(
        files={"in.csv": "id;at\n1;2024-03-15 12:30:00,123456000\n2;2024-03-15 12:30:00,123456789\n"},
        source=Csv(
            "in.csv",
            schema="id INT, at TIMESTAMP",
            options={"sep": ";", "timestampFormat": "yyyy-MM-dd HH:mm:ss,SSSSSSSSS"},
        ),
        refusals=(
            Refusal(
                words=("the value '2024-03-15 12:30:00,123456789' does not fit column 'at', TIMESTAMP",),
                hint="Spark keeps six digits of a second: declare STRING, and cast what you need",
                changes={"schema": "id INT, at STRING"},
                then=at_in_microseconds,
            ),
        ),
        rows=[{"id": n, "at": datetime(2024, 3, 15, 12, 30, 0, 123_456, tzinfo=UTC)} for n in (1, 2)],
    ),
    "times in milliseconds": Case(
        files={"in.json": TIMES},
        source=Json("in.json", schema="id INT, at TIMESTAMP"),
        refusals=(
            Refusal(
                words=("the value '1711849800000'", "'at', TIMESTAMP"),
                hint='declare BIGINT, and add with_columns(at="timestamp_millis(at)")',
                changes={"schema": "id INT, at BIGINT"},
                then=at_as_time,
            ),
        ),
        rows=[
            {"id": 1, "at": datetime(2024, 3, 31, 1, 50, tzinfo=UTC)},
            {"id": 2, "at": datetime(2024, 3, 31, 1, 50, 0, 123_000, tzinfo=UTC)},
        ],
    ),
    "times in milliseconds and as text": Case(
        files={"in.json": TIMES + '{"id":3,"at":"2024-03-31T02:30:00+02:00"}\n'},
        source=Json("in.json", schema="id INT, at TIMESTAMP"),
        refusals=(Refusal(words=("the value '1711849800000'",), hint='rejects="bad"'),),
        rows=[{"id": 3, "at": datetime(2024, 3, 31, 0, 30, tzinfo=UTC)}],
        bad=TIMES.splitlines(),
    ),
}


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_rows_are_those_of_the_files_or_a_message_leads_to_them(
    case: Case, run_pipeline: RunPipeline, tmp_path: Path
) -> None:
    files, numbers = tmp_path / "files", count()
    case.put_files(files)
    for refusal in case.refusals:
        target = tmp_path / f"out{next(numbers)}"
        failure = run_pipeline(case.pipeline(files, target))[-1].failure
        assert failure is not None, f"published: {published(target / 'rows')}"
        for words in (*refusal.words, refusal.hint):
            assert words in failure.message
        assert failure.operator == "source"
        assert failure.throwable_type is ThrowableType.NON_RECOVERABLE_ERROR
        assert published(target / "rows") is None
        case = refusal.followed(case)
    target = tmp_path / f"out{next(numbers)}"
    assert [report.failure for report in run_pipeline(case.pipeline(files, target))] == [None]
    assert published(target / "rows") == in_order(case.rows)
    bad = published(target / "bad")
    assert (bad and sorted(row["record"] for row in bad)) == case.bad


def test_the_option_of_a_deployment_reads_as_before(
    pipeline_run: Callable[..., PipelineResult], tmp_path: Path
) -> None:
    (tmp_path / "in.csv").write_text(RAGGED)
    env = StreamExecutionEnvironment("lenient", config={"sources.strict": "false"})
    env.from_source(Csv(f"{tmp_path}/in.csv"), "source").sink_to(Parquet("/out")).name("rows")
    rows = pipeline_run(env, REAL).sink("rows").rows
    assert [tuple(row.values()) for row in rows] == [
        (1, "ann", "5"),
        (2, "bob", None),
        (3, "carl", "7"),
        (4, "dora", "oops"),
    ]
