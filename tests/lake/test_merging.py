"""Changes merged into tables: one row for each key, or one for each version, however they are divided among runs."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pyspark.sql import DataFrame, SparkSession

from graph_compiler import Delta, Iceberg, Merge
from graph_compiler.declaration.operators import Sink
from graph_compiler.errors import PublicationError
from graph_compiler.spark_runtime.connectors.lake import delta
from graph_compiler.spark_runtime.publishing.merging import Merging
from tests.harness.sinks import Sinks
from tests.lake.conftest import Lake
from tests.lake.dying import die, dying

pytestmark = pytest.mark.lake
FORMATS = pytest.mark.parametrize("table", ["iceberg", "delta"], indirect=True)
COLUMNS = "id INT, name STRING, at INT"
Change = tuple[int, str | None, int, bool]
"""Of a key, to a name, at a point; or its removal."""


@dataclass
class Customers:
    """A table that changes are merged into, run by run."""

    spark: SparkSession
    sinks: Sinks
    target: Iceberg | Delta
    rows: Callable[[], list[tuple[Any, ...]]]
    runs: int = 0

    def merge(self, *changes: Change, run: str | None = None, **how: Any) -> None:
        self.runs += 1
        rows = self.spark.createDataFrame(list(changes), f"{COLUMNS}, gone BOOLEAN")
        flag = how.get("apply_as_deletes", "gone")
        rows = rows if flag else rows.drop("gone")
        merge = Merge(**{"sequence_by": "at", "apply_as_deletes": "gone", **how})
        run = run or f"run{self.runs}"
        self.sinks.prepare(self.target, rows, mode="merge", keys=("id",), merge=merge, run=run).publish()


def delta_table(spark: SparkSession, sinks: Sinks, folder: Path) -> Customers:
    path = f"{folder}/customers"
    read = spark.read.format("delta")
    return Customers(
        spark, sinks, Delta(path, schema=COLUMNS), lambda: sorted(map(tuple, read.load(path).collect()), key=repr)
    )


@pytest.fixture
def table(request: pytest.FixtureRequest, spark: SparkSession, lake: Lake, sinks: Sinks, tmp_path: Path) -> Customers:
    if request.param == "delta":
        return delta_table(spark, sinks, tmp_path)
    lake.use()
    target = lake.table("customers", create_if_missing=True, schema=COLUMNS)
    return Customers(spark, sinks, target, lambda: lake.rows("customers"))


@FORMATS
def test_the_last_change_of_each_key_counts_in_whatever_order_they_come(table: Customers) -> None:
    table.merge((1, "a", 1, False), (1, "b", 3, False), (2, "x", 2, False), (3, "z", 1, True))
    assert table.rows() == [(1, "b", 3), (2, "x", 2)]
    table.merge((1, "late", 2, False), (1, None, 2, True), (2, None, 5, True), (4, None, 5, False), (1, "c", 3, False))
    assert table.rows() == [(1, "c", 3), (4, None, 5)]
    table.merge((1, "c", 3, False))
    assert table.rows() == [(1, "c", 3), (4, None, 5)]


@FORMATS
def test_only_new_keys_are_inserted(table: Customers) -> None:
    how: dict[str, Any] = {"insert_only": True, "apply_as_deletes": None}
    table.merge((1, "a", 1, False), (2, "later", 9, False), (2, "first", 3, False), **how)
    table.merge((1, "b", 0, False), (3, "new", 0, False), **how)
    assert table.rows() == [(1, "a", 1), (2, "first", 3), (3, "new", 0)]


@FORMATS
def test_changes_without_an_order_are_merged_by_their_keys(table: Customers) -> None:
    how: dict[str, Any] = {"sequence_by": None}
    table.merge((1, "a", 1, False), (2, "x", 1, False), **how)
    table.merge((1, "b", 0, False), (2, None, 0, True), (3, None, 0, True), **how)
    assert table.rows() == [(1, "b", 0)]
    with pytest.raises(PublicationError, match=r"more than once, or NULL: id=1 \(2 rows\)"):
        table.merge((1, "b", 0, False), (1, "b", 1, True), **how)


@FORMATS
def test_each_version_of_a_key_has_a_row(table: Customers) -> None:
    how: dict[str, Any] = {"scd_type": 2}
    table.merge((1, "a", 1, False), (1, "b", 3, False), (2, "x", 2, False), **how)
    first = [(1, "a", 1, 1, 3), (1, "b", 3, 3, None), (2, "x", 2, 2, None)]
    assert table.rows() == first
    table.merge((1, None, 5, True), (2, "late", 1, False), **how)
    after = [(1, "a", 1, 1, 3), (1, "b", 3, 3, 5), (2, "late", 1, 1, 2), (2, "x", 2, 2, None)]
    assert table.rows() == after
    table.merge((1, None, 5, True), (2, "late", 1, False), run="run2", **how)
    assert table.rows() == after, "the same run again"
    table.merge((1, "back", 7, False), (1, "b2", 3, False), **how)
    assert table.rows() == [(1, "a", 1, 1, 3), (1, "b2", 3, 3, 5), (1, "back", 7, 7, None), *after[2:]]


@pytest.mark.parametrize("table", ["iceberg"], indirect=True)
def test_versions_keep_their_values_when_a_column_has_another_name(table: Customers) -> None:
    table.merge((1, "a", 1, False), scd_type=2)
    assert isinstance(table.target, Iceberg)
    name = table.target.sql_name
    table.spark.sql(f"ALTER TABLE {name} RENAME COLUMN name TO full_name")
    rows = table.spark.sql("SELECT 1 AS id, 'b' AS full_name, 2 AS at")
    how: dict[str, Any] = {"keys": ("id",), "merge": Merge(sequence_by="at", scd_type=2)}
    table.sinks.prepare(
        Iceberg(table.target.name, catalog=table.target.catalog), rows, mode="merge", run="r", **how
    ).publish()
    assert table.rows() == [(1, "a", 1, 1, 2), (1, "b", 2, 2, None)]
    table.spark.sql(f"ALTER TABLE {name} DROP COLUMN full_name")
    table.spark.sql(f"ALTER TABLE {name} ADD COLUMN full_name STRING AFTER id")
    rows = table.spark.sql("SELECT 1 AS id, 'c' AS full_name, 3 AS at")
    table.sinks.prepare(
        Iceberg(table.target.name, catalog=table.target.catalog), rows, mode="merge", run="s", **how
    ).publish()
    assert table.rows() == [(1, "c", 3, 3, None), (1, None, 1, 1, 2), (1, None, 2, 2, 3)]


@FORMATS
def test_only_tracked_columns_make_versions(table: Customers) -> None:
    how: dict[str, Any] = {"scd_type": 2, "track_history_columns": "name"}
    table.merge((1, "a", 1, False), (1, "a", 2, False), (1, "a", 4, False), **how)
    assert table.rows() == [(1, "a", 4, 1, None)]
    table.merge((1, "a", 3, False), (1, "b", 6, False), (1, "b", 7, False), **how)
    table.merge((1, "a", 1, False), (1, "a", 2, False), **how)
    assert table.rows() == [(1, "a", 4, 1, 6), (1, "b", 7, 6, None)]
    for late in ((1, "c", 2, False), (1, None, 3, True)):
        with pytest.raises(Exception, match="lies between changes that made no new version"):
            table.merge(late, **how)
    table.merge((1, "c", 5, False), **how)
    assert table.rows() == [(1, "a", 4, 1, 5), (1, "b", 7, 6, None), (1, "c", 5, 5, 6)]


@FORMATS
def test_versions_of_a_table_that_gets_a_column(table: Customers) -> None:
    table.merge((1, "a", 1, False), scd_type=2)
    more = table.spark.sql("SELECT 1 AS id, 'b' AS name, 3 AS at, 'x' AS more")
    target = replace(table.target, schema=f"{COLUMNS}, more STRING", on_schema_change="evolve")
    merge = Merge(sequence_by="at", scd_type=2)
    table.sinks.prepare(target, more, mode="merge", keys=("id",), merge=merge, run="more").publish()
    found = table.spark.table(table.target.sql_name) if isinstance(table.target, Iceberg) else None
    if found is None:
        found = table.spark.read.format("delta").load(str(table.target.place))
    rows = found.select("name", "__START_AT", "__END_AT", "more").collect()
    assert sorted(map(tuple, rows)) == [("a", 1, 3, None), ("b", 3, None, "x")]


@FORMATS
def test_what_has_no_order_is_refused(table: Customers) -> None:
    for changes in ([(1, "a", 1, False), (1, "b", 1, False)], [(1, "a", None, False)], [(None, "a", 1, False)]):
        with pytest.raises(PublicationError, match="more than once, or NULL"):
            table.merge(*changes)
    with pytest.raises(PublicationError, match="sequence_by is column 'name', a STRING"):
        table.merge((1, "a", 1, False), sequence_by="name")
    with pytest.raises(PublicationError, match="apply_as_deletes is column 'name', a STRING"):
        table.merge((1, "a", 1, False), apply_as_deletes="name")


def test_what_a_dead_driver_has_decided_is_merged_by_the_next_run_as_it_was_declared(
    spark: SparkSession, sinks: Sinks, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = delta_table(spark, sinks, tmp_path)
    how: dict[str, Any] = {"scd_type": 2}
    table.merge((1, "a", 1, False), **how)
    die(monkeypatch, delta, "_write")
    with dying():
        table.merge((1, "b", 3, False), **how)
    table.merge((2, "x", 1, False), **how)
    assert table.rows() == [(1, "a", 1, 1, 3), (1, "b", 3, 3, None), (2, "x", 1, 1, None)]


def test_versions_are_computed_again_if_others_commit_to_delta_meanwhile(
    spark: SparkSession, sinks: Sinks, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = delta_table(spark, sinks, tmp_path)
    table.merge((1, "a", 1, False), scd_type=2)
    statement, others = Merging.statement, [f"UPDATE delta.`{tmp_path}/customers` SET name = 'theirs'"]

    def slow(*arguments: Any, **named: Any) -> str:
        if others:
            spark.sql(others.pop())
        return statement(*arguments, **named)

    monkeypatch.setattr(Merging, "statement", slow)
    table.merge((1, "b", 3, False), scd_type=2)
    assert table.rows() == [(1, "b", 3, 3, None), (1, "theirs", 1, 1, 3)]


Runs = list[list[Change]]
_change = st.builds(
    lambda id, name, at, gone: (id, None if gone else name, at, gone),
    *(st.integers(1, 2), st.sampled_from("abc"), st.integers(0, 6), st.integers(0, 3).map(lambda n: n == 0)),
)
_run = st.lists(_change, max_size=5, unique_by=lambda change: (change[0], change[2], change[3]))


def versions(runs: Sequence[Sequence[Change]], *, tracked: bool) -> list[tuple[Any, ...]]:
    """Return the table that these changes make, in plain Python."""
    events: dict[tuple[int, int], Change] = {}
    for run in runs:
        for change in sorted(run, key=lambda change: not change[3]):  # removals first
            events[change[0], change[2]] = change
    found: list[list[Any]] = []
    for id, name, at, gone in (events[key] for key in sorted(events)):
        last = found[-1] if found and found[-1][0] == id else None
        is_open = last is not None and last[4] is None
        if last is not None and is_open and tracked and not gone and last[1] == name:
            last[2] = at
            continue
        if last is not None and is_open:
            last[4] = at
        if not gone:
            found.append([id, name, at, at, None])
    return sorted(map(tuple, found), key=repr)


def merged(spark: SparkSession, merging: Merging, held: DataFrame, run: Sequence[Change]) -> DataFrame:
    """Return the table after one run, as the statement would leave it."""
    changes = merging.with_ends(spark.createDataFrame(list(run), f"{COLUMNS}, gone BOOLEAN"))
    source = {(row.id, row["__START_AT"]): row for row in merging.rows(changes, held).collect()}
    rows = {(row.id, row["__START_AT"]): tuple(row) for row in held.collect()}
    for key, row in source.items():
        rows.pop(key, None)
        if not row.graph_compiler_removed:
            rows[key] = (row.id, row.name, row.at, row["__START_AT"], row["__END_AT"])
    return spark.createDataFrame(list(rows.values()), held.schema)


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(runs=st.lists(_run, min_size=1, max_size=3))
def test_versions_are_those_of_all_changes_together(spark: SparkSession, runs: Runs) -> None:
    merge = Merge(sequence_by="at", apply_as_deletes="gone", scd_type=2)
    merging = Merging.of(Sink(Delta("/t"), keys=("id",), merge=merge))
    held = spark.createDataFrame([], f"{COLUMNS}, __START_AT INT, __END_AT INT")
    for run in runs:
        held = merged(spark, merging, held, run)
    assert sorted(map(tuple, held.collect()), key=repr) == versions(_told(runs), tracked=False)


def _told(runs: Runs) -> Runs:
    """Return the runs without removals of keys that have no version by then: a table does not remember them."""
    told: Runs = []
    for run in runs:
        told.append([c for c in run if not c[3] or _is_remembered(c, [*told, run])])
    return told


def _is_remembered(removal: Change, runs: Runs) -> bool:
    before = versions([[c for c in run if c != removal] for run in runs], tracked=False)
    return any(
        row[0] == removal[0] and row[3] <= removal[2] and (row[4] is None or row[4] > removal[2]) for row in before
    )


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    changes=st.lists(_change, min_size=1, max_size=9, unique_by=lambda change: (change[0], change[2])),
    cut=st.integers(0, 9),
)
def test_tracked_versions_of_changes_in_order_are_those_of_all_together(
    spark: SparkSession, changes: list[Change], cut: int
) -> None:
    merge = Merge(sequence_by="at", apply_as_deletes="gone", scd_type=2, track_history_columns=("name",))
    merging = Merging.of(Sink(Delta("/t"), keys=("id",), merge=merge))
    held = spark.createDataFrame([], f"{COLUMNS}, __START_AT INT, __END_AT INT")
    ordered = sorted(changes, key=lambda change: change[2])
    for run in (ordered[:cut], ordered[cut:], ordered[cut // 2 :]):  # the last one again
        held = merged(spark, merging, held, run)
    assert sorted(map(tuple, held.collect()), key=repr) == versions([ordered], tracked=True)
