"""A whole declaration as one frozen value: what the environment hands to the compiler."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from graph_compiler.declaration.transformations import PhysicalTransformation, Transformation

ParameterValue: TypeAlias = str | int | float | bool

RUN_DATE = "run_date"
"""The parameter every run has without being declared: its logical date, else the day it runs after."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Pipeline:
    """A named set of transformations in the order of their ids, with raw options and typed parameter defaults."""

    name: str
    transformations: tuple[Transformation, ...]
    config: tuple[tuple[str, str], ...] = ()
    params: tuple[tuple[str, ParameterValue], ...] = ()

    @property
    def operators(self) -> tuple[PhysicalTransformation, ...]:
        """Give the transformations that become operators."""
        return tuple(t for t in self.transformations if isinstance(t, PhysicalTransformation))
