"""Every public function and method of the graphs, the compiler and scheduling is reached from code that is not a test.

A function or class is reached where something that is reached imports and names it; a method where an attribute of its
name is read: types are not followed, so a method that shares its name with a used one is not found.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import graph_compiler

PACKAGE = Path(graph_compiler.__file__).parent
ROOT = Path(__file__).parents[2]
ROOMS = ("compiler", "graphs", "deployment/scheduling")
OWN = "graph_compiler."
ONLY = "## For conformance only"
Function = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(frozen=True)
class Definition:
    """A function, class or method; a class includes its fields, and the methods that Python itself calls."""

    symbol: str
    name: str
    reads: frozenset[str]

    def is_in(self, reached: set[str]) -> bool:
        is_method = "." in self.symbol.rpartition(":")[2]
        return (f".{self.name}" if is_method else self.symbol) in reached or self.name == "_"


class Module:
    """One module, and what its names refer to."""

    def __init__(self, path: Path) -> None:
        place = path.relative_to(PACKAGE)
        self.name = ".".join(place.with_suffix("").parts)
        self.is_looked_at = place.as_posix().startswith(ROOMS)
        self.tree = ast.parse(path.read_text())
        self.symbols = {
            node.name: f"{self.name}:{node.name}"
            for node in self.tree.body
            if isinstance(node, (Function, ast.ClassDef))
        }
        for node in ast.walk(self.tree):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith(OWN):
                module = str(node.module).removeprefix(OWN)
                for each in node.names:
                    self.symbols[each.asname or each.name] = f"{module}:{each.name}"

    def reads(self, *nodes: ast.AST) -> frozenset[str]:
        """Return the symbols that are named below some nodes, and `.name` for each attribute that is read."""
        below = [each for node in nodes for each in ast.walk(node)]
        names = (each.id for each in below if isinstance(each, ast.Name))
        found = {self.symbols[name] for name in names if name in self.symbols}
        for each in below:
            if isinstance(each, ast.Attribute):
                found.add(f".{each.attr}")
                if isinstance(each.value, ast.Name) and each.value.id in self.symbols:  # a module
                    found.add(f"{self.symbols[each.value.id].replace(':', '.')}:{each.attr}")
        return frozenset(found)

    def at_import(self) -> frozenset[str]:
        """Return what is read when it is imported: tables, aliases, decorators."""
        decorators = [
            each
            for node in self.tree.body
            if isinstance(node, (Function, ast.ClassDef))
            for each in node.decorator_list
        ]
        rest = [node for node in self.tree.body if not isinstance(node, (Function, ast.ClassDef))]
        return self.reads(*decorators, *rest)

    def definitions(self) -> Iterator[Definition]:
        """Yield its functions, its classes and their methods."""
        for node in self.tree.body:
            if isinstance(node, Function):
                yield Definition(f"{self.name}:{node.name}", node.name, self.reads(node))
            elif isinstance(node, ast.ClassDef):
                methods = [each for each in node.body if isinstance(each, Function)]
                called = [each for each in methods if not each.name.startswith("__")]
                rest = [each for each in (*node.bases, *node.body) if each not in called]
                yield Definition(f"{self.name}:{node.name}", node.name, self.reads(*rest))
                for each in called:
                    symbol = f"{self.name}:{node.name}.{each.name}"
                    yield Definition(symbol, each.name, self.reads(each))


@cache
def unreached() -> frozenset[str]:
    """Return the public symbols that nothing leads to, written `module:name` below the package."""
    modules = [Module(path) for path in PACKAGE.rglob("*.py")]
    looked_at = [module for module in modules if module.is_looked_at]
    waiting = [one for module in looked_at for one in module.definitions()]
    reached = {symbol for module in looked_at for symbol in module.at_import()}
    reached |= {symbol for module in modules if not module.is_looked_at for symbol in module.reads(module.tree)}
    while found := [one for one in waiting if one.is_in(reached)]:
        waiting = [one for one in waiting if one not in found]
        reached = reached.union(*(one.reads for one in found))
    return frozenset(one.symbol for one in waiting if not one.name.startswith("_"))


def for_conformance_only() -> dict[str, str]:
    """Return the symbols that the page on Flink exempts, each with its reason."""
    _, _, section = (ROOT / "docs" / "flink.md").read_text().partition(ONLY)
    rows = re.findall(r"^\| ((?:`[\w.:]+`(?:, )?)+) \| (.+) \|$", section, re.M)
    return {symbol: reason for symbols, reason in rows for symbol in re.findall(r"`(.+?)`", symbols)}


def test_unreached_code_is_for_conformance_and_documented() -> None:
    assert unreached() == set(for_conformance_only())


def test_a_function_that_only_an_unreached_one_calls_is_unreached() -> None:
    assert "deployment.scheduling.scheduling:finish_vertex" in unreached()
    assert "deployment.scheduling.failover:restart_set" not in unreached()
