"""Functions are passed to Spark by name, never pickled.

    FunctionRef.of(clean)   →   FunctionRef("pipelines.flights", "clean", "9f86d081…")

The name must resolve to the function in another process. This excludes lambdas, nested functions, methods of objects,
and functions of a script or a Dag file.
"""

from __future__ import annotations

import ast
import hashlib
import inspect
import sys
import sysconfig
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache, wraps
from importlib import import_module
from pathlib import Path
from typing import Any
from zipfile import ZipFile
from zipimport import zipimporter

from graph_compiler.errors import FunctionNotImportableError
from graph_compiler.identifiers import counted, listing

IMPORTABLE = "a function defined with `def` at the top level of an importable module"
WHERE_TO_MOVE = "move it to a module in pipelines/ and pass it by its name there"
# The mangled module name under which Airflow loads a Dag file; no other process can import it.
_DAG_FILE_MODULE = "unusual_prefix_"


@dataclass(frozen=True, slots=True, kw_only=True)
class FunctionRef:
    """A module-level function by its importable name; `source_digest` changes with the code it depends on."""

    module: str
    name: str
    source_digest: str

    @classmethod
    def of(cls, function: Callable[..., object]) -> FunctionRef:
        """Return a reference to `function`; raises FunctionNotImportableError if its name does not resolve to it."""
        if reason := _why_not_importable(function):
            raise FunctionNotImportableError(f"{reason}; Spark imports functions by name, in another process")
        return cls._named(function)

    @classmethod
    def of_class(cls, kind: type) -> FunctionRef:
        """Return a reference to a class, which is called for an object; raises FunctionNotImportableError like `of`."""
        if reason := _why_not_named(kind):
            raise FunctionNotImportableError(f"{reason}; Spark imports classes by name, in another process")
        return cls._named(kind)

    @classmethod
    def _named(cls, function: Callable[..., object]) -> FunctionRef:
        module = function.__module__
        return cls(module=module, name=function.__qualname__, source_digest=source_digest(module))

    def __str__(self) -> str:
        """Return the form `module:name`."""
        return f"{self.module}:{self.name}"

    def load(self) -> Callable[..., object]:
        """Import the function; raises FunctionNotImportableError if the name does not resolve."""
        try:
            function = getattr(import_module(self.module), self.name)
        except (ImportError, AttributeError) as error:
            raise FunctionNotImportableError(
                f"cannot import {self}: {error}\n"
                f"  hint: put the folder of '{self.module}' on PYTHONPATH of Spark's driver"
            ) from error
        assert callable(function)
        return function  # type: ignore[no-any-return]  # getattr returns Any; callable was just checked


def _why_not_importable(function: Callable[..., object]) -> str | None:
    if not inspect.isfunction(function):
        return f"{_words(function)} is not a plain function"
    if function.__name__ == "<lambda>":
        return "a lambda has no name"
    return _why_not_named(function)


def _why_not_named(function: Callable[..., object]) -> str | None:
    name, module = function.__qualname__, function.__module__
    if "." in name:
        return f"'{name}' is defined inside another function or class"
    if module == "__main__":
        return f"'{name}' is defined in the script that is running"
    if module.startswith(_DAG_FILE_MODULE):
        return f"'{name}' is defined in a Dag file"
    return _why_not_found(function)


def _words(value: object) -> str:
    if inspect.ismethod(value):
        return f"the method '{value.__qualname__}'"
    if isinstance(value, str | int | float | None) or inspect.isbuiltin(value):
        return repr(value)
    return f"a {type(value).__name__}"


def why_not_callable(function: Callable[..., object], arguments: int, names: Iterable[str] = ()) -> str | None:
    """Return why a function cannot be called with so many positional arguments and these keywords; None if it can."""
    takes, named = inspect.signature(function), dict.fromkeys(names)
    try:
        takes.bind(*range(arguments), **named)
    except TypeError:
        form = form_of_function(function)
        given = listing([counted(arguments, "argument"), *(f"{name}=…" for name in named)])
        return f"calls its function with {given}, but this is {form}"
    return None


def form_of_function(function: Callable[..., object]) -> str:
    """Return a function with the names of its parameters: `clean(rows, threshold)`."""
    return f"{function.__name__}({', '.join(inspect.signature(function).parameters)})"


def takes_any_keyword(function: Callable[..., object]) -> bool:
    """Whether a function has `**keywords`."""
    takes = inspect.signature(function).parameters.values()
    return any(parameter.kind is inspect.Parameter.VAR_KEYWORD for parameter in takes)


def keywords_of(function: Callable[..., object], arguments: int) -> Mapping[str, Any]:
    """Return a function's keywords after so many positional arguments, with their annotated types."""
    takes = list(inspect.signature(function).parameters.values())
    by_name = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
    return {
        parameter.name: parameter.annotation
        for number, parameter in enumerate(takes)
        if parameter.kind in by_name and (number >= arguments or parameter.kind is inspect.Parameter.KEYWORD_ONLY)
    }


def with_bound_arguments(function: Callable[..., object], arguments: Mapping[str, object]) -> Callable[..., object]:
    """Return the function with these keywords bound; Spark can still inspect the other parameters and their types."""

    @wraps(function)
    def bound(*inputs: object) -> object:
        return function(*inputs, **arguments)

    takes = inspect.signature(function)
    left = [parameter for name, parameter in takes.parameters.items() if name not in arguments]
    bound.__signature__ = takes.replace(parameters=left)  # type: ignore[attr-defined]  # inspect looks here first
    return bound


def _why_not_found(function: Callable[..., object]) -> str | None:
    module = sys.modules.get(function.__module__)
    if getattr(module, function.__name__, None) is not function:
        return f"'{function.__module__}:{function.__name__}' is a different object"
    file = getattr(module, "__file__", None)
    if file is None or not (Path(file).is_file() or is_in_archive(function.__module__)):
        return f"'{function.__module__}' has no file"
    return None


# A digest of a module's code: its source, and that of the modules of the same repository that it imports.
#
# Installed packages and Python's own library are not included: their versions belong to the environment, not the
# pipeline (`reached_code.py` has those). For their modules, only the module's own source counts. Imports are read from
# the source, so that no module is loaded, and it does not matter which ones are already imported. Of an archive, all
# code counts: executors import the pipeline's modules from one, and would wait for its imports to be read.

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
        return _archive_digest(loader.archive)
    code = module_code(module)
    digest = hashlib.sha256()
    for path in sorted(code.files):
        name = path.relative_to(code.root).as_posix()
        digest.update(name.encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()


def _archive_digest(archive: str) -> str:
    """Return a digest of all code in an archive by its list of files, which has a checksum of each."""
    with ZipFile(archive) as opened:
        files = [each for each in opened.infolist() if each.filename.endswith((".py", ".pyc"))]
    listed = sorted(f"{each.filename}\0{each.file_size} {each.CRC:08x}\n" for each in files)
    return hashlib.sha256("".join(listed).encode("utf-8", "surrogatepass")).hexdigest()


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
    """Yield the files below `root` that a file may import."""
    package = list(file.relative_to(root).parent.parts)
    try:
        tree = ast.parse(file.read_bytes())
    except SyntaxError:  # such a file cannot be imported, either
        return
    for name in imported_names(tree, package):
        for length in range(1, len(name) + 1):
            path = root.joinpath(*name[:length])
            yield from (
                candidate for candidate in (path.with_suffix(".py"), path / "__init__.py") if candidate.is_file()
            )


def imported_names(tree: ast.AST, package: list[str]) -> Iterator[list[str]]:
    """Yield the parts of each name that a module may import: by statements, by its `__all__`, by calls with a literal.

    `package` is the module's.
    """
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name.split(".") for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            above = package[: len(package) - node.level + 1] if node.level else []
            base = above + (node.module or "").split(".") if node.module else above
            yield from (base, *([*base, alias.name] for alias in node.names))
        else:
            names = (text.split(".") for text in _literal_names(node, ".".join(package)))
            yield from (parts for parts in names if all(part.isidentifier() for part in parts))


def _literal_names(node: ast.AST, package: str) -> Iterator[str]:
    match node:
        case ast.Call(
            func=ast.Name(id="import_module" | "__import__") | ast.Attribute(attr="import_module"),
            args=[ast.Constant(value=str(module)), *_],
        ):
            yield f"{package}{module}" if module.startswith(".") else module
        case ast.Assign(targets=[ast.Name(id="__all__")], value=ast.List(elts=elements) | ast.Tuple(elts=elements)):
            texts = (each.value for each in elements if isinstance(each, ast.Constant))
            yield from (f"{package}.{text}" for text in texts if isinstance(text, str))
