"""docs/options.md has the table made from the model; `--update-golden` rewrites it."""

import re
from pathlib import Path

import pytest

from graph_compiler.explain.text.option_table import option_table
from graph_compiler.options.flink_options import FLINK_DEFAULTS, why_without_meaning
from graph_compiler.options.reader import FIELDS

PAGE = Path(__file__).parents[2] / "docs" / "options.md"
TABLE = re.compile(r"(<!-- made from the model.*?-->\n)(.*?)(<!-- end -->\n)", re.DOTALL)


def test_the_page_has_the_models_table(request: pytest.FixtureRequest) -> None:
    if request.config.getoption("--update-golden"):
        text = TABLE.sub(lambda found: found[1] + option_table() + found[3], PAGE.read_text())
        PAGE.write_text(text)
    found = TABLE.search(PAGE.read_text())
    assert found, "the page has no place for the table"
    assert found[2] == option_table()


def test_every_option_is_documented_as_flinks_or_ours() -> None:
    rows = {line.split("`")[1]: line for line in option_table().splitlines() if "`" in line[:4]}
    assert set(rows) == set(FIELDS)
    assert "| ours |" in rows["staging.ttl"]
    assert "| the same |" in rows["parallelism.default"]
    assert "| default STREAMING |" in rows["execution.runtime-mode"]
    assert "a duration above 0 " in rows["staging.ttl"]
    assert "a whole number from 1 to 32768" in rows["pipeline.max-parallelism"]
    assert set(FLINK_DEFAULTS) <= set(FIELDS)


def test_documented_reasons_for_refused_keys_are_those_of_the_messages() -> None:
    last = PAGE.read_text().partition("## Keys of Flink that are refused")[2]
    keys = [
        key.replace(".*", ".x")
        for line in last.splitlines()
        if line.startswith("| `")
        for key in re.findall(r"`([a-z]+\.[\w.*-]+)`", line.split("|")[1])
    ]
    assert len(keys) > 8
    assert [key for key in keys if why_without_meaning(key) is None] == []
