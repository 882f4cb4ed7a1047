"""Sinks write the rows of a sort in its order, across their files in the order of names, whatever is in between."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import count, groupby, pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from pyarrow.parquet import ParquetFile, read_metadata

from graph_compiler import DataStream, Parquet, Range, StreamExecutionEnvironment, Values
from tests.spark.conftest import RunPipeline

pytestmark = [pytest.mark.spark, pytest.mark.ci]

SCHEMA = "a INT, b STRING, c INT, n INT"
NUMBERS = count()


@dataclass(frozen=True)
class Item:
    """One column of an order."""

    column: str
    is_descending: bool
    nulls: str | None

    @property
    def sql(self) -> str:
        nulls = f" NULLS {self.nulls}" if self.nulls else ""
        return f"{self.column}{' DESC' if self.is_descending else ''}{nulls}"

    def place(self, row: dict[str, Any]) -> tuple[bool, Any]:
        """Return what rows are to be sorted by; text is compared by its code points."""
        value = row[self.column]
        first = self.nulls == "FIRST" or (self.nulls is None and not self.is_descending)
        if value is None:
            return (not first, 0)
        number = value if isinstance(value, int) else int.from_bytes(value.ljust(4, "\0").encode())
        return (first, -number if self.is_descending else number)


ITEMS = st.builds(Item, st.sampled_from("abc"), st.booleans(), st.sampled_from([None, "FIRST", "LAST"]))
ORDERS = st.lists(ITEMS, min_size=1, max_size=3, unique_by=lambda item: item.column)
CELLS = st.tuples(st.none() | st.integers(-3, 3), st.none() | st.text("ab ", max_size=4), st.integers(0, 2))
ROWS = st.lists(CELLS, max_size=60)
BETWEEN: dict[str, Callable[[DataStream], DataStream]] = {
    "nothing": lambda rows: rows,
    "row by row": lambda rows: rows.filter("n >= 0").with_columns(m="n + 1").select(*"abcn"),
    "a parallelism": lambda rows: rows.filter("n >= 0").set_parallelism(3),
    "a contract": lambda rows: rows.expect("known", "n >= 0"),
    "staged": lambda rows: rows.stage("a test"),
    "staged and row by row": lambda rows: rows.stage("a test").filter("n >= 0"),
    "staged twice": lambda rows: rows.stage("a test").filter("n >= 0").stage("a test"),
    "staged in the task": lambda rows: rows.stage("a test", same_task=True),
    "cached": lambda rows: rows.cache(),
}


def written(folder: Path) -> Iterator[tuple[str, list[list[dict[str, Any]]]]]:
    """Yield each folder's files in the order of their names, as rows."""
    paths = sorted(path for path in folder.rglob("*.parquet") if not path.name.startswith((".", "_")))
    for place, files in groupby(paths, key=lambda path: path.parent):
        name = place.relative_to(folder).as_posix()
        yield (name, [ParquetFile(file).read().to_pylist() for file in files])


@pytest.mark.parametrize("between", BETWEEN.values(), ids=BETWEEN)
@settings(
    max_examples=2,
    deadline=None,
    suppress_health_check=list(HealthCheck),
    phases=(Phase.generate,),  # a run takes seconds: nothing is made smaller
)
@given(data=st.data())
def test_files_follow_each_other_in_the_order(
    between: Callable[[DataStream], DataStream], data: st.DataObject, run_pipeline: RunPipeline, tmp_path: Path
) -> None:
    order, cells = data.draw(ORDERS), data.draw(ROWS)
    parallelism = data.draw(st.sampled_from([None, 5]))
    given_rows = [(*row, number) for number, row in enumerate(cells)]
    out = tmp_path / f"out-{next(NUMBERS)}"
    env = StreamExecutionEnvironment(f"sorted_{out.name}")
    rows = env.from_source(Values(given_rows, SCHEMA), "rows").rebalance().filter("n >= 0")
    ordered = rows.sort(*(item.sql for item in order)).name("ordered")
    if parallelism is not None:
        ordered.set_parallelism(parallelism)
    between_ = between(ordered)
    for files in (None, 1, 3):
        between_.sink_to(Parquet(f"{out}/{files}"), files=files).name(f"k{files}")
    between_.sink_to(Parquet(f"{out}/parallel")).set_parallelism(4).name("parallel")
    between_.sink_to(Parquet(f"{out}/folders"), files=3, partition_by="c").name("folders")
    reports = run_pipeline(env.pipeline())
    assert [report.failure for report in reports if report.failure] == []
    for sink in ("None", "1", "3", "parallel", "folders"):
        numbers = []
        for folder, files_found in written(out / sink):
            found = [row for file in files_found for row in file]
            if folder != ".":
                found = [{**row, "c": int(folder.removeprefix("c="))} for row in found]
            places = [tuple(item.place(row) for item in order) for row in found]
            assert places == sorted(places), (sink, [item.sql for item in order], files_found)
            assert len(files_found) <= {"None": 1000, "parallel": 4}.get(sink, 3)
            numbers += [row["n"] for row in found]
        assert sorted(numbers) == list(range(len(cells)))
        assert sink != "1" or len(files_found) == 1


def test_many_rows_are_in_as_many_files_as_asked(run_pipeline: RunPipeline, tmp_path: Path) -> None:
    env = StreamExecutionEnvironment("many", params={"least": 3})
    cells = [(number * 7919 % 2000, str(number), number % 3, number) for number in range(2000)]
    rows = env.from_source(Values(cells, SCHEMA), "rows").rebalance().filter("n >= 0")
    ordered = rows.sort("(a - :least) * -1 -- largest first", "n").name("ordered")
    checked = ordered.expect("known", "n >= 0")
    checked.sink_to(Parquet(f"{tmp_path}/out"), files=3)
    (report,) = run_pipeline(env.pipeline())
    assert report.failure is None
    ((_, files),) = written(tmp_path / "out")
    assert len(files) == 3
    assert all(400 < len(file) < 1000 for file in files)
    assert [row["a"] for file in files for row in file] == sorted(range(2000), reverse=True)
    assert [(each.contract, each.rows) for each in report.contracts] == [("known", 2000)]


def test_rows_that_are_in_order_in_memory_are_not_sorted_again(
    run_pipeline: RunPipeline, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from graph_compiler.spark_runtime.exchange import distribution

    monkeypatch.setattr(distribution, "query_over", None)
    env = StreamExecutionEnvironment("once")
    rows = env.from_source(Values([(1, "a", 1, 1)], SCHEMA), "rows").sort("a")
    for name, between in BETWEEN.items():
        if name in ("nothing", "row by row", "a contract", "cached"):
            between(rows).sink_to(Parquet(f"{tmp_path}/{name}")).name(name.replace(" ", "_"))
    (report,) = run_pipeline(env.pipeline())
    assert report.failure is None


def ranges(folder: Path, column: str) -> list[tuple[Any, Any]]:
    """Return the least and the greatest value of a column in each file, by its statistics, in order."""
    found = []
    for file in folder.rglob("*.parquet"):
        metadata = read_metadata(file)
        number = metadata.schema.names.index(column)
        groups = [metadata.row_group(group).column(number).statistics for group in range(metadata.num_row_groups)]
        known = [each for each in groups if each is not None and each.has_min_max]
        found.append((min(each.min for each in known), max(each.max for each in known)))
    return sorted(found)


def are_apart(found: list[tuple[Any, Any]]) -> bool:
    return all(one[1] < other[0] for one, other in pairwise(found))


def test_each_file_has_values_of_its_own_which_statistics_show(run_pipeline: RunPipeline, tmp_path: Path) -> None:
    env = StreamExecutionEnvironment("p")
    rows = env.from_source(Range(0, 4_000), "ids").select(customer="(id * 7919) % 4001", v="id")
    rows.sort("customer").sink_to(Parquet(f"{tmp_path}/out"), files=4).name("out")
    (report,) = run_pipeline(env.pipeline())
    assert report.failure is None
    found = ranges(tmp_path / "out", "customer")
    assert len(found) == 4
    assert are_apart(found)


def test_files_are_clustered_by_two_columns_whatever_the_values(run_pipeline: RunPipeline, tmp_path: Path) -> None:
    env = StreamExecutionEnvironment("p")
    # Half of the rows are of one day, and every tenth customer is NULL.
    day = "CASE WHEN id % 2 = 0 THEN 5 ELSE id % 10 END"
    customer = "CASE WHEN id % 10 = 3 THEN NULL ELSE (id * 7919) % 4001 END"
    rows = env.from_source(Range(0, 4_000), "ids").select(day=day, customer=customer, folder="id % 2", v="id")
    ordered = rows.sort("day", "customer")
    ordered.sink_to(Parquet(f"{tmp_path}/out"), files=8).name("out")
    ordered.sink_to(Parquet(f"{tmp_path}/more"), files=4, mode="append").name("more")
    rows.sort("customer").sink_to(Parquet(f"{tmp_path}/by_folder"), files=4, partition_by="folder").name("by_folder")
    (report,) = run_pipeline(env.pipeline())
    assert report.failure is None, report.failure
    days = ranges(tmp_path / "out", "day")
    assert len(days) == 8
    assert all(one[1] <= other[0] for one, other in pairwise(days))  # a day may continue in the next file
    of_one_day = [file for file in ParquetFiles.below(tmp_path / "out") if file.days == {5}]
    assert len(of_one_day) > 1
    assert are_apart(sorted(file.customers for file in of_one_day))
    for folder in ("folder=0", "folder=1"):
        assert are_apart(ranges(tmp_path / "by_folder" / folder, "customer"))


@dataclass(frozen=True)
class ParquetFiles:
    """A file: its days, and its least and greatest customer."""

    days: set[int]
    customers: tuple[int, int]

    @classmethod
    def below(cls, folder: Path) -> "Iterator[ParquetFiles]":
        for file in folder.glob("*.parquet"):
            rows = ParquetFile(file).read().to_pylist()
            known = [row["customer"] for row in rows if row["customer"] is not None]
            yield cls({row["day"] for row in rows}, (min(known, default=-1), max(known, default=-1)))


def test_statistics_do_not_follow_a_collation(run_pipeline: RunPipeline, tmp_path: Path) -> None:
    env = StreamExecutionEnvironment("p")
    rows = env.from_source(Values([("a", 1), ("B", 2), ("c", 3), ("D", 4)], "k STRING, v INT"), "rows")
    rows.select(k="k COLLATE UTF8_LCASE", v="v").sort("k").sink_to(Parquet(f"{tmp_path}/out"), files=2).name("out")
    (report,) = run_pipeline(env.pipeline())
    assert report.failure is None, report.failure
    assert not are_apart(ranges(tmp_path / "out", "k"))
    assert are_apart(ranges(tmp_path / "out", "v"))
