"""Find every value of one kind inside another, at any depth: the secrets of a region, the functions of an operator."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from typing import TypeVar

Kind = TypeVar("Kind")


def values_within(value: object, kind: type[Kind]) -> Iterator[Kind]:
    """Yield the values in the order of their fields; one that occurs twice is yielded twice."""
    if isinstance(value, kind):
        yield value
    elif isinstance(value, tuple):
        for item in value:
            yield from values_within(item, kind)
    elif is_dataclass(value):
        for field in fields(value):
            yield from values_within(getattr(value, field.name), kind)
