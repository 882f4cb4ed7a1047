"""The code that modules reach on this host: files by their digest, installed packages by version and build.

    reached_code(["pipelines.flights"])
        modules     pipelines    the project's files that are imported, even indirectly
                    helpers      those of another folder on PYTHONPATH, an editable installation, or an archive
        packages    pandas       an installed distribution, and those that it requires
                    numpy

Imports are read from the source, and nothing is imported. Installed packages are not read: that takes seconds for
pandas. Python's own library, pyspark and this package are left out. What is not found: a module whose name is only
known when the code runs, and an edit in an installed package, whose list of files (`RECORD`) stays the same.
"""

from __future__ import annotations

import ast
import hashlib
import re
import sys
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from importlib.machinery import all_suffixes
from importlib.metadata import Distribution, DistributionFinder, PackageNotFoundError, distribution
from importlib.resources import files
from importlib.util import find_spec
from pathlib import Path
from pkgutil import get_importer
from zipimport import zipimporter

import graph_compiler
from graph_compiler.declaration.functions import INSTALLED, LIBRARIES, imported_names
from graph_compiler.errors import GraphCompilerError

_LEFT_OUT = frozenset({"__main__", "graph_compiler", "py4j", "pyspark"})
_DRIVERS = ("declaration", "deployment", "driver_jvm", "graphs", "spark_runtime", "staging")
"""The rooms of this package that a driver imports."""
_OF_FRAMES = ("numpy", "pandas", "pyarrow")
"""Packages with which Spark calls functions, also those that import none of them."""
_BUILT_IN = frozenset({"built-in", "frozen"})
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
_EXTRA = re.compile(r"""extra == ['"](?P<name>[^'"]+)""")
_NOT_RUN = frozenset({"all", "dev", "doc", "docs", "test", "testing", "tests"})
"""Optional parts of packages that no pipeline runs, and those that include them."""
_SEPARATORS = re.compile(r"[-_.]+")


class UnknownCodeError(GraphCompilerError):
    """The code that a module reaches cannot be read."""


@dataclass(frozen=True, slots=True, kw_only=True)
class InstalledPackage:
    """An installed distribution. `build` is a digest of its list of files, empty if it has none."""

    version: str
    build: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ReachedCode:
    """Digests of files by the name under which they are imported, and packages by normalized name."""

    modules: Mapping[str, str]
    packages: Mapping[str, InstalledPackage]


def reached_code(modules: Iterable[str]) -> ReachedCode:
    """Return what the modules reach; nothing without any module. Raises UnknownCodeError."""
    names = tuple(modules)
    walk = _Walk()
    try:
        for module in names:
            walk.follow(module)
        packages = {**walk.packages, **_required(walk.packages, _OF_FRAMES if names else ())}
        found = {name: _identity(package) for name, package in packages.items()}
    except Exception as error:  # files may be gone, too deep or odd, and so may be what describes a package
        why = f"{type(error).__name__}: {error}"
        raise UnknownCodeError(f"its code cannot be read: {why}") from error
    return ReachedCode(
        modules={top: digest_of(files) for top, files in sorted(walk.files.items())},
        packages=dict(sorted(found.items())),
    )


def installed_packages(names: Iterable[str]) -> dict[str, InstalledPackage]:
    """Return those of the distributions that are installed."""
    found = {}
    for name in names:
        with suppress(PackageNotFoundError):
            found[name] = _identity(distribution(name))
    return found


def own_code() -> str:
    """Return a digest of the rooms of this package that a driver imports, and of the modules beside them."""
    own = files(graph_compiler)
    found = {each.name: each.read_bytes() for each in own.iterdir() if each.name.endswith(".py")}
    pending = [(name, own.joinpath(name)) for name in _DRIVERS]
    while pending:
        place, folder = pending.pop()
        for each in folder.iterdir():
            name = f"{place}/{each.name}"
            if each.name.endswith(".py"):
                found[name] = each.read_bytes()
            elif each.is_dir() and each.name != "__pycache__":
                pending.append((name, each))
    return digest_of(found)


def digest_of(files: Mapping[str, bytes]) -> str:
    """Return a sha256 over files and their names, in any order."""
    digest = hashlib.sha256()
    for name in sorted(files):
        content = hashlib.sha256(files[name]).hexdigest()
        digest.update(f"{content} {name}\n".encode("utf-8", "surrogatepass"))
    return digest.hexdigest()


@dataclass(frozen=True, slots=True)
class _Root:
    """A folder, or a folder in an archive, from which Python imports a name."""

    place: str
    archive: zipimporter | None

    @classmethod
    def of(cls, place: str) -> _Root:
        importer = get_importer(place)
        return cls(place, importer if isinstance(importer, zipimporter) else None)

    @property
    def is_pythons_own(self) -> bool:
        place = Path(self.place).resolve()
        zipped = f"python{sys.version_info.major}{sys.version_info.minor}.zip"
        built = place.parent if place.name == "lib-dynload" else place
        return built in LIBRARIES or place.name == zipped

    def read(self, name: str) -> bytes | None:
        """Return the content of a file, None if there is none."""
        try:
            if self.archive is not None:
                return self.archive.get_data(f"{self.place}/{name}")
            return Path(self.place, name).read_bytes()
        except (FileNotFoundError, NotADirectoryError, IsADirectoryError):
            return None
        except OSError:
            if self.archive is not None:  # what a zipimporter says of a name that it does not have
                return None
            raise


@dataclass(frozen=True, slots=True)
class _Origin:
    """Where a top-level name comes from: folders whose files are read, or the distributions that installed it."""

    roots: tuple[_Root, ...] = ()
    owners: tuple[Distribution, ...] = ()


@dataclass(slots=True)
class _Walk:
    """All modules that are reached from those that were followed."""

    files: dict[str, dict[str, bytes]] = field(default_factory=dict)
    packages: dict[str, Distribution] = field(default_factory=dict)
    _origins: dict[str, _Origin] = field(default_factory=dict)
    _seen: set[str] = field(default_factory=set)

    def follow(self, module: str) -> None:
        pending = [module]
        while pending:
            parts = pending.pop().split(".")
            for length in range(1, len(parts) + 1):
                name = ".".join(parts[:length])
                if name not in self._seen:
                    self._seen.add(name)
                    pending.extend(self._visit(name))

    def _visit(self, module: str) -> Iterator[str]:
        """Add a module's files; yield what they import."""
        top = module.partition(".")[0]
        if top not in self._origins:
            self._origins[top] = _origin(top)
            self.packages |= {_normalized(each.name): each for each in self._origins[top].owners}
        parts = module.split(".")
        for root in self._origins[top].roots:
            for stem, package in (("/".join(parts), parts[:-1]), ("/".join([*parts, "__init__"]), parts)):
                for suffix in all_suffixes():
                    content = root.read(stem + suffix)
                    if content is None:
                        continue
                    self.files.setdefault(top, {})[stem + suffix] = content
                    if suffix == ".py":
                        yield from _imports(content, package)


def _imports(source: bytes, package: list[str]) -> Iterator[str]:
    """Yield the names that a module may import."""
    try:
        tree = ast.parse(source)
    except SyntaxError:  # such a file cannot be imported, either
        return
    for name in map(".".join, imported_names(tree, package)):
        if all(part.isidentifier() for part in name.split(".")):  # without the star of `import *`
            yield name


def _origin(top: str) -> _Origin:
    if top in _LEFT_OUT:
        return _Origin()
    spec = find_spec(top)
    if spec is None or spec.origin in _BUILT_IN:
        return _Origin()
    inside = spec.submodule_search_locations
    places = [str(spec.origin)] if inside is None else list(inside)
    roots = [_Root.of(str(Path(place).parent)) for place in dict.fromkeys(places)]
    roots = [root for root in roots if not root.is_pythons_own]
    owners: list[Distribution] = []
    read: list[_Root] = []
    for root in roots:
        found = list(_owners(root.place, top, are_several=spec.origin is None))
        owners += found
        read += [] if found else [root]
    return _Origin(tuple(read), tuple(owners))


def _owners(place: str, top: str, *, are_several: bool) -> Iterator[Distribution]:
    """Yield the distributions that installed a name into a folder. `are_several`: a namespace may have many."""
    has = re.compile(rf"^{re.escape(top)}[/.]", re.MULTILINE)
    is_installed = Path(place).name in INSTALLED
    for name in (top, None):
        for each in Distribution.discover(context=DistributionFinder.Context(name=name, path=[place])):
            record = each.read_text("RECORD")
            # Without a list of files, as Debian's: the version stands for them, but only where packages are installed.
            listed = (each.read_text("top_level.txt") or "").split() if is_installed else []
            if has.search(record) if record else top in listed:
                yield each
                if not are_several:
                    return


def _required(packages: Mapping[str, Distribution], also: Iterable[str]) -> dict[str, Distribution]:
    """Return these packages, and what packages require and is installed: of the given ones also what is optional.

    pandas computes with numexpr and bottleneck, which it does not require, if they are there.
    """
    found: dict[str, Distribution] = {}
    pending = [*also, *(name for package in packages.values() for name in _requirements(package))]
    while pending:
        name = pending.pop()
        if name in found or name in packages:
            continue
        try:
            found[name] = distribution(name)
        except PackageNotFoundError:
            continue
        pending.extend(_requirements(found[name], optional=name in also))
    return found


def _requirements(package: Distribution, *, optional: bool = True) -> Iterator[str]:
    for requirement in package.requires or ():
        name, extra = _NAME.match(requirement), _EXTRA.search(requirement)
        if name and (extra is None or (optional and extra["name"] not in _NOT_RUN)):
            yield _normalized(name[0])


def _identity(package: Distribution) -> InstalledPackage:
    """Return a distribution's version and build, which are the same on all hosts that installed the same files."""
    files = {}
    for line in (package.read_text("RECORD") or "").splitlines():
        path, _, rest = line.partition(",")
        # The others differ with the installer, and with the place of its Python.
        if "sha256=" in rest and ".dist-info/" not in path and not path.startswith(".."):
            files[path] = rest.encode()
    return InstalledPackage(version=package.version, build=digest_of(files) if files else "")


def _normalized(name: str) -> str:
    return _SEPARATORS.sub("-", name).lower()
