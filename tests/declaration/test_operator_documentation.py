"""Every method of a stream is documented, and every documented method exists."""

import re
from pathlib import Path

from graph_compiler import DataStream, KeyedStream
from graph_compiler.declaration.streams.settings_methods import HasSettings

PAGE = (Path(__file__).parents[2] / "docs" / "operators.md").read_text()
NOT_OPERATORS = {"sink_to", "refuse"}


def methods(kind: type) -> set[str]:
    return {name for name in dir(kind) if not name.startswith("_") and callable(getattr(kind, name))}


def test_every_method_is_described() -> None:
    wanted = (methods(DataStream) | methods(KeyedStream)) - methods(HasSettings) - NOT_OPERATORS
    missing = {name for name in wanted if f"{name}(" not in PAGE}
    assert not missing, "describe them in docs/operators.md"


def test_every_call_in_a_table_exists() -> None:
    calls = re.findall(r"^\| `(\w+)\(", PAGE, re.MULTILINE)
    assert len(calls) > 20
    assert not set(calls) - methods(DataStream)
