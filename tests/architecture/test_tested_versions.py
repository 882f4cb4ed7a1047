"""One table says which versions are tested: the package, README and docs/versions.md agree with it."""

import re
import tomllib
from pathlib import Path
from typing import Any

import pytest

from graph_compiler.tested_versions import AIRFLOW, PYTHON, SPARK, Product, Standing, minor_of, next_minor

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


@pytest.mark.parametrize(
    ("version", "standing"),
    [
        ("4.3.0", Standing.TESTED),
        ("4.3.1-amzn-0", Standing.TESTED),
        ("4.3.0.dev1", Standing.TESTED),
        ("4.0.5", Standing.OLDER),
        ("3.5.9", Standing.OLDER),
        ("4.10.0", Standing.NEWER),
        ("5.0.0-preview1", Standing.NEWER),
        ("next", Standing.NEWER),
    ],
)
def test_a_version_is_tested_or_too_old_or_new(version: str, standing: Standing) -> None:
    assert SPARK.standing(version) is standing
    assert (SPARK.why_refused(version) is None) == (standing is not Standing.OLDER)


def test_a_minor_is_read_from_any_form_of_a_version() -> None:
    assert [minor_of(each) for each in ("4.10.2", "4.3", "main")] == ["4.10", "4.3", "main"]
    assert next_minor("4.9") == "4.10"
