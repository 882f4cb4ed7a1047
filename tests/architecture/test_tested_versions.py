"""One table says which versions are tested: the package, README and docs/versions.md agree with it."""

import itertools
import re
import tomllib
from pathlib import Path
from typing import Any

from graph_compiler.tested_versions import AIRFLOW, PYTHON, SPARK, TOGETHER, Product, Row
from tests.matrix import instead, other_pairs, slice_of

ROOT = Path(__file__).parents[2]


def project() -> dict[str, Any]:
    with (ROOT / "pyproject.toml").open("rb") as file:
        return tomllib.load(file)


def lowest(product: Product) -> str:
    """Return the requirement of pyproject.toml: from the oldest minor, without an end."""
    return f"{product.package}>={product.minors[0]}"


def test_pip_refuses_what_is_too_old_and_nothing_newer() -> None:
    found = project()["project"]
    extras = found["optional-dependencies"]
    assert lowest(AIRFLOW) in extras["airflow"]
    assert lowest(SPARK) in extras["spark"]
    assert lowest(SPARK) in project()["dependency-groups"]["executor"]
    assert found["requires-python"] == f">={PYTHON.minors[0]}"


def test_the_index_page_lists_the_versions_of_python() -> None:
    minors = [each.rpartition(" ")[2] for each in project()["project"]["classifiers"] if ":: Python :: 3." in each]
    assert tuple(minors) == PYTHON.minors


def test_the_readme_names_the_versions() -> None:
    words = " ".join((ROOT / "README.md").read_text().split())
    (said,) = re.findall(r"tested with (Airflow .*?, Spark .*? and Python .*?) \(", words)
    assert said == f"Airflow {AIRFLOW.range}, Spark {SPARK.range} and Python {PYTHON.range}"


def test_the_page_has_the_rows_that_were_tested_together() -> None:
    rows = re.findall(r"^\| ([\d.]+) \| ([\d.]+) \| ([\d.]+) \|", (ROOT / "docs/versions.md").read_text(), re.MULTILINE)
    assert tuple(Row.of(*row) for row in rows) == TOGETHER


def test_the_other_pairs_are_those_that_no_row_has() -> None:
    together = {(row.python, row.spark) for row in TOGETHER}
    others = {(row.python, row.spark) for row in other_pairs()}
    assert together.isdisjoint(others)
    assert together | others == set(itertools.product(PYTHON.minors, SPARK.minors))


def test_the_page_has_the_other_pairs() -> None:
    page = (ROOT / "docs/versions.md").read_text()
    rows = re.findall(r"^\| ([\d.]+) \| ([\d.]+) \| [\d-]+ \|$", page, re.MULTILINE)
    assert {Row.of(python, spark, AIRFLOW.minors[-1]) for python, spark in rows} == set(other_pairs())


def test_each_minor_is_in_a_row_and_each_airflow_with_the_oldest_and_the_newest_spark() -> None:
    columns = zip(*((row.python, row.spark, row.airflow) for row in TOGETHER), strict=True)
    for product, column in zip((PYTHON, SPARK, AIRFLOW), columns, strict=True):
        assert set(column) == set(product.minors), product.name
    pairs = {(row.airflow, row.spark) for row in TOGETHER}
    assert pairs >= {(airflow, spark) for airflow in AIRFLOW.minors for spark in (SPARK.minors[0], SPARK.minors[-1])}


def test_older_versions_have_locks() -> None:
    for row in TOGETHER:
        for lock in instead(row):
            assert (ROOT / lock).exists(), lock


def test_each_file_has_its_day_in_the_slices() -> None:
    files = [f"tests/spark/test_{number}.py" for number in range(100)]
    days = [slice_of(files, day, 7) for day in range(7)]
    assert sorted(file for day in days for file in day) == sorted(files)
    assert slice_of(files, 7, 7) == days[0]
