"""Every refusal of a connector or a sink, with its message: at parse time, before anything runs."""

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graph_compiler import (
    Csv,
    Files,
    InvalidPipelineError,
    Jdbc,
    Json,
    Parquet,
    Range,
    Secret,
    StreamExecutionEnvironment,
    Table,
    Values,
)
from graph_compiler.compiler.checks.connector_checks import connectors_of
from graph_compiler.compiler.checks.sink_checks import targets_that_meet
from graph_compiler.declaration.transformations import SinkTransformation, SourceTransformation

URL = "jdbc:postgresql://db/sales"
BOUNDS: dict[str, Any] = {"partition_column": "id", "lower_bound": 0, "upper_bound": 9}


def refusal(env: StreamExecutionEnvironment) -> list[str]:
    with pytest.raises(InvalidPipelineError) as raised:
        env.get_stream_graph()
    lines = str(raised.value).splitlines()[1:]
    return [line.strip() for line in lines if "declared at" not in line]


SOURCES: dict[str, tuple[Callable[[], Any], list[str]]] = {
    "no connector": (
        lambda: "/in.csv",
        ["in: '/in.csv' is not a connector", "allowed: Parquet(path), Csv(path), Jdbc(url, table=…), …"],
    ),
    "empty schema": (
        lambda: Parquet("/in", schema=" "),
        ["in: its schema is empty", "allowed: Spark DDL: carrier STRING NOT NULL, delay INT"],
    ),
    "template in a schema": (
        lambda: Parquet("/in", schema="{{ params.x }} INT"),
        [
            "in: its schema '{{ params.x }} INT' contains a template",
            "allowed: Spark DDL: carrier STRING NOT NULL, delay INT",
        ],
    ),
    "unknown policy": (
        lambda: Parquet("/in", schema="a INT", on_schema_change="evolv"),
        ["in: on_schema_change is 'evolv'", "allowed: fail, evolve and ignore", "hint: did you mean 'evolve'?"],
    ),
    "a policy for nothing": (
        lambda: Parquet("/in", on_schema_change="fail"),
        ["in: on_schema_change is 'fail', but no schema is declared", "hint: declare schema=, or leave it out"],
    ),
    "files that tell no columns": (
        lambda: Json("/in", schema="a INT", on_schema_change="evolve"),
        ["in: on_schema_change is 'evolve', but json files do not store their columns", "allowed: fail, ignore"],
    ),
    "empty path": (lambda: Csv(""), ["in: its path is empty", "allowed: a path or a URI"]),
    "neither table nor query": (lambda: Jdbc(URL), ["in: it has neither table nor query", "allowed: table= or query="]),
    "table and query": (
        lambda: Jdbc(URL, table="t", query="SELECT 1"),
        ["in: it has table and query", "allowed: table= or query="],
    ),
    "template in a query": (
        lambda: Jdbc(URL, query="SELECT * FROM t WHERE d = '{{ ds }}'"),
        [
            "in: its query contains a template ({{ …)",
            "allowed: templates in paths and connector options; parameters in expressions",
            "hint: filter after the source with a bound parameter: Spark pushes the filter down to the database",
        ],
    ),
    "bounds without column": (
        lambda: Jdbc(URL, table="t", lower_bound=0, upper_bound=9, num_partitions=2),
        [
            "in: lower_bound needs partition_column",
            "allowed: partition_column, lower_bound and upper_bound together (and num_partitions), or none of them",
        ],
    ),
    "a number of partitions alone": (
        lambda: Jdbc(URL, table="t", num_partitions=2),
        [
            "in: num_partitions needs partition_column, lower_bound and upper_bound",
            "allowed: partition_column, lower_bound and upper_bound together (and num_partitions), or none of them",
        ],
    ),
    "no partitions": (
        lambda: Jdbc(URL, table="t", **BOUNDS, num_partitions=0),
        ["in: num_partitions is 0", "allowed: a whole number from 1"],
    ),
    "bounds of two kinds": (
        lambda: Jdbc(URL, table="t", **BOUNDS | {"upper_bound": "2013-01-01"}, num_partitions=2),
        [
            "in: its bounds are wrong: lower 0, upper '2013-01-01'",
            "allowed: two whole numbers, two dates or two timestamps (2013-01-31), the lower first, "
            "or templates of them",
        ],
    ),
    "bounds that are none": (
        lambda: Jdbc(URL, table="t", **BOUNDS | {"upper_bound": "soon"}, num_partitions=2),
        [
            "in: its bounds are wrong: Invalid isoformat string: 'soon'",
            "allowed: two whole numbers, two dates or two timestamps (2013-01-31), the lower first, "
            "or templates of them",
        ],
    ),
    "a password in clear": (
        lambda: Jdbc(URL, table="t", password="hunter2"),
        [
            "in: its password is in the declaration in plain text",
            "allowed: Secret('connection id', 'password')",
            "hint: anyone who can see the code, the task or its logs could read it; keep it in an Airflow connection",
        ],
    ),
    "a password in a url": (
        lambda: Jdbc(f"{URL}?password=hunter2", table="t"),
        [
            "in: its url holds a password",
            "allowed: Secret('connection id', 'password')",
            "hint: anyone who can see the code, the task or its logs could read it; keep it in an Airflow connection",
        ],
    ),
    "a token in an option": (
        lambda: Parquet("/in", options={"fs.s3a.access.key": "AKIA"}),
        [
            "in: option 'fs.s3a.access.key' holds a secret in plain text",
            "allowed: Secret('connection id', 'password')",
            "hint: anyone who can see the code, the task or its logs could read it",
        ],
    ),
    "a rendered secret": (
        lambda: Jdbc(URL, table="t", password=Secret("{{ params.conn }}")),
        [
            "in: its password is Secret(conn_id='{{ params.conn }}', field='password'): a secret is never rendered",
            "allowed: a literal connection id",
        ],
    ),
    "a secret of nothing": (
        lambda: Jdbc(URL, table="t", password=Secret("", "password")),
        ["in: its password is Secret(conn_id='', field='password')", "allowed: Secret('conn', 'password')"],
    ),
    "values without schema": (
        lambda: Values([(1,), (1, 2)], None),
        [
            "in: its rows have no schema",
            "allowed: Spark DDL: k STRING, v INT",
            "in: its rows have different lengths: 1 and 2 cells",
            "allowed: rows of equal length",
        ],
    ),
    "values of another kind": (
        lambda: Values([(b"x",)], "k BINARY"),
        ["in: it holds b'x', a bytes", "allowed: None, bool, int, float, str, date, datetime, Decimal, lists of these"],
    ),
    "a range that never ends": (lambda: Range(0, 9, 0), ["in: its step is 0", "allowed: any other whole number"]),
    "a misspelt parameter in an option": (
        lambda: Parquet("/in", options={"basePath": "{{ params.inptu }}"}),
        ["in: parameter 'inptu' is not declared", "allowed: run_date", "hint: declare it in the pipeline's params"],
    ),
}


@pytest.mark.parametrize(("make", "expected"), SOURCES.values(), ids=SOURCES.keys())
def test_invalid_sources_are_refused(
    make: Callable[[], Any], expected: list[str], env: StreamExecutionEnvironment
) -> None:
    env.from_source(make(), "in").sink_to(Parquet("/out")).name("out")
    assert refusal(env) == expected


SINKS: dict[str, tuple[Any, dict[str, Any], list[str]]] = {
    "what can only be read": (
        Values([], "k STRING"),
        {},
        [
            "out: Values can only be read",
            "allowed: Parquet, Orc, Csv, Json, Text, Files, Jdbc with a table, Iceberg, Delta, Table, FunctionSink",
        ],
    ),
    "a query": (
        Jdbc(URL, query="SELECT 1"),
        {},
        [
            "out: a query cannot be written",
            "allowed: Parquet, Orc, Csv, Json, Text, Files, Jdbc with a table, Iceberg, Delta, Table, FunctionSink",
        ],
    ),
    "a table format": (
        Files("/out", format="delta"),
        {},
        [
            "out: a delta table cannot be written as files: delta, hudi and iceberg tables are files and a log. "
            "Iceberg(name) and Delta(path) write tables",
            "allowed: Parquet, Orc, Csv, Json, Text, Files, Jdbc with a table, Iceberg, Delta, Table, FunctionSink",
        ],
    ),
    "half of what tells attempts apart": (
        Table("t", run_column="_run"),
        {"mode": "append"},
        ["out: run_column is '_run', and attempt_column None", "allowed: names of two columns, or neither"],
    ),
    "a mode without folders": (
        Table("t"),
        {"mode": "overwrite-partitions"},
        ["out: Table has no mode 'overwrite-partitions'", "allowed: append, overwrite and error-if-exists"],
    ),
    "merge into files that do not carry their types": (
        Csv("/out"),
        {"mode": "merge", "keys": "id"},
        ["out: Csv has no mode 'merge'", "allowed: append, overwrite, overwrite-partitions and error-if-exists"],
    ),
    "merge without keys": (
        Parquet("/out"),
        {"mode": "merge"},
        ["out: its mode is 'merge', but it has no keys", 'allowed: names of columns: keys=("id",)'],
    ),
    "keys without merge": (
        Jdbc(URL, table="t"),
        {"mode": "append", "keys": "id"},
        ["out: keys is set, but its mode is 'append'", "allowed: keys with mode='merge'"],
    ),
    "keys that are no names": (
        Parquet("/out"),
        {"mode": "merge", "keys": ("id", " ")},
        ["out: keys is ('id', ' ')", 'allowed: names of columns: keys=("id",)'],
    ),
    "a key that is named twice": (
        Parquet("/out"),
        {"mode": "merge", "keys": ("id", "ID")},
        ["out: keys names a column twice: id and ID"],
    ),
    "partitions that nobody named": (
        Parquet("/out"),
        {"mode": "overwrite-partitions"},
        [
            "out: its mode is 'overwrite-partitions', but it has no partitions",
            'hint: name their columns: partition_by=("day",)',
        ],
    ),
    "folders of a database": (
        Jdbc(URL, table="t"),
        {"partition_by": ("day",)},
        ["out: partition_by is set, but Jdbc writes no files", "allowed: file formats"],
    ),
    "folders of no columns": (
        Parquet("/out"),
        {"partition_by": ("day", "")},
        ["out: partition_by is ('day', '')", 'allowed: names of columns: partition_by=("year", "month")'],
    ),
    "one folder twice": (
        Parquet("/out"),
        {"partition_by": ("day", "Day")},
        ["out: partition_by names a column twice: day and Day"],
    ),
    "no files": (Parquet("/out"), {"files": 0}, ["out: files is 0", "allowed: a whole number from 1, or unset"]),
}


@pytest.mark.parametrize(("connector", "settings", "expected"), SINKS.values(), ids=SINKS.keys())
def test_invalid_sinks_are_refused(
    connector: Any, settings: dict[str, Any], expected: list[str], env: StreamExecutionEnvironment
) -> None:
    env.from_source(Range(0, 9), "in").sink_to(connector, **settings).name("out")
    assert refusal(env) == expected


@pytest.mark.parametrize(("mode", "verb"), [("append", "adds to"), ("error-if-exists", "creates")])
def test_a_table_the_pipeline_reads_is_not_written_in_any_mode(
    mode: Any, verb: str, env: StreamExecutionEnvironment
) -> None:
    env.from_source(Jdbc(URL, table="t"), "in").sink_to(Jdbc(URL, table="t"), mode=mode).name("out")
    assert refusal(env)[0] == f"out: it {verb} t in {URL}, and 'in' reads t in {URL}"


def test_connectors_without_a_place_never_overlap(env: StreamExecutionEnvironment) -> None:
    env.from_source(Range(0, 9), "a").sink_to(Jdbc(URL, table="t")).name("x")
    env.from_source(Range(0, 9), "b").sink_to(Jdbc(URL, table="u")).name("y")
    env.get_stream_graph()


FOLDERS = st.lists(st.sampled_from(["a", "b", "a b", ".", "{{ ds }}"]), max_size=3).map(
    lambda names: "/".join(["/r", *names])
)


@given(st.lists(st.tuples(FOLDERS, st.booleans()), min_size=1, max_size=6))
def test_targets_that_meet_are_those_of_which_one_is_in_the_other(places: list[tuple[str, bool]]) -> None:
    env = StreamExecutionEnvironment("p")
    rows = env.from_source(Csv("/elsewhere"), "rows")
    for number, (folder, is_sink) in enumerate(places):
        if is_sink:
            rows.sink_to(Parquet(folder)).name(f"{number}")
        else:
            env.from_source(Csv(folder), f"{number}").filter("x")
    endpoints = [*connectors_of(env.pipeline())]
    expected = [
        (one.name, other.name)
        for number, (one, connector) in enumerate(endpoints)
        if isinstance(one, SinkTransformation)
        for kind, others in ((SinkTransformation, endpoints[:number]), (SourceTransformation, endpoints))
        for other, there in others
        if isinstance(other, kind) and connector.meets(there)
    ]
    found = [
        (p.operator, p.message.rpartition("and '")[2].partition("'")[0]) for p in targets_that_meet(env.pipeline())
    ]
    assert found == expected


def test_many_targets_are_not_compared_one_by_one(
    env: StreamExecutionEnvironment, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []
    key = Parquet.place_key

    def counted(self: Parquet) -> tuple[object, ...] | None:
        asked.append(self.one_path)
        return key(self)

    monkeypatch.setattr(Parquet, "place_key", counted)
    rows = env.from_source(Csv("/in"), "in")
    for number in range(200):
        rows.sink_to(Parquet(f"/out/{number}")).name(f"{number}")
    assert not [*targets_that_meet(env.pipeline())]
    assert len(asked) == 200
