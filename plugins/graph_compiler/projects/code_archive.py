"""The Python code that executors import, as one archive: a user's packages and this one.

    pack(["pipelines.flights"])   →   7d1f….zip: pipelines/flights.py, pipelines/…, graph_compiler/…

Packages are packed whole, so that imports which only a running function makes find their modules, too. The same files
give the same bytes, and the archive has their digest for its name.
"""

from __future__ import annotations

import hashlib
import io
import os
import sys
import zipfile
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path, PurePath

import graph_compiler
from graph_compiler.declaration.functions import is_in_archive, module_code
from graph_compiler.errors import GraphCompilerError
from graph_compiler.identifiers import counted

MOST_BYTES = 64_000_000
"""The size of an archive: code is small, and each executor fetches it."""
_NO_TIME = (1980, 1, 1, 0, 0, 0)
"""The earliest time an archive can hold: when a file was written is no part of its content."""


class CodeArchiveError(GraphCompilerError):
    """The code of a pipeline's functions cannot be packed for Spark's executors."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CodeArchive:
    """A zip archive, and its sha256, of which its name is made."""

    digest: str
    content: bytes


def pack(modules: Iterable[str]) -> CodeArchive:
    """Return an archive of the packages of loaded modules, of what they import beside them, and of this package.

    Modules of installed packages are left out: executors have their own. Raises CodeArchiveError if two folders have a
    package of the same name, if a file cannot be read, or if there is too much.
    """
    roots: dict[str, Path] = {}
    for root, name in sorted(set(_packages(modules))):
        if (other := roots.setdefault(name, root)) != root:
            raise CodeArchiveError(
                f"two folders have a package or module '{name}': {other} and {root}\n"
                "  hint: rename one of them: Python imports only the first that it finds"
            )
    return _archive(
        {file.relative_to(root).as_posix(): file for name, root in roots.items() for file in _files(root, name)}
    )


def _packages(modules: Iterable[str]) -> Iterator[tuple[Path, str]]:
    """Yield the import root and the top-level name of each package or module to pack."""
    own = Path(graph_compiler.__file__).resolve().parent
    yield own.parent, own.name
    for module in sorted(set(modules)):
        if is_in_archive(module):
            raise CodeArchiveError(
                f"module '{module}' is in an archive: {sys.modules[module].__file__}\n"
                "  hint: unpack it, or install it as a package; only code in folders is packed for executors"
            )
        code = module_code(module)
        if not code.is_installed:
            for file in code.files:
                yield code.root, file.relative_to(code.root).parts[0].removesuffix(".py")


def _files(root: Path, name: str) -> Iterator[Path]:
    """Yield the Python files of a package, or the file of a module; hidden folders hold no code."""
    if (module := root / f"{name}.py").is_file():
        yield module
    for folder, inner, files in os.walk(root / name):
        inner[:] = sorted(each for each in inner if each[0] != "." and each != "__pycache__")
        found = (Path(folder, file) for file in sorted(files) if file.endswith(".py"))
        yield from (file for file in found if file.is_file())  # a pipe would be read forever


def _archive(files: dict[str, Path]) -> CodeArchive:
    contents = {name: _content(file) for name, file in files.items()}
    if sum(map(len, contents.values())) > MOST_BYTES:
        largest = max(contents, key=lambda name: len(contents[name]))
        raise CodeArchiveError(
            f"the packages that functions import have more than {MOST_BYTES:,} bytes; "
            f"the largest of {counted(len(contents), 'file')} is {files[largest]}\n"
            "  hint: keep data out of the packages, or install large ones where executors run"
        )
    # Python finds a package without __init__.py in an archive only if its folder is an entry.
    folders = {f"{folder}/" for name in contents for folder in PurePath(name).parents[:-1]}
    whole = io.BytesIO()
    # Stored, not compressed: versions of zlib differ in what they make of the same bytes.
    with zipfile.ZipFile(whole, "w", zipfile.ZIP_STORED) as archive:
        for name in sorted({*contents, *folders}):
            info = zipfile.ZipInfo(name, _NO_TIME)
            info.create_system, info.external_attr = 3, (0o755 if name in folders else 0o644) << 16
            archive.writestr(info, contents.get(name, b""))
    content = whole.getvalue()
    return CodeArchive(digest=hashlib.sha256(content).hexdigest(), content=content)


def _content(file: Path) -> bytes:
    try:
        return file.read_bytes()
    except OSError as error:
        raise CodeArchiveError(f"{file} cannot be packed for Spark's executors: {error}") from None
