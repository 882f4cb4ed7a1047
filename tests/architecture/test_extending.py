"""What other packages import stays: names of `graph_compiler.extending`, and what importing it costs."""

import re
import subprocess
import sys
from pathlib import Path

from graph_compiler import extending
from graph_compiler.extending import stores, targets

ROOT = Path(__file__).parents[2]
NAMES = {
    "extending": (
        "ChainingStrategy Connector InputSplit Operator OperatorAttributes OperatorId Problem RegionEvent "
        "RegionEventKind RegionListener Sink SinkMode Source lasting"
    ),
    "extending.spark": (
        "Found OpenSink PreparedSink Reading Scope SinkContext Target claim_target conform_to_target main_output read "
        "require_columns"
    ),
    "extending.stores": (
        "LocalStore MOST_BYTES PlaceInStore Promises StagingStore StoreAccess StoreConnection StoreKind StoredFile"
    ),
    "extending.targets": "DriverPlace ExecutionTarget SecretWay",
}
"""A name that is removed breaks packages that we do not know: add, do not remove."""


def test_names_that_other_packages_use_are_not_removed() -> None:
    for module, names in {"extending": extending, "extending.stores": stores, "extending.targets": targets}.items():
        assert sorted(names.__all__) == sorted(NAMES[module].split())
    # this one imports pyspark, which is not needed here
    text = (ROOT / "plugins/graph_compiler/extending/spark.py").read_text()
    listed = re.findall(r'^    "(\w+)",$', text.partition("__all__")[2], re.MULTILINE)
    assert sorted(listed) == sorted(NAMES["extending.spark"].split())


def test_examples_of_packages_import_nothing_else_of_ours() -> None:
    found = {
        name
        for file in (ROOT / "tests/recipes/acme").rglob("*.py")
        for name in re.findall(r"^\s*(?:from|import) (graph_compiler[\w.]*)", file.read_text(), re.MULTILINE)
    }
    assert found == {f"graph_compiler.{name}" for name in NAMES if name != "extending.targets"}


def test_a_declaration_needs_the_standard_library_only() -> None:
    code = "import graph_compiler.extending, sys; print(*sorted({name.partition('.')[0] for name in sys.modules}))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert not {"pyspark", "airflow", "pydantic", "typer", "py4j"} & set(done.stdout.split())
