"""The shape of the package and of its tests: names, sizes, and complete registries."""

import sys
from collections import Counter
from pathlib import Path
from typing import TypeVar

import pytest

import graph_compiler
from graph_compiler.compiler.stream_graph.translators import TRANSLATORS
from graph_compiler.declaration.connectors import Connector
from graph_compiler.declaration.operators import Operator, Sink
from graph_compiler.declaration.partitioners import Partitioner
from graph_compiler.declaration.transformations import PhysicalTransformation, Transformation

Kind = TypeVar("Kind")
PACKAGE = Path(graph_compiler.__file__).parent
TESTS = Path(__file__).parents[1]


def test_a_module_shadows_nothing() -> None:
    # spark-submit puts the script's folder first on sys.path, and Airflow loads plugins by their bare file name
    modules = sorted(PACKAGE.rglob("*.py"))
    assert len(modules) > 100
    shadowing = sys.stdlib_module_names - {"__init__", "__main__"}
    assert [it for it in modules if it.stem in shadowing or it.parent.name in ("airflow", "spark")] == []


def test_no_two_modules_of_tests_have_one_name() -> None:
    # pytest imports a module of a folder that is no package by its bare name
    folders = [it for it in TESTS.rglob("*") if it.is_dir() and not (it / "__init__.py").exists()]
    names = Counter(it.name for folder in folders for it in folder.glob("test_*.py"))
    assert len(names) > 100
    assert [name for name, count in names.items() if count > 1] == []


def test_all_is_exactly_what_the_package_exports() -> None:
    public = {
        name
        for name, value in vars(graph_compiler).items()
        if not name.startswith("_") and not isinstance(value, type(sys))
    }
    assert public == set(graph_compiler.__all__)


def test_the_package_exports_every_connector() -> None:
    kinds = {kind.__name__ for kind in leaves(Connector) if not leaves(kind)}
    assert not kinds - set(graph_compiler.__all__), "import them in graph_compiler/__init__.py"


def test_every_transformation_has_a_translator() -> None:
    assert leaves(Transformation) - {PhysicalTransformation} == set(TRANSLATORS)


@pytest.mark.spark
def test_every_partitioner_and_operator_has_a_runtime() -> None:
    from graph_compiler.spark_runtime.exchange.distribution import distribute
    from graph_compiler.spark_runtime.operators import evaluations

    assert all(distribute.dispatch(kind) is not distribute.dispatch(object) for kind in leaves(Partitioner))
    kinds = {kind for kind in leaves(Operator) if kind.has_factory and not leaves(kind)}
    assert not kinds - {Sink} - evaluations(), "register main_output in spark_runtime/operators/"


def leaves(base: type[Kind]) -> set[type[Kind]]:
    """Return the subclasses that the package exports under their names (slots=True leaves doubles)."""
    found: set[type[Kind]] = set()
    subclasses: list[type[Kind]] = base.__subclasses__()
    for subclass in subclasses:
        module = subclass.__module__
        is_ours = module.startswith("graph_compiler.") and not subclass.__name__.startswith("_")
        if is_ours and getattr(sys.modules[module], subclass.__name__) is subclass:
            found |= leaves(subclass) | {subclass}
    return found
