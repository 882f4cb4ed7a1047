"""One table says which versions are tested: the package, README and docs/versions.md agree with it."""

import re
import tomllib
from pathlib import Path
from typing import Any

from graph_compiler.tested_versions import AIRFLOW, PYTHON, SPARK, Product, minor_of

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
    (said,) = re.findall(r"tested with (Airflow .*?, Spark .*? and Python .*?) \(", (ROOT / "README.md").read_text())
    assert said == f"Airflow {AIRFLOW.range}, Spark {SPARK.range} and Python {PYTHON.range}"


def test_each_version_has_a_row_in_the_page() -> None:
    rows = re.findall(r"^\| ([\d.]+) \| ([\d.]+) \| ([\d.]+) \|", (ROOT / "docs/versions.md").read_text(), re.MULTILINE)
    for product, column in zip((PYTHON, SPARK, AIRFLOW), zip(*rows, strict=True), strict=True):
        assert {minor_of(found) for found in column} == set(product.minors), product.name
