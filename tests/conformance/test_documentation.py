"""Every symbol docs/flink.md names is there."""

import re
from importlib import import_module
from pathlib import Path

import pytest

SYMBOLS = sorted(
    set(
        re.findall(
            r"`([a-z_.]+):([A-Za-z_.]+)`",
            (Path(__file__).parents[2] / "docs" / "flink.md").read_text(),
        )
    )
    - {("module", "name")}
)


@pytest.mark.parametrize(("module", "name"), SYMBOLS, ids=[":".join(symbol) for symbol in SYMBOLS])
def test_the_symbol_exists(module: str, name: str) -> None:
    found = import_module(f"graph_compiler.{module}")
    for part in name.split("."):
        found = getattr(found, part)


def test_there_are_symbols() -> None:
    assert len(SYMBOLS) > 60
