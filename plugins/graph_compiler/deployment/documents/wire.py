"""Convert values to JSON and back, only by their types, with the standard library (Spark's driver has nothing else).

    to_wire(Filter("delay > 5"))   →   {"type": "Filter", "condition": "delay > 5", "rejects": null}
    from_wire(Operator, {…})       →   Filter("delay > 5")

Every dataclass is written with its type's name, so that a field of a base type finds the subclass again, among those
that are loaded. A connector or an operator of another package is written with the name that is registered for it
(`extensions.py`). No document makes a program import what it names. Anything unexpected (a key, a kind, a missing
field) raises DescriptorError with its place in the document. If documents of an earlier version do not have a field,
its metadata gives the value for them: `field(metadata={ABSENT: None})`. The fields of a FLAT field are written among
those of its owner, and have their defaults if a document does not have them. An UNSAID field is only written if it is
not its default, so that documents, and their digests, do not change when such a field is added.
"""

from __future__ import annotations

import hashlib
import json
import sys
import types
from collections.abc import Iterator, Mapping
from dataclasses import Field, fields, is_dataclass
from enum import Enum
from functools import cache
from typing import Any, TypeAlias, TypeVar, Union, get_args, get_origin, get_type_hints

from graph_compiler.errors import DescriptorError
from graph_compiler.extensions import UNSAID, Extensible, find_kind, is_foreign, reference

Json: TypeAlias = bool | int | float | str | list["Json"] | dict[str, "Json"] | None
Value = TypeVar("Value")
PLAIN = frozenset({type(None), bool, int, float, str})
"""The types of most values; asking for them first makes writing and searching twice as fast."""
ABSENT = "absent"
FLAT = "flat"


def to_wire(value: object) -> Json:
    """Encode a dataclass, tuple, mapping of strings, enum or plain value."""
    if type(value) in PLAIN:
        return value  # type: ignore[return-value]  # its type is one of these
    if is_dataclass(value) and not isinstance(value, type):
        return {"type": _type_name(type(value)), **_fields_to_wire(value)}
    if isinstance(value, Enum):
        return to_wire(value.value)
    if isinstance(value, tuple | list):
        return [to_wire(item) for item in value]
    if isinstance(value, Mapping):
        return {str(key): to_wire(item) for key, item in value.items()}
    assert value is None or isinstance(value, bool | int | float | str), f"{value!r} cannot cross the wire"
    return value


def _type_name(kind: type) -> str:
    is_registered = issubclass(kind, Extensible) and is_foreign(kind)
    return reference(kind) if is_registered else kind.__name__


def _fields_to_wire(value: Any) -> dict[str, Json]:
    encoded: dict[str, Json] = {}
    kind: Any = type(value)
    for field in _fields(kind):
        found = getattr(value, field.name)
        if UNSAID in field.metadata and found == field.default:
            continue
        if FLAT in field.metadata:
            encoded |= _fields_to_wire(found)
        else:
            encoded[field.name] = to_wire(found)
    return encoded


@cache
def _fields(kind: type) -> tuple[Field[Any], ...]:
    """Return the fields of a dataclass; cached, since computing them takes as long as the rest."""
    return fields(kind)


def from_wire(expected: type[Value], data: Json) -> Value:
    """Decode a dataclass; raises DescriptorError if the document does not fit the type.

    Raises ExtensionError if it names a kind of another package that cannot be used here.
    """
    return _decode(expected, data, expected.__name__)  # type: ignore[no-any-return]  # built from type hints


def to_json(value: object, *, indent: int | None = 1) -> str:
    """Encode as the text of a document; without indentation, Python writes it several times as fast."""
    return json.dumps(to_wire(value), indent=indent)


def from_json(expected: type[Value], text: str | bytes, *, version: int | None = None) -> Value:
    """Decode the text of a document; raises DescriptorError if it does not fit the type.

    With a `version`, it also raises for any other version; it is checked first, since other differences follow from it.
    """
    document = json.loads(text)
    found = document.get("version") if isinstance(document, dict) else None
    if version is not None and found != version:
        raise DescriptorError(f"the {expected.__name__} has version {found!r}; this program reads version {version}")
    return from_wire(expected, document)


def _decode(expected: Any, data: Json, where: str) -> Any:
    origin = get_origin(expected)
    if origin in (Union, types.UnionType):
        return _decode_union(get_args(expected), data, where)
    if origin is tuple:
        return _decode_tuple(get_args(expected), data, where)
    if origin in (dict, Mapping):
        _check(isinstance(data, dict), where, "an object", data)
        item = get_args(expected)[1]
        return {key: _decode(item, value, f"{where}.{key}") for key, value in _items(data)}
    if isinstance(expected, type) and is_dataclass(expected):
        return _decode_dataclass(expected, data, where)
    if isinstance(expected, type) and issubclass(expected, Enum):
        try:
            return expected(data)
        except ValueError:
            raise DescriptorError(f"{where}: found {data!r}; allowed: {[str(member) for member in expected]}") from None
    return _decode_plain(expected, data, where)


def _decode_plain(expected: Any, data: Json, where: str) -> Any:
    plain = getattr(expected, "__supertype__", expected)  # a NewType is written as its supertype
    if plain is float and type(data) is int:  # other writers of JSON write 7 for 7.0
        return float(data)
    fits = isinstance(data, plain) and (plain is bool or not isinstance(data, bool))
    _check(fits, where, getattr(plain, "__name__", str(plain)), data)
    return data


def _decode_union(options: tuple[Any, ...], data: Json, where: str) -> Any:
    if data is None and type(None) in options:
        return None
    concrete = [option for option in options if option is not type(None)]
    if len(concrete) == 1:
        return _decode(concrete[0], data, where)
    fitting = [option for option in concrete if _has_form(option, data)]
    names = [getattr(option, "__name__", str(option)) for option in concrete]
    _check(bool(fitting), where, " or ".join(names), data)
    return _decode(fitting[0], data, where)


def _has_form(option: Any, data: Json) -> bool:
    """Whether data fits only this option of a union: by its JSON type, or by the type's name in it."""
    if get_origin(option) is tuple:
        return isinstance(data, list)
    if isinstance(option, type) and is_dataclass(option):
        return isinstance(data, dict) and data.get("type") in _leaves(option)
    return type(data) is option


def _decode_tuple(items: tuple[Any, ...], data: Json, where: str) -> tuple[Any, ...]:
    _check(isinstance(data, list), where, "a list", data)
    assert isinstance(data, list)
    if len(items) == 2 and items[1] is ...:
        return tuple(_decode(items[0], item, f"{where}[{number}]") for number, item in enumerate(data))
    _check(len(items) == len(data), where, f"{len(items)} items", data)
    pairs = enumerate(zip(items, data, strict=True))
    return tuple(_decode(item, value, f"{where}[{number}]") for number, (item, value) in pairs)


def _decode_dataclass(expected: type[Any], data: Json, where: str) -> Any:
    _check(isinstance(data, dict) and "type" in data, where, f"an object with the type of a {expected.__name__}", data)
    content = dict(_items(data))
    kind: Any = _kind(expected, content.pop("type"), where)
    hints = _hints(kind)
    flat = {f.name: fields(hints[f.name]) for f in fields(kind) if FLAT in f.metadata}
    inner = {f.name: to_wire(f.default) for each in flat.values() for f in each}
    absent = {f.name: f.metadata[ABSENT] for f in fields(kind) if ABSENT in f.metadata}
    absent |= {f.name: to_wire(f.default) for f in fields(kind) if UNSAID in f.metadata}
    content = absent | inner | content
    wanted = (hints.keys() - flat.keys()) | inner.keys()
    if content.keys() != wanted:
        odd = sorted(content.keys() ^ wanted)
        raise DescriptorError(f"{where}: a {kind.__name__} has the fields {sorted(wanted)}; these differ: {odd}")
    for name, each in flat.items():
        own = {f.name: content.pop(f.name) for f in each}
        content[name] = {"type": hints[name].__name__, **own}
    return kind(
        **{
            name: _decode(hints[name], value, where if name in flat else f"{where}.{name}")
            for name, value in content.items()
        }
    )


def _kind(expected: type[Any], name: Json, where: str) -> type[Any]:
    """Return a type by its name in a document: one of the known types; it never imports that name."""
    if issubclass(expected, Extensible) and isinstance(name, str) and ":" in name:
        return find_kind(name, expected)
    leaves = _leaves(expected)
    if not isinstance(name, str) or name not in leaves:
        raise DescriptorError(f"{where}: found type {name!r}; allowed: {sorted(leaves)}")
    return leaves[name]


def _leaves(base: type[Any]) -> dict[str, type[Any]]:
    """Return the type itself and its subclasses by name, without connectors and operators of other packages."""
    found = {base.__name__: base}
    subclasses: list[type[Any]] = base.__subclasses__()
    for subclass in subclasses:
        # slots=True creates a second class; the right one is in the module
        is_the_one = getattr(sys.modules[subclass.__module__], subclass.__name__, None) is subclass
        if is_the_one and not (issubclass(subclass, Extensible) and is_foreign(subclass)):
            found |= _leaves(subclass)
    return found


@cache
def _hints(kind: type) -> dict[str, Any]:
    """Return the types of a dataclass's fields; cached, since Python evaluates their texts each time."""
    known = get_type_hints(kind)
    return {field.name: known[field.name] for field in fields(kind)}


def _items(data: Json) -> Iterator[tuple[str, Json]]:
    assert isinstance(data, dict)
    return iter(data.items())


def _check(condition: bool, where: str, wanted: str, found: Json) -> None:
    if not condition:
        raise DescriptorError(f"{where}: found {found!r:.200}; allowed: {wanted}")


def digest(content: object) -> str:
    """Return the sha256 of a JSON document, independent of the order of its keys."""
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()


def are_known_to_differ(one: str | None, other: str | None) -> bool:
    """Whether two values differ; None is one that an earlier version has not recorded."""
    return None not in (one, other) and one != other


Kind = TypeVar("Kind")


def values_within(value: object, kind: type[Kind]) -> Iterator[Kind]:
    """Yield the values in the order of their fields; one that occurs twice is yielded twice."""
    if type(value) in PLAIN and kind not in PLAIN:
        return
    if isinstance(value, kind):
        yield value
    elif isinstance(value, tuple):
        for item in value:
            yield from values_within(item, kind)
    elif is_dataclass(value) and not isinstance(value, type):
        for field in _fields(type(value)):
            yield from values_within(getattr(value, field.name), kind)
