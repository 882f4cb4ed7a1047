"""Private parts of Spark are only used in one folder, whose docstrings say which Spark versions have them."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import graph_compiler

PACKAGE = Path(graph_compiler.__file__).parent
ROOM = PACKAGE / "spark_runtime" / "spark_internals"
OURS = f"graph_compiler.{'.'.join(ROOM.relative_to(PACKAGE).parts)}"
PRIVATE_ATTRIBUTE = re.compile(r"_j(?!ars$)[a-z]\w*|_sc|_gateway|_origin")
"""Of pyspark's objects: the JVM's behind a session, a context, rows, a column, an observation, an exception.

`_jars` is an attribute of the Airflow provider's hook.
"""
PRIVATE_MODULES = ("py4j", "pyspark.core", "pyspark.java_gateway", "pyspark.sql.classic")
DOORS = frozenset({"java_class", "scala_object"})
"""They lead to any class of the JVM: of their own room's use only."""
VERSION = re.compile(r"\b4\.(x|\d)")
INSIDE = sorted(ROOM.glob("*.py"))
OUTSIDE = sorted(set(PACKAGE.rglob("*.py")) - set(INSIDE))


def test_only_one_folder_uses_what_spark_keeps_private() -> None:
    found = {
        f"{module.relative_to(PACKAGE)}:{line}": what
        for module in OUTSIDE
        for line, what in private_uses(ast.parse(module.read_text()))
    }
    assert found == {}


def test_constants_are_made_by_the_function_that_imports_no_pandas() -> None:
    for module in (PACKAGE / "spark_runtime").rglob("*.py"):
        for node in ast.walk(ast.parse(module.read_text())):
            if isinstance(node, ast.ImportFrom) and node.module == "pyspark.sql.functions":
                assert "lit" not in {name.name for name in node.names}, f"{module}: import lit of spark_internals/java"


@pytest.mark.parametrize("module", INSIDE, ids=[module.stem for module in INSIDE])
def test_a_module_says_which_versions_of_spark_have_what_it_uses(module: Path) -> None:
    documented = ast.AsyncFunctionDef, ast.ClassDef, ast.FunctionDef, ast.Module
    nodes = [node for node in ast.walk(ast.parse(module.read_text())) if isinstance(node, documented)]
    assert any(VERSION.search(ast.get_docstring(node) or "") for node in nodes)


@pytest.mark.parametrize(
    "text",
    [
        "rows._jdf.queryExecution()",
        "self.spark._jsparkSession",
        "SparkContext._gateway",
        "getattr(spark, '_jvm')",
        "getattr(error, name if is_java else '_origin')",
        "import py4j",
        "from py4j.protocol import Py4JError",
        "import pyspark.java_gateway",
        "from pyspark.sql.classic.column import Column",
        "from pyspark.sql import _private",
        f"from {OURS}.java import java_class",
    ],
)
def test_each_way_to_what_is_private_is_seen(text: str) -> None:
    assert list(private_uses(ast.parse(text)))


@pytest.mark.parametrize(
    "text",
    [
        "self._join(other)",
        "from pyspark.sql import SparkSession",
        "from pyspark.sql.functions import lit",
        f"from {OURS}.java import Py4JError",
    ],
)
def test_what_is_public_or_ours_is_not(text: str) -> None:
    assert not list(private_uses(ast.parse(text)))


def private_uses(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """Yield lines that use private parts of Spark or py4j."""
    for node in ast.walk(tree):
        match node:
            case ast.Attribute(value=ast.Name(id="self" | "cls")):
                pass
            case ast.Attribute(attr=name) | ast.Constant(value=str(name)):
                if PRIVATE_ATTRIBUTE.fullmatch(name):
                    yield node.lineno, name
            case ast.Import(names=names):
                yield from ((node.lineno, each.name) for each in names if is_private(each.name))
            case ast.ImportFrom(module=str(module), names=names):
                imported = ((f"{module}.{each.name}", each.name) for each in names)
                yield from (
                    (node.lineno, full)
                    for full, name in imported
                    if is_private(full) or (full.startswith(OURS) and name in DOORS)
                )


def is_private(name: str) -> bool:
    """Whether a module, or a name in one, is private to pyspark or to its dependencies."""
    first, *rest = name.split(".")
    is_listed = any(f"{name}.".startswith(f"{module}.") for module in PRIVATE_MODULES)
    return is_listed or (first == "pyspark" and any(part.startswith("_") for part in rest))
