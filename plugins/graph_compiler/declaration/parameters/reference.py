"""A parameter in the place of a value, for what is no SQL text: `transform(clean, least=param("least"))`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias


@dataclass(frozen=True, slots=True)
class ParameterReference:
    """The value that a run has for a parameter of the pipeline, or for `run_date`."""

    name: str

    def __str__(self) -> str:
        """Return it as it is written in expressions: `:least`."""
        return f":{self.name}"


Argument: TypeAlias = str | int | float | bool | ParameterReference
"""What a function can be given by keyword."""


def param(name: str) -> ParameterReference:
    """Return a reference to a parameter, which each run replaces by its value."""
    return ParameterReference(name)
