"""Connectors, operators and execution targets of other packages, which are found only by their entry points.

    [project.entry-points."graph_compiler.connectors"]
    sqlite = "acme_sqlite.connector:Sqlite"

`sqlite` is its key in YAML, `acme_sqlite.connector:Sqlite` its name in a descriptor. A name in a document is compared
with the registered ones, and never imported directly. Only requested kinds are imported, and only their declaration:
the class names the modules of its Spark half (`spark_modules`), which only Spark's driver imports.
"""

from __future__ import annotations

from dataclasses import is_dataclass
from functools import cache
from importlib import import_module
from importlib.metadata import EntryPoint, entry_points
from typing import Any, ClassVar, TypeVar

from graph_compiler.errors import ExtensionError

_OWN = "graph_compiler."
UNSAID = "unsaid"
"""In a field's metadata: documents leave the field out if it has its default."""


class Extensible:
    """A base class that other packages may extend: connectors and operators."""

    __slots__ = ()
    entry_points: ClassVar[str]
    """The group of entry points in which other packages register their kinds."""
    spark_modules: ClassVar[tuple[str, ...]] = ()
    """The modules that define how Spark reads, writes or evaluates it; the driver imports them when needed."""


Kind = TypeVar("Kind", bound=Extensible)
Value = TypeVar("Value")


def registered(base: type[Extensible]) -> tuple[EntryPoint, ...]:
    """Return the kinds that installed packages register, by name; nothing is imported."""
    return _registered(base.entry_points)


def registered_values(group: str) -> tuple[EntryPoint, ...]:
    """Return the values that installed packages register in a group, by name; nothing is imported."""
    return _registered(group)


@cache
def _registered(group: str) -> tuple[EntryPoint, ...]:
    found = {(entry.name, entry.value): entry for entry in _installed().select(group=group)}
    return tuple(found[key] for key in sorted(found))


_installed = cache(entry_points)
"""Computed once in a process: it reads a file of each installed package."""


def is_foreign(kind: type) -> bool:
    """Whether a kind belongs to another package."""
    return not kind.__module__.startswith(_OWN)


def reference(kind: type) -> str:
    """Return the name of a kind in a document and in its entry point: `module:class`."""
    return f"{kind.__module__}:{kind.__qualname__}"


def find_kind(name: str, base: type[Kind]) -> type[Kind]:
    """Return the registered kind of a name; raises ExtensionError if there is none, or it cannot be used."""
    for entry in registered(base):
        if entry.value == name:
            return load_kind(entry, base)
    raise ExtensionError(f"no package that is installed here registers '{name}' under {base.entry_points}")


def load_kind(entry: EntryPoint, base: type[Kind]) -> type[Kind]:
    """Import a registered kind; raises ExtensionError if it cannot be imported, or does not extend its base."""
    kind = _load(entry)
    if not isinstance(kind, type) or not issubclass(kind, base):
        raise ExtensionError(f"'{entry.value}' is not a kind of {base.__name__}")
    if reference(kind) != entry.value:
        raise ExtensionError(
            f"the entry point '{entry.name}' names '{entry.value}', which is defined as '{reference(kind)}'\n"
            "  hint: name the module that defines it"
        )
    if not is_dataclass(kind) or not kind.__dataclass_params__.frozen:
        raise ExtensionError(f"'{entry.value}' is not a frozen dataclass")
    return kind


def find_value(group: str, name: str, kind: type[Value]) -> Value | None:
    """Import the value that a package registers in a group under a name; None if none does.

    Raises ExtensionError if it cannot be imported, or is not of its kind.
    """
    entry = next((each for each in registered_values(group) if each.name == name), None)
    if entry is None:
        return None
    value = _load(entry)
    if not isinstance(value, kind):
        raise ExtensionError(f"'{entry.value}' is not of type {kind.__name__}")
    return value


def load_reference(name: str, needed_by: str) -> Any:
    """Import what a value names as `module:name`; raises ExtensionError."""
    return _load(EntryPoint(name=needed_by, value=name, group=""))


def _load(entry: EntryPoint) -> Any:
    try:
        return entry.load()
    except Exception as error:  # another package may raise any exception
        raise ExtensionError(f"'{entry.value}' cannot be imported: {type(error).__name__}: {error}") from error


def why_not_registered(kind: type[Extensible], base: type[Extensible]) -> str | None:
    """Return why a document cannot name another package's kind, None if it can."""
    try:
        found = find_kind(reference(kind), base)
    except ExtensionError as error:
        return str(error)
    return None if found is kind else f"'{reference(kind)}' is already registered by a different class"


def package_of(kind: type[Extensible], base: type[Extensible]) -> str | None:
    """Return the package and version that registers a kind, None for our own kinds."""
    if not is_foreign(kind):
        return None
    entries = (entry for entry in registered(base) if entry.value == reference(kind))
    distribution = next((entry.dist for entry in entries if entry.dist is not None), None)
    return f"{distribution.name} {distribution.version}" if distribution is not None else None


def load_spark_half(kind: type[Extensible]) -> None:
    """Import the modules that define how Spark reads, writes or evaluates a kind; raises ExtensionError."""
    for module in kind.spark_modules:
        try:
            import_module(module)
        except ImportError as error:
            raise ExtensionError(
                f"{module}, which implements on Spark {kind.__name__}, cannot be imported: {error}\n"
                "  hint: install its package where Spark's driver runs"
            ) from error
