"""A parameter in place of a value, for arguments that are not SQL text: `transform(clean, least=param("least"))`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias


@dataclass(frozen=True, slots=True)
class ParameterReference:
    """A reference to the run's value of a parameter, or of `run_date`."""

    name: str

    def __str__(self) -> str:
        """Return it in the form used in expressions: `:least`."""
        return f":{self.name}"


Argument: TypeAlias = str | int | float | bool | ParameterReference
"""What a function's keyword can be bound to."""


def param(name: str) -> ParameterReference:
    """Return a reference to a parameter, which each run replaces by its value."""
    return ParameterReference(name)
