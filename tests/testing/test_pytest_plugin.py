"""The plugin has no cost for a pytest run until a fixture is used, and both ways to load it give one plugin."""

import subprocess
import sys
import tomllib
from importlib import import_module
from pathlib import Path

import graph_compiler.testing

ROOT = Path(__file__).parents[2]
PLUGIN = "graph_compiler.testing.pytest_plugin"


def test_loading_the_plugin_imports_neither_spark_nor_airflow_nor_the_compiler() -> None:
    program = f"import sys, {PLUGIN}; print(*{{name.split('.')[0] for name in sys.modules}}, *sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=ROOT / "plugins", capture_output=True, text=True, check=True
    )
    loaded = set(done.stdout.split())
    assert PLUGIN in loaded
    assert not loaded & {"pyspark", "airflow", "pydantic", "mmh3", "pyarrow", "graph_compiler.compiler"}


def test_the_entry_point_is_named_as_the_module() -> None:
    """A conftest.py may name the module beside it; pytest refuses one module under two names."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert project["entry-points"]["pytest11"] == {PLUGIN: PLUGIN}


def test_every_exported_name_exists() -> None:
    for name in graph_compiler.testing.__all__:
        if name in ("CompiledPlan", "assert_rows", "REAL", "Rows"):  # the others need Spark
            assert getattr(graph_compiler.testing, name) is not None
    assert set(graph_compiler.testing._MODULES) == set(graph_compiler.testing.__all__)
    assert import_module(PLUGIN).__doc__
    assert not hasattr(graph_compiler.testing, "Sparkle")
