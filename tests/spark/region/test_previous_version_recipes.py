"""The recipes of docs/previous.md, as they are written there, over three days with a clear in between."""

import re
from datetime import date
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from graph_compiler.declaration.pipeline import Pipeline
from tests.harness.runs_of_a_day import RunsOfADay

pytestmark = [pytest.mark.spark, pytest.mark.ci]
PAGE = Path(__file__).parents[3] / "docs" / "previous.md"
DAYS = ("2024-03-01", "2024-03-02", "2024-03-03")


def recipe(title: str) -> Pipeline:
    """Return the pipeline that is declared below a heading."""
    section = PAGE.read_text().partition(f"## {title}\n")[2].partition("\n## ")[0]
    (code,) = re.findall(r"```python\n(.*?)```", section, re.DOTALL)
    names: dict[str, object] = {}
    exec(compile(code, str(PAGE), "exec"), names)
    pipeline: Pipeline = names["env"].pipeline()  # type: ignore[attr-defined]  # an environment
    return pipeline


def write(folder: Path, header: str, *lines: str) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "part.csv").write_text("\n".join([header, *lines]) + "\n")


def test_a_running_total_over_three_days(spark: SparkSession, tmp_path: Path) -> None:
    pipeline = recipe("A running total")
    runs = RunsOfADay(spark=spark, folder=tmp_path, params={"folder": str(tmp_path)})
    paid = {DAYS[0]: [("a", 100), ("b", 50)], DAYS[1]: [("a", 1)], DAYS[2]: [("c", 7), ("a", 10), ("a", 2)]}
    expected: dict[str, int] = {}
    for day, payments in paid.items():
        write(
            tmp_path / "payments" / day, "account,amount", *(f"{account},{amount}.00" for account, amount in payments)
        )
        for _ in range(2 if day == DAYS[1] else 1):  # the second time, the run is cleared
            assert not runs.run(pipeline, f"scheduled {day}", f"{day}T00:00:00+00:00")
        for account, amount in payments:
            expected[account] = expected.get(account, 0) + amount
        assert {row.account: row.total for row in spark.read.parquet(f"{tmp_path}/totals").collect()} == expected


def test_a_slowly_changing_dimension_over_three_days(spark: SparkSession, tmp_path: Path) -> None:
    pipeline = recipe("A slowly changing dimension")
    runs = RunsOfADay(spark=spark, folder=tmp_path, params={"folder": str(tmp_path)})
    lists: dict[str, dict[int, str]] = {
        DAYS[0]: {1: "Bern", 2: "Basel", 3: ""},
        DAYS[1]: {1: "Chur", 2: "Basel", 3: ""},
        DAYS[2]: {1: "Bern", 3: "Biel", 4: "Thun"},
    }
    current: dict[int, tuple[str | None, date]] = {}
    expected: list[tuple[int, str | None, date, date | None]] = []
    for day, listed in lists.items():
        write(tmp_path / "customers" / day, "id,city", *(f"{id},{city}" for id, city in listed.items()))
        for _ in range(2 if day == DAYS[1] else 1):
            assert not runs.run(pipeline, f"scheduled {day}", f"{day}T00:00:00+00:00")
        today, cities = date.fromisoformat(day), {id: city or None for id, city in listed.items()}
        for id, (city, since) in list(current.items()):
            if id not in cities or cities[id] != city:
                expected.append((id, city, since, today))
                del current[id]
        current |= {id: (city, today) for id, city in cities.items() if id not in current}
        found = [tuple(row) for row in spark.read.parquet(f"{tmp_path}/history").collect()]
        open_rows = [(id, city, since, None) for id, (city, since) in current.items()]
        assert sorted(found, key=repr) == sorted([*expected, *open_rows], key=repr)
