"""The recipe of docs/positions.md: new files each day, merged into one target."""

import re
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

import graph_compiler
from graph_compiler import StreamExecutionEnvironment
from graph_compiler.projects.yaml.reader import parse_pipeline
from graph_compiler.spark_runtime.region.coordination import SinkCommitter
from tests.harness.position_runs import Runs, write
from tests.yaml.equality import without_lines

pytestmark = pytest.mark.spark
PAGE = (Path(__file__).parents[3] / "docs" / "positions.md").read_text()


def block(language: str) -> str:
    """Return the page's first block of a language."""
    found = re.search(rf"```{language}\n(.*?)```", PAGE, re.DOTALL)
    assert found is not None
    return found[1]


def declared(folder: Path) -> StreamExecutionEnvironment:
    names: dict[str, Any] = dict(vars(graph_compiler))
    code = block("python").replace("/in/orders", f"{folder}/in").replace("/out/orders", f"{folder}/out")
    exec(code, names)
    env = names["env"]
    assert isinstance(env, StreamExecutionEnvironment)
    return env


def test_the_recipe_in_yaml_is_that_in_python(tmp_path: Path) -> None:
    text = block("yaml").replace("/in/orders", f"{tmp_path}/in").replace("/out/orders", f"{tmp_path}/out")
    in_yaml = without_lines(parse_pipeline(text, "sales.yaml")).transformations
    in_python = without_lines(declared(tmp_path).pipeline()).transformations
    assert [type(one) for one in in_yaml] == [type(one) for one in in_python]
    assert [getattr(one, "operator", None) for one in in_yaml] == [getattr(one, "operator", None) for one in in_python]


def test_five_days_of_files(tmp_path: Path, spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> None:
    runs = Runs(declared(tmp_path), tmp_path, spark)

    def arrives(name: str, *orders: tuple[int, int, float]) -> None:
        rows = ({"id": id, "day": f"2024-05-0{day}", "amount": amount} for id, day, amount in orders)
        write(tmp_path / "in" / f"{name}.json", *rows)

    def target() -> dict[int, float]:
        return {row.id: float(row.amount) for row in spark.read.parquet(f"{tmp_path}/out").collect()}

    arrives("monday", (1, 1, 10), (2, 1, 20))
    assert runs.run("monday") == []
    assert target() == {1: 10, 2: 20}
    arrives("tuesday", (2, 2, 25), (3, 2, 30))
    arrives("monday-late", (4, 1, 40))
    assert runs.run("tuesday") == []
    assert target() == {1: 10, 2: 25, 3: 30, 4: 40}
    arrives("wednesday", (1, 3, 15))
    with monkeypatch.context() as patch:
        patch.setattr(SinkCommitter, "prepare", lambda *_: 1 / 0)
        assert runs.run("wednesday") != []
    arrives("thursday", (5, 4, 50))
    assert runs.run("thursday") == []  # with what Wednesday has not published
    assert target() == {1: 15, 2: 25, 3: 30, 4: 40, 5: 50}
    assert "was given to run 'thursday'" in runs.run("wednesday")[0]
    assert runs.run("friday") == []  # nothing is new
    assert runs.run("thursday") == []  # cleared
    assert target() == {1: 15, 2: 25, 3: 30, 4: 40, 5: 50}
