"""CONTRIBUTING.md names existing files and tests, and no recipe takes more than four files."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
TEXT = (ROOT / "CONTRIBUTING.md").read_text()
PACKAGE = ROOT / "plugins" / "graph_compiler"
TESTS = {path.name: path for path in (ROOT / "tests").rglob("test_*.py")}
MOST_FILES = 4
RECIPES = {part.partition("\n")[0]: part for part in TEXT.split("\n## ")[1:]}


def test_every_test_that_a_recipe_names_exists() -> None:
    named = re.findall(r"`(test_\w+\.py)(?:::(test_\w+))?`", TEXT)
    assert named
    assert [one for one in named if one[0] not in TESTS or f"def {one[1]}" not in TESTS[one[0]].read_text()] == []


def test_every_file_that_a_recipe_names_exists() -> None:
    named = re.findall(r"`([\w/]+/(?:\w+\.py)?)(?:: \w+)?`", TEXT)
    folders = (PACKAGE, PACKAGE.parent, ROOT)
    assert named
    assert [path for path in named if not any((folder / path).exists() for folder in folders)] == []


def test_every_recipe_touches_few_files() -> None:
    rows = {recipe: re.findall(r"^\| \d", text, re.MULTILINE) for recipe, text in RECIPES.items()}
    assert {recipe for recipe, steps in rows.items() if len(steps) > MOST_FILES} == set()


def test_every_kind_of_extension_has_a_recipe() -> None:
    kinds = ("An operator", "A connector", "A setting of operators", "A store", "An option")
    assert {*kinds, "A command"} <= RECIPES.keys()
