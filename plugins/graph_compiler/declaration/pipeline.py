"""A whole declaration as one frozen value: what the environment hands to the compiler."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from graph_compiler.declaration.parameters import Parameter, ParameterValue
from graph_compiler.declaration.schedule import Schedule
from graph_compiler.declaration.transformations import PhysicalTransformation, Transformation

RUN_DATE = "run_date"
"""The parameter every run has without being declared: its logical date, else the day it runs after."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Pipeline:
    """A named set of transformations in the order of their ids, with raw options, parameters, and when it runs.

    `params_model` is the pydantic model the parameters were declared by, which may check more than a schema can say.
    """

    name: str
    transformations: tuple[Transformation, ...]
    config: tuple[tuple[str, str], ...] = ()
    parameters: tuple[Parameter, ...] = ()
    params_model: type[Any] | None = None
    schedule: Schedule | None = None
    description: str | None = None
    tags: tuple[str, ...] = ()

    @property
    def params(self) -> tuple[tuple[str, ParameterValue], ...]:
        """Give each parameter's name and default."""
        return tuple((parameter.name, parameter.default) for parameter in self.parameters)

    @property
    def operators(self) -> tuple[PhysicalTransformation, ...]:
        """Give the transformations that become operators."""
        return tuple(t for t in self.transformations if isinstance(t, PhysicalTransformation))
