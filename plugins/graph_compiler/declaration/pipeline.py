"""A whole declaration as one frozen value, which the environment passes to the compiler."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from graph_compiler.declaration.artifacts.artifact_options import NO_ARTIFACTS, Artifacts
from graph_compiler.declaration.dag.airflow_arguments import NO_ARGUMENTS, AirflowArguments
from graph_compiler.declaration.dag.schedule import Schedule
from graph_compiler.declaration.parameters.parameter import Parameter, ParameterValue
from graph_compiler.declaration.transformations import PhysicalTransformation, SourceTransformation, Transformation
from graph_compiler.errors import InvalidPipelineError, Problem, SourceLocation


@dataclass(frozen=True, slots=True, kw_only=True)
class Pipeline:
    """A named set of transformations in the order of their ids, with raw options, parameters, and when it runs.

    `params_model` is the pydantic model that declares the parameters; it may check more than a schema can.
    """

    name: str
    transformations: tuple[Transformation, ...]
    config: tuple[tuple[str, str], ...] = ()
    parameters: tuple[Parameter, ...] = ()
    params_model: type[Any] | None = None
    schedule: Schedule | None = None
    airflow: AirflowArguments = NO_ARGUMENTS
    description: str | None = None
    tags: tuple[str, ...] = ()
    artifacts: Artifacts = NO_ARTIFACTS
    declared_at: SourceLocation | None = field(default=None, compare=False)
    unread_sources: tuple[SourceTransformation, ...] = field(default=(), compare=False)
    """Sources that nothing reads; as in Flink, they are no part of the pipeline."""

    @property
    def params(self) -> tuple[tuple[str, ParameterValue], ...]:
        """Return each parameter's name and default."""
        return tuple((parameter.name, parameter.default) for parameter in self.parameters)

    @property
    def operators(self) -> tuple[PhysicalTransformation, ...]:
        """Return the transformations that become operators."""
        return tuple(t for t in self.transformations if isinstance(t, PhysicalTransformation))

    def placed(self, error: InvalidPipelineError) -> InvalidPipelineError:
        """Return an error in which problems without an operator have the location of the pipeline."""
        problems = [
            problem if problem.declared_at else replace(problem, declared_at=self.declared_at)
            for problem in error.problems
        ]
        return InvalidPipelineError(error.pipeline, problems)


class IncompletePipelineError(InvalidPipelineError):
    """Calls were refused while a pipeline was declared; `declared` is the pipeline without them, if there is one."""

    def __init__(self, pipeline: str, problems: Sequence[Problem], *, declared: Pipeline | None) -> None:
        super().__init__(pipeline, problems)
        self.declared = declared
