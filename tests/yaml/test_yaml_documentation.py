"""The page about YAML: its example is a valid pipeline, and everything it names exists."""

import re
from pathlib import Path

import pytest

from graph_compiler.compiler.pipeline_compiler import compile_pipeline
from graph_compiler.projects.yaml.reader import parse_pipeline
from graph_compiler.projects.yaml.tree import MAX_CHARACTERS, MAX_DEPTH, MAX_NODES
from graph_compiler.projects.yaml.vocabulary import CONNECTORS, STEP_FORMS, STREAMS

DOCS = Path(__file__).parents[2] / "docs"
PAGE = (DOCS / "yaml.md").read_text()


def test_the_documented_example_compiles() -> None:
    text = PAGE.partition("```yaml\n")[2].partition("```")[0]
    compiled = compile_pipeline(parse_pipeline(text, "sales.yaml"))
    assert {operator.name for operator in compiled.pipeline.operators} == {
        *("orders", "customers", "paid", "by_customer", "with_names", "report", "small_orders")
    }


def test_every_connector_is_named() -> None:
    (words,) = (words for words in PAGE.split("\n\n") if words.startswith("Connectors are "))
    assert set(re.findall(r"`(\w+)`", words)) == set(CONNECTORS)


def test_every_call_is_on_the_page_of_operators() -> None:
    page = (DOCS / "operators.md").read_text()
    assert {key for key in STEP_FORMS if f"{key}(" not in page and f"{key}_(" not in page} <= {
        *("sink_to", "from_source", "from_target")
    }


@pytest.mark.parametrize("page", ["yaml.md", "guide.md"])
def test_underscores_that_only_python_needs_are_documented_with_the_names(page: str) -> None:
    text = " ".join((DOCS / page).read_text().split())
    assert "under the same names" in text
    names = {name for kind in STREAMS for name in dir(kind) if re.fullmatch(r"[a-z]\w*_", name)}
    assert names
    assert {name for name in names if f"`{name}` is `{name[:-1]}`" not in text} == set()
    assert {name[:-1] for name in names} <= set(STEP_FORMS)


def test_the_documented_limits_are_the_readers() -> None:
    (line,) = (line for line in PAGE.splitlines() if line.startswith("A file may have"))
    numbers = [int(number.replace(",", "")) for number in re.findall(r"[\d,]*\d", line)]
    assert numbers == [MAX_CHARACTERS, MAX_DEPTH, MAX_NODES]
