"""CONTRIBUTING.md names existing files and tests, and no recipe takes more than four files."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
TEXT = (ROOT / "CONTRIBUTING.md").read_text()
PACKAGE = ROOT / "plugins" / "graph_compiler"
TESTS = {path.name: path for path in (ROOT / "tests").rglob("test_*.py")}
MOST_FILES = 4
RECIPES = {part.partition("\n")[0]: part for part in TEXT.split("\n## ")[1:]}


@pytest.mark.parametrize("name", re.findall(r"`(test_\w+\.py(?:::test_\w+)?)`", TEXT), ids=lambda name: name)
def test_every_test_that_a_recipe_names_exists(name: str) -> None:
    file, _, function = name.partition("::")
    assert file in TESTS
    assert f"def {function}" in TESTS[file].read_text()


@pytest.mark.parametrize("path", re.findall(r"`([\w/]+/(?:\w+\.py)?)(?:: \w+)?`", TEXT))
def test_every_file_that_a_recipe_names_exists(path: str) -> None:
    assert any((folder / path).exists() for folder in (PACKAGE, PACKAGE.parent, ROOT))


@pytest.mark.parametrize("recipe", RECIPES)
def test_every_recipe_touches_few_files(recipe: str) -> None:
    rows = [line for line in RECIPES[recipe].splitlines() if re.match(r"\| \d", line)]
    assert len(rows) <= MOST_FILES


def test_every_kind_of_extension_has_a_recipe() -> None:
    kinds = ("An operator", "A connector", "A setting of operators", "A store", "An option")
    assert {*kinds, "A command"} <= RECIPES.keys()
