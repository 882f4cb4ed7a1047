"""Edit a copy of the package, and run the tests that must notice it; the working tree does not change.

Used by `tests.conformance.mutants` (each rule that follows Flink) and `tests.machine.mends` (each mended fault).
"""

from __future__ import annotations

import ast
import itertools
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[1]
_PACKAGE = ROOT / "plugins" / "graph_compiler"


Texts = Mapping[Path, str]


@dataclass(frozen=True)
class Edit:
    """In the definition `within`, `old` occurs exactly once, and becomes `new`.

    `within` is the name of a function, a class or a constant, after the names of those around it
    (`RegionEvaluation.varies`). So an edit follows what it changes to another module.
    """

    within: str
    old: str
    new: str

    def places(self, texts: Texts) -> list[tuple[Path, int, int]]:
        """Find `old`, however the formatter has broken its lines: files, and where it begins and ends there."""
        tokens = re.findall(r"\w+|[^\w\s]", self.old)
        old = re.compile(r"\s*".join(map(re.escape, tokens)))
        name = self.within.rpartition(".")[2]
        return [
            (path, place.start(), place.end())
            for path, text in texts.items()
            if name in text
            for begin, end in definitions(text).get(self.within, ())
            for place in old.finditer(text, begin, end)
        ]

    def apply(self, texts: Texts) -> dict[Path, str]:
        """Return the text that it changes, as it is afterwards."""
        ((path, begin, end),) = self.places(texts)
        return {path: texts[path][:begin] + self.new + texts[path][end:]}


@cache
def definitions(text: str) -> Mapping[str, Sequence[tuple[int, int]]]:
    """Return where functions, classes and constants of a module begin and end, by their names."""
    lines = text.splitlines(keepends=True)
    begins = [0, *itertools.accumulate(map(len, lines))]
    found: dict[str, list[tuple[int, int]]] = defaultdict(list)

    def add(names: Sequence[str], first: int, node: ast.stmt) -> None:
        assert node.end_lineno is not None
        found[".".join(names)].append((begins[first - 1], begins[node.end_lineno]))

    def look(node: ast.AST, around: Sequence[str]) -> None:
        for child in ast.iter_child_nodes(node):
            inside = around
            match child:
                case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
                    inside = [*around, child.name]
                    add(inside, min(it.lineno for it in (child, *child.decorator_list)), child)
                case ast.Assign(targets=[ast.Name(id=name)]) | ast.AnnAssign(target=ast.Name(id=name)):
                    add([*around, name], child.lineno, child)
            look(child, inside)

    look(ast.parse(text), [])
    return found


@cache
def _package() -> Texts:
    return {path.relative_to(_PACKAGE): path.read_text() for path in sorted(_PACKAGE.rglob("*.py"))}


def misplaced(edits: Iterable[Edit]) -> list[str]:
    """Describe the edits whose `old` does not occur exactly once."""
    counts = ((edit, len(edit.places(_package()))) for edit in edits)
    return [f"{edit.within} has {count} times {edit.old!r}" for edit, count in counts if count != 1]


def changed_files(edits: Iterable[Edit]) -> dict[Path, str]:
    """Return the text of each file that edits change, by its path in the package, as it is afterwards."""
    changed: dict[Path, str] = {}
    for edit in edits:
        changed |= edit.apply({**_package(), **changed})
    return changed


@contextmanager
def changed_package(edits: Iterable[Edit]) -> Iterator[Path]:
    """Copy the package, and change the copy; return the folder to import it from."""
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder, _PACKAGE.name)
        shutil.copytree(_PACKAGE, copy)  # with what Python has compiled: only newer files are compiled again
        for file, text in changed_files(edits).items():
            (copy / file).write_text(text)
        yield Path(folder)


def run_python(package: Path, *arguments: str, timeout: float | None = None) -> subprocess.CompletedProcess[str]:
    """Run `python -m …` with the package from that folder; raises TimeoutExpired."""
    with subprocess.Popen(
        [sys.executable, "-m", *arguments],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": f"{package}{os.pathsep}{ROOT}"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        start_new_session=True,
    ) as process:
        try:
            output, _ = process.communicate(timeout=timeout)
        except BaseException:  # it has not ended, or this process is told to
            os.killpg(process.pid, signal.SIGKILL)
            raise
    return subprocess.CompletedProcess(process.args, process.returncode, output)


def run_pytest(package: Path, *arguments: str, timeout: float | None = None) -> subprocess.CompletedProcess[str]:
    """Run pytest with the package from that folder; raises TimeoutExpired."""
    paths = ("-o", f"pythonpath={package} {ROOT}")
    return run_python(package, "pytest", "-q", "-p", "no:cacheprovider", *paths, *arguments, timeout=timeout)
