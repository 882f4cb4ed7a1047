"""The errors of the package are one tree, which the drawing in errors.py shows."""

import ast
import builtins
import importlib
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import graph_compiler
from graph_compiler import errors
from graph_compiler.errors import GraphCompilerError

PACKAGE = Path(graph_compiler.__file__).parent
BRANCH = re.compile(r"^    ((?:│   |    )*)([├└]── )?(\w+Error)(?: +(\S.*?)(?:  \[([\w.]+)\])?)?$")
READ_ONLY = (
    *("airflow_backend", "extending", "graph_compiler_plugin", "lake_metadata", "object_stores", "row_reader"),
    *("run_client", "spark_runtime", "testing"),
)
"""Rooms that import airflow, pyspark, obstore, pyiceberg, httpx or pyarrow, or name what does: errors are read only."""


class Branch(NamedTuple):
    """An error, its parent, and its room if that is not errors.py."""

    name: str
    parent: str | None
    room: str | None


def drawn() -> list[tuple[int, Branch, str]]:
    """Return the depth, error and description of each line of the drawing."""
    found: list[tuple[int, Branch, str]] = []
    above: dict[int, str] = {}
    for line in (errors.__doc__ or "").splitlines():
        if match := BRANCH.match(line):
            indent, branch, name, words, room = match.groups()
            depth = len(indent) // 4 + bool(branch)
            above[depth] = name
            found.append((depth, Branch(name, above.get(depth - 1), room), words or ""))
    return found


def written() -> Iterator[Branch]:
    """Yield every class of the package that inherits from an exception, found in the source."""
    bases: dict[str, tuple[str, str]] = {}
    for path in PACKAGE.rglob("*.py"):
        room = path.relative_to(PACKAGE).with_suffix("").parts[0]
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ClassDef) and node.bases:
                bases[node.name] = ast.unparse(node.bases[0]), room
    for name, (parent, room) in bases.items():
        root = name
        while root in bases:
            root = bases[root][0]
        if isinstance(kind := vars(builtins).get(root), type) and issubclass(kind, BaseException):
            inside = None if room == "errors" else room
            yield Branch(name, None if parent in vars(builtins) else parent, inside)


def test_every_error_is_in_the_drawing_below_its_parent_and_with_its_room() -> None:
    assert sorted(branch for _, branch, _ in drawn()) == sorted(written())


def test_the_errors_are_one_tree_and_each_says_what_happened() -> None:
    tree = drawn()
    assert [branch.name for _, branch, _ in tree if branch.parent is None] == ["GraphCompilerError"]
    assert [branch.name for _, branch, words in tree[1:] if not words] == []


def test_the_lines_of_the_drawing_meet() -> None:
    depths = [depth for depth, _, _ in drawn()]

    def goes_on(place: int, depth: int) -> bool:
        later = (other for other in depths[place + 1 :] if other <= depth)
        return next(later, 0) == depth

    expected = [
        "".join("│   " if goes_on(place, above) else "    " for above in range(1, depth))
        + ("" if depth == 0 else "├── " if goes_on(place, depth) else "└── ")
        + branch.name
        for place, (depth, branch, _) in enumerate(drawn())
    ]
    lines = [line[4:] for line in (errors.__doc__ or "").splitlines() if BRANCH.match(line)]
    assert [re.split(r"(?<=Error)\b", line)[0] for line in lines] == expected


def test_python_sees_the_same_tree() -> None:
    for path in PACKAGE.rglob("*.py"):
        parts = path.relative_to(PACKAGE).with_suffix("").parts
        if parts[0] not in (*READ_ONLY, "__main__") and "__init__" not in parts:
            importlib.import_module(".".join(("graph_compiler", *parts)))
    seen = {branch for branch in below(GraphCompilerError) if not is_only_read(branch)}
    tree = {branch for _, branch, _ in drawn() if not is_only_read(branch)}
    assert seen == tree - {Branch("GraphCompilerError", None, None)}


def below(kind: type) -> Iterator[Branch]:
    """Yield the package's errors below a loaded one."""
    children: list[type] = kind.__subclasses__()
    for child in children:
        room = child.__module__.split(".")[1]
        if child.__module__.startswith("graph_compiler.") and hasattr(sys.modules[child.__module__], child.__name__):
            yield Branch(child.__name__, kind.__name__, None if room == "errors" else room)
        yield from below(child)


def is_only_read(branch: Branch) -> bool:
    """Whether an error is defined where airflow, pyspark, httpx or pyarrow is imported."""
    return branch.room in READ_ONLY
