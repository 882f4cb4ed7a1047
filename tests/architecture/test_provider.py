"""Private names of Airflow's Spark provider are used in one module, and the installed version has them all."""

import ast
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import pytest

import graph_compiler

pytestmark = pytest.mark.airflow
PACKAGE = Path(graph_compiler.__file__).parent
BACKEND = PACKAGE / "airflow_backend"
DOOR = BACKEND / "provider" / "submit_operator.py"
OUTSIDE = [*(set(BACKEND.rglob("*.py")) - {DOOR}), PACKAGE / "graph_compiler_plugin.py"]
"""No other room may import airflow (`lint-imports`)."""
PROVIDER = "airflow.providers.apache.spark"
IMPORT_IT = {
    "provider/submit_operator.py": "the door",
    "installation/executor_health.py": "creates a hook, and submits: both are public",
}
EXCEPTIONS: dict[str, str] = {}
"""Names of our own that the provider also has, as `module: name`, and why they stay."""


def provider_names() -> set[str]:
    """Return the private names of the provider's operator and hook: what they define, set or read."""
    airflow = find_spec("airflow")
    assert airflow is not None
    folder = Path(str(airflow.origin)).parent.joinpath(*PROVIDER.split(".")[1:])
    return {
        name
        for kind in ("hooks", "operators")
        for node in ast.walk(ast.parse((folder / kind / "spark_submit.py").read_text()))
        for name in names_of(node)
        if name.startswith("_") and not name.startswith("__") and name != "_"
    }


def names_of(node: ast.AST) -> Iterator[str]:
    """Yield the names that a node defines or reads, as attributes or at the top of a module."""
    match node:
        case ast.Attribute(attr=name) | ast.FunctionDef(name=name) | ast.ClassDef(name=name):
            yield name
        case ast.Name(id=name, ctx=ast.Store()):
            yield name


def private_uses(tree: ast.AST, names: set[str]) -> Iterator[tuple[int, str]]:
    """Yield lines that use names of the provider: attributes, texts, imports, and what replaces its own."""
    for node in ast.walk(tree):
        match node:
            case ast.Attribute(attr=name) | ast.Constant(value=str(name)) if name in names:
                yield node.lineno, name
            case ast.ImportFrom(module=str(module), names=imported) if module.startswith(PROVIDER):
                yield from ((node.lineno, it.name) for it in imported if it.name.startswith("_"))
            case ast.ClassDef(body=body):
                for each in body:
                    for part in (each, *ast.iter_child_nodes(each)):
                        yield from ((each.lineno, it) for it in set(names_of(part)) & names)


def test_only_the_door_uses_what_the_provider_keeps_private() -> None:
    names = provider_names()
    assert {"_hook", "_conf", "_connection", "_get_hook", "_K8S_DRIVER_STATUS_KEY"} < names
    found = {
        f"{module.relative_to(PACKAGE)}: {name}"
        for module in OUTSIDE
        for _, name in private_uses(ast.parse(module.read_text()), names)
    }
    assert found == set(EXCEPTIONS)


def test_the_provider_is_imported_in_few_modules() -> None:
    importers = {
        str(module.relative_to(BACKEND))
        for module in BACKEND.rglob("*.py")
        if f"from {PROVIDER}" in module.read_text() or f"import {PROVIDER}" in module.read_text()
    }
    assert importers == set(IMPORT_IT)


def test_the_installed_provider_has_each_name_that_the_door_uses() -> None:
    tree = ast.parse(DOOR.read_text())
    ours = {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}
    used = {node.attr for node in ast.walk(tree) if isinstance(node, ast.Attribute) and node.attr.startswith("_")}
    assert len(used) > 20
    assert used - ours - provider_names() == set()


@pytest.mark.parametrize(
    "text",
    [
        "operator._hook",
        "self._hook = hook",
        "getattr(hook, '_conf')",
        "setattr(hook, '_jars', jars)",
        "class Own(SubmitOperator):\n    def _get_hook(self): ...",
        "class Own(SubmitOperator):\n    _archives = None",
        f"from {PROVIDER}.hooks.spark_submit import _mask_sensitive_values",
    ],
)
def test_each_way_to_what_is_private_is_seen(text: str) -> None:
    assert list(private_uses(ast.parse(text), provider_names()))


@pytest.mark.parametrize("text", ["self._settings", "_connection(conn_id)", "operator.conf"])
def test_what_is_public_or_ours_is_not(text: str) -> None:
    assert not list(private_uses(ast.parse(text), provider_names()))
