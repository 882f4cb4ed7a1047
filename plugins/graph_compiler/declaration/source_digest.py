"""A digest of a module's code: its source, and that of the modules of the same repository that it imports.

Installed packages and Python's own library are not included: their versions belong to the environment, not the
pipeline. For their modules, only the module's own source counts. Imports are read from the source, so that no module is
loaded, and it does not matter which ones are already imported.
"""

from __future__ import annotations

import ast
import hashlib
import sys
import sysconfig
from collections.abc import Iterator
from functools import cache
from pathlib import Path

_INSTALLED = ("site-packages", "dist-packages")
_LIBRARIES = tuple(Path(sysconfig.get_path(name)).resolve() for name in ("stdlib", "platstdlib"))


@cache
def source_digest(module: str) -> str:
    """Return the sha256 over the module's source and those it imports, directly or not, below its import root."""
    file = Path(str(sys.modules[module].__file__)).resolve()
    parts = module.split(".")
    is_package = file.name == "__init__.py"
    root = file.parents[len(parts) - (0 if is_package else 1)]
    is_of_the_environment = root.name in _INSTALLED or root in _LIBRARIES
    reachable = {file} if is_of_the_environment else _reachable(file, root)
    digest = hashlib.sha256()
    for path in sorted(reachable):
        digest.update(path.relative_to(root).as_posix().encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()


def _reachable(file: Path, root: Path) -> set[Path]:
    found: set[Path] = set()
    pending = [file]
    while pending:
        path = pending.pop()
        if path not in found:
            found.add(path)
            pending.extend(_imported(path, root))
    return found


def _imported(file: Path, root: Path) -> Iterator[Path]:
    """Yield the files below `root` that the import statements of a file may refer to."""
    package = list(file.relative_to(root).parent.parts)
    try:
        tree = ast.parse(file.read_bytes())
    except SyntaxError:  # such a file cannot be imported, either
        return
    for node in ast.walk(tree):
        names: list[list[str]] = []
        if isinstance(node, ast.Import):
            names = [alias.name.split(".") for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            above = package[: len(package) - node.level + 1] if node.level else []
            base = above + (node.module or "").split(".") if node.module else above
            names = [base, *([*base, alias.name] for alias in node.names)]
        for name in names:
            for length in range(1, len(name) + 1):
                path = root.joinpath(*name[:length])
                yield from (
                    candidate
                    for candidate in (path.with_suffix(".py"), path / "__init__.py")
                    if candidate.is_file()
                )
