"""Problems of sources and sinks with their tables; no table is asked."""

from dataclasses import replace

import pytest

from graph_compiler import Delta, Iceberg, Merge
from graph_compiler.declaration.connectors import SinkMode
from graph_compiler.declaration.operators import Operator, Sink, Source
from graph_compiler.declaration.operators.known_columns import Known, KnownColumn, columns_of_schema
from graph_compiler.lake_metadata.column_types import UnreadDdlError, parse_columns, type_ddl
from graph_compiler.lake_metadata.table_checks import table_problems, why_not_compared
from graph_compiler.lake_metadata.table_state import NoTable, NotLookedAt, TableAnswer, TableState

COLUMNS = "id BIGINT NOT NULL, day STRING, pos STRUCT<lat: DOUBLE>"
TABLE = TableState(id="u", commit=7, columns=COLUMNS, read=COLUMNS, partitions=("day", "bucket(16, id)"))
NAME = "lake.shop.sold"
APPEND = SinkMode.APPEND


def problems(operator: Operator, answer: TableAnswer = TABLE, given: Known = None) -> list[str]:
    return [str(each) for each in table_problems(operator, answer, given)]


def source(schema: str | None = None, policy: str | None = None) -> Source:
    return Source(Iceberg(NAME, schema=schema, on_schema_change=policy))


def kinds(found: list[str]) -> list[str]:
    return [line.partition(":")[0] for line in found]


def test_a_source_that_declares_the_columns_of_its_table_is_right() -> None:
    assert problems(source("ID bigint not null, pos struct<LAT:double>, day string")) == []
    assert problems(source()) == []
    assert problems(source("not a schema <<<")) == []
    assert why_not_compared(source("not a schema <<<"), TABLE, None) == "only Spark can read the form of its schema="
    unknown = replace(TABLE, read=None)
    assert problems(source("other INT"), unknown) == []
    assert why_not_compared(source("other INT"), unknown, None) == "it is not known here which version it reads"


@pytest.mark.parametrize(
    ("schema", "refused", "evolving", "ignoring"),
    [
        ("id BIGINT, day STRING", ["column 'pos' was added"], [], []),
        ("id INT, day STRING, pos STRUCT<lat: DOUBLE>", ["column 'id' was widened"], [], []),
        (f"{COLUMNS}, x INT", ["column 'x' is gone"], ["column 'x' is gone"], []),
        (f"{COLUMNS}, x INT NOT NULL", *[["column 'x' is gone"]] * 3),
        ("id DATE, day STRING, pos STRUCT<lat: DOUBLE>", *[["column 'id' has another type"]] * 2, []),
        ("id BIGINT, day STRING NOT NULL, pos STRUCT<lat: DOUBLE>", ["column 'day' may be NULL now"], [], []),
        ("id BIGINT, day STRING, pos STRUCT<lat: FLOAT, x: INT>", ["column 'pos.lat' was widened", "column 'pos.x' is gone"], ["column 'pos.x' is gone"], []),  # noqa: E501
    ],
)  # fmt: skip
def test_columns_of_a_source(schema: str, refused: list[str], evolving: list[str], ignoring: list[str]) -> None:
    for policy, expected in ((None, refused), ("evolve", evolving), ("ignore", ignoring)):
        assert kinds(problems(source(schema, policy))) == expected


def test_a_problem_with_columns_says_what_is_allowed() -> None:
    assert problems(source("id INT, day STRING, pos STRUCT<lat: DOUBLE>")) == [
        "column 'id' was widened: found BIGINT; expected INT "
        "(Iceberg table lake.shop.sold, compared with its schema=)\n"
        f"  allowed: {COLUMNS} (on_schema_change='fail')\n"
        "  hint: on_schema_change='evolve' accepts this change"
    ]


def test_a_source_needs_its_table_and_its_version() -> None:
    assert problems(source(), NoTable()) == [
        "Iceberg table lake.shop.sold does not exist\n"
        "  hint: a sink with Iceberg creates it, with create_if_missing=True"
    ]
    assert problems(Source(Delta("/t")), NoTable()) == ["/t does not exist\n  hint: a sink with Delta creates it"]
    missing = replace(TABLE, read=None, missing_version="first", versions=("main", "second"))
    assert problems(source("x INT"), missing) == [
        "Iceberg table lake.shop.sold has no version first\n"
        "  allowed: main and second, or the id of a snapshot that it still has"
    ]
    assert why_not_compared(source("x INT"), missing, None) is None
    missing = replace(TABLE, missing_version="9", versions=("0", "7"))
    assert problems(Source(Delta("/t", version=9)), missing) == ["/t has no version 9\n  allowed: 0 to 7"]


def test_a_source_of_changes_needs_a_table_that_records_them() -> None:
    old = replace(TABLE, numbers_commits=False, records_changes=False)
    assert problems(Source(Iceberg(NAME)), old) == []
    (problem,) = problems(Source(Iceberg(NAME, changes=True)), old)
    assert "has format-version 1, which does not number its commits" in problem
    assert problems(Source(Delta("/t", changes=True)), old) == []
    for behind in (Source(Delta("/t", changes=True, since=3)), Source(Delta("/t", changes=True), only_new=True)):
        (problem,) = problems(behind, old)
        assert problem.startswith("/t does not record its changes\n  hint: ALTER TABLE delta.`/t` SET TBLPROPERTIES")
        assert problems(behind, TABLE) == []
    with_kind = Source(Iceberg(NAME, changes=True, schema=f"{COLUMNS}, _change_type STRING, _commit_version BIGINT"))
    assert problems(with_kind) == []
    assert kinds(problems(Source(Iceberg(NAME, changes=True, schema=COLUMNS)))) == [
        "column '_change_type' was added",
        "column '_commit_version' was added",
    ]


def test_a_sink_needs_its_table_unless_it_creates_it() -> None:
    assert problems(Sink(Iceberg(NAME), mode=APPEND), NoTable()) == [
        "its target Iceberg table lake.shop.sold does not exist\n"
        "  hint: create it, or declare create_if_missing=True and schema="
    ]
    assert problems(Sink(Iceberg(NAME, create_if_missing=True, schema="id INT")), NoTable()) == []
    assert problems(Sink(Delta("/t")), NoTable()) == []
    assert problems(Sink(Delta("/t")), NotLookedAt("why")) == problems(Source(Delta("/t")), NotLookedAt("why")) == []


def test_a_sink_needs_the_partitions_of_its_table() -> None:
    assert problems(Sink(Iceberg(NAME, partitioned_by=("DAY", "bucket(16,id)")), mode=APPEND)) == []
    (problem,) = problems(Sink(Iceberg(NAME, partitioned_by=("day",)), mode=APPEND))
    assert problem.startswith(
        "Iceberg table lake.shop.sold is partitioned by day and bucket(16, id), and partitioned_by is day\n"
    )
    plain = replace(TABLE, partitions=())
    (problem,) = problems(Sink(Delta("/t"), mode=SinkMode.OVERWRITE_PARTITIONS), plain)
    assert problem.startswith("/t has no partitions, so 'overwrite-partitions' would replace all of it\n")
    assert problems(Sink(Delta("/t"), mode=SinkMode.OVERWRITE_PARTITIONS)) == []


def test_columns_that_delta_computes_are_refused() -> None:
    assert problems(Sink(Delta("/t")), replace(TABLE, computed=("day",))) == [
        "/t computes day itself: rows of a sink have all columns\n"
        "  allowed: tables without generated and identity columns"
    ]


@pytest.mark.parametrize(
    ("schema", "refused", "evolving"),
    [
        ("id BIGINT, day STRING, pos STRUCT<lat: DOUBLE>", [], []),
        (f"{COLUMNS}, x INT", ["column 'x' was added"], []),
        ("id INT, day STRING, pos STRUCT<lat: DOUBLE>", ["column 'id' was narrowed"], []),
        ("id BIGINT, day STRING", *[["column 'pos' is gone"]] * 2),
        ("id DECIMAL(38,2), day STRING, pos STRUCT<lat: DOUBLE>", *[["column 'id' was widened"]] * 2),
    ],
)
def test_columns_of_a_sink(schema: str, refused: list[str], evolving: list[str]) -> None:
    """Those that it declares, or that the declaration shows of its rows; NOT NULL is the table's own concern."""
    for policy, expected in ((None, refused), ("evolve", evolving), ("ignore", [])):
        declaring = Sink(Iceberg(NAME, schema=schema, on_schema_change=policy), mode=APPEND)
        assert kinds(problems(declaring)) == expected
        silent = Sink(Iceberg(NAME, on_schema_change=policy), mode=APPEND)
        assert kinds(problems(silent, given=columns_of_schema(schema))) == expected


def test_types_that_are_not_known_are_not_compared() -> None:
    given = (KnownColumn("id"), KnownColumn("day", "STRING"), KnownColumn("pos", "STRUCT<"))
    silent = Sink(Iceberg(NAME), mode=APPEND)
    assert problems(silent, given=given) == []
    assert kinds(problems(silent, given=given[:2])) == ["column 'pos' is gone"]
    assert why_not_compared(silent, TABLE, given) is None
    assert why_not_compared(silent, TABLE, None) == "without schema=, only Spark knows the columns of its rows"
    assert problems(silent) == []


def test_a_merge_has_columns_of_its_own() -> None:
    versions = replace(TABLE, columns="id BIGINT, at TIMESTAMP, __START_AT TIMESTAMP, __END_AT TIMESTAMP")
    merge = Merge(sequence_by="at", apply_as_deletes="gone", scd_type=2)
    sink = Sink(Iceberg(NAME), mode=SinkMode.MERGE, keys=("id",), merge=merge)
    assert problems(sink, versions, columns_of_schema("id BIGINT, at TIMESTAMP, gone BOOLEAN")) == []
    assert kinds(problems(sink, versions, columns_of_schema("id BIGINT, at TIMESTAMP, x INT"))) == [
        "column 'x' was added"
    ]


@pytest.mark.parametrize(
    "text", ["", "id", "id INT,", "1 INT", "id STRUCT<a INT", "id LIST<INT>", "id 3", "id DECIMAL(3", "id INT x",
             "id INT NOT", "id INT GENERATED ALWAYS AS (1)", "id MAP<INT>"]
)  # fmt: skip
def test_what_is_no_ddl_here_is_left_to_spark(text: str) -> None:
    with pytest.raises(UnreadDdlError):
        parse_columns(text)


def test_types_are_written_as_they_are_read() -> None:
    text = "STRUCT<a: ARRAY<MAP<STRING, INT>> NOT NULL, `b c`: DECIMAL(9,2), d: STRUCT<>>"
    (column,) = parse_columns(f"it {text}").fields
    assert (type_ddl(column.type), type_ddl(None)) == (text, "a type that is not known")
