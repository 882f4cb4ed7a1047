"""The methods of classes in jars, read from their class files (Java Virtual Machine Specification, chapter 4)."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from zipfile import ZipFile

CONSTRUCTOR = "<init>"
_SIZES = {3: 4, 4: 4, 5: 8, 6: 8, 7: 2, 8: 2, 9: 4, 10: 4, 11: 4, 12: 4, 15: 3, 16: 2, 17: 4, 18: 4, 19: 2, 20: 2}
_UTF8, _CLASS, _WIDE = 1, 7, (5, 6)


@dataclass(frozen=True, slots=True)
class ClassFile:
    """What a class inherits from, and its own methods, each with its number of arguments."""

    parents: tuple[str, ...]
    methods: frozenset[tuple[str, int]]


class Jars:
    """The classes of the jars in a folder."""

    def __init__(self, folder: Path) -> None:
        self._jars = sorted(folder.glob("*.jar"))
        self._read: dict[str, ClassFile | None] = {}

    def has(self, name: str, method: str, arguments: int) -> bool:
        """Whether a class has a method with so many arguments, or inherits it."""
        return self.declared_in(name, method, arguments) is not None

    def declared_in(self, name: str, method: str, arguments: int) -> str | None:
        """Return the class or interface that declares a method of a class first; None if it has no such method.

        What Java's own classes declare is not known.
        """
        found = self.class_file(name)
        if found is None:
            return None
        above = () if method == CONSTRUCTOR else found.parents
        inherited = (self.declared_in(each, method, arguments) for each in above)
        own = name if (method, arguments) in found.methods else None
        return next((each for each in inherited if each is not None), own)

    def class_file(self, name: str) -> ClassFile | None:
        """Return a class by its full name, None if no jar has it."""
        if name not in self._read:
            place = self._places.get(f"{name.replace('.', '/')}.class")
            self._read[name] = None if place is None else parsed(place.read(f"{name.replace('.', '/')}.class"))
        return self._read[name]

    @cached_property
    def _places(self) -> dict[str, ZipFile]:
        return {name: archive for archive in map(ZipFile, self._jars) for name in archive.namelist()}


def parsed(data: bytes) -> ClassFile:
    """Read a class file."""
    texts: dict[int, str] = {}
    classes: dict[int, int] = {}
    (count,) = struct.unpack_from(">H", data, 8)
    at, number = 10, 1
    while number < count:
        tag = data[at]
        if tag == _UTF8:
            (length,) = struct.unpack_from(">H", data, at + 1)
            texts[number] = data[at + 3 : at + 3 + length].decode("utf-8", "replace")
            at += 3 + length
        else:
            if tag == _CLASS:
                (classes[number],) = struct.unpack_from(">H", data, at + 1)
            at += 1 + _SIZES[tag]
        number += 2 if tag in _WIDE else 1
    parent, interfaces = struct.unpack_from(">HH", data, at + 4)
    above = [parent, *struct.unpack_from(f">{interfaces}H", data, at + 8)]
    at = _after_members(data, at + 8 + 2 * interfaces)
    methods = {(texts[name], _arguments(texts[kind])) for name, kind in _members(data, at)}
    return ClassFile(tuple(texts[classes[each]].replace("/", ".") for each in above if each), frozenset(methods))


def _members(data: bytes, at: int) -> Iterator[tuple[int, int]]:
    """Yield the places of name and descriptor of each member in a table."""
    (count,) = struct.unpack_from(">H", data, at)
    at += 2
    for _ in range(count):
        _, name, kind = struct.unpack_from(">HHH", data, at)
        yield name, kind
        at = _after_member(data, at)


def _after_members(data: bytes, at: int) -> int:
    (count,) = struct.unpack_from(">H", data, at)
    at += 2
    for _ in range(count):
        at = _after_member(data, at)
    return at


def _after_member(data: bytes, at: int) -> int:
    (attributes,) = struct.unpack_from(">H", data, at + 6)
    at += 8
    for _ in range(attributes):
        (length,) = struct.unpack_from(">I", data, at + 2)
        at += 6 + length
    return at


def _arguments(descriptor: str) -> int:
    """Return how many arguments a method has: `(I[JLjava/lang/String;)V` has three."""
    count, at = 0, 1
    while descriptor[at] != ")":
        while descriptor[at] == "[":
            at += 1
        at = descriptor.index(";", at) + 1 if descriptor[at] == "L" else at + 1
        count += 1
    return count
