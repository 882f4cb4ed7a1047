"""A digest of a module's code: its source, and that of the modules of the same repository that it imports.

Installed packages and Python's own library are not included: their versions belong to the environment, not the pipeline
(`reached_code.py` has those). For their modules, only the module's own source counts. Imports are read from the source,
so that no module is loaded, and it does not matter which ones are already imported. Executors import the pipeline's
modules from an archive; there it is the digest of the module alone, which is not compared with anything.
"""

from __future__ import annotations

import ast
import hashlib
import sys
import sysconfig
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from zipimport import zipimporter

INSTALLED = ("site-packages", "dist-packages")
LIBRARIES = tuple(Path(sysconfig.get_path(name)).resolve() for name in ("stdlib", "platstdlib"))


@dataclass(frozen=True, slots=True, kw_only=True)
class ModuleCode:
    """The files that a module's code is in. `root` is the folder from which Python imports it.

    `is_installed`: it belongs to an installed package or to Python itself; then `files` has the module's own file only.
    """

    root: Path
    files: frozenset[Path]
    is_installed: bool


@cache
def source_digest(module: str) -> str:
    """Return the sha256 over the module's source and those it imports, directly or not, below its import root."""
    loader = sys.modules[module].__loader__
    if isinstance(loader, zipimporter):
        return hashlib.sha256((loader.get_source(module) or "").encode()).hexdigest()
    code = module_code(module)
    digest = hashlib.sha256()
    for path in sorted(code.files):
        name = path.relative_to(code.root).as_posix()
        digest.update(name.encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()


def module_code(module: str) -> ModuleCode:
    """Return the files of a loaded module: its own, and those it imports below its import root, even indirectly."""
    file = Path(str(sys.modules[module].__file__)).resolve()
    root = import_root(module, file)
    is_installed = root.name in INSTALLED or root in LIBRARIES
    files = {file} if is_installed else _reachable(file, root)
    return ModuleCode(root=root, files=frozenset(files), is_installed=is_installed)


def is_in_archive(module: str) -> bool:
    """Whether a loaded module is in a zip archive: executors import the pipeline's code so, and compile nothing."""
    return isinstance(getattr(sys.modules.get(module), "__loader__", None), zipimporter)


def import_root(module: str, file: Path) -> Path:
    """Return the folder from which Python imports a module that is in a file."""
    is_package = file.name == "__init__.py"
    return file.parents[module.count(".") + (1 if is_package else 0)]


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
    for name in imported_names(tree, package):
        for length in range(1, len(name) + 1):
            path = root.joinpath(*name[:length])
            yield from (
                candidate
                for candidate in (path.with_suffix(".py"), path / "__init__.py")
                if candidate.is_file()
            )


def imported_names(tree: ast.AST, package: list[str]) -> Iterator[list[str]]:
    """Yield the parts of each name that import statements of a module in a package may refer to."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name.split(".") for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            above = package[: len(package) - node.level + 1] if node.level else []
            base = above + (node.module or "").split(".") if node.module else above
            yield from (base, *([*base, alias.name] for alias in node.names))
