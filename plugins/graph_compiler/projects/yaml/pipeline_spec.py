"""A whole file as a model."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import Field

from graph_compiler.projects.yaml.forms import FORMS
from graph_compiler.projects.yaml.operations import Sink, Source, Step
from graph_compiler.projects.yaml.run_forms import (
    AirflowForm,
    DagForm,
    ParameterForm,
    ParametersOrModel,
    ScheduleForm,
    TaskForm,
)
from graph_compiler.projects.yaml.values import Form, Names, PlainValue


class PipelineSpec(Form):
    """A pipeline: sources, then steps in the order in which they would be called, then sinks."""

    name: Annotated[str, Field(description="The pipeline's name, and the Airflow Dag's id.")]
    description: Annotated[
        str | None, Field(default=None, description="A line about it, for Airflow's list of Dags.")
    ]
    tags: Annotated[
        Names | None, Field(default=None, description="Tags by which Airflow's list is filtered.")
    ]
    schedule: Annotated[ScheduleForm | None, Field(default=None, description="When it runs.")]
    airflow: Annotated[
        AirflowForm | None, Field(default=None, description="Airflow's own arguments, by name.")
    ]
    params: Annotated[
        ParametersOrModel,
        Field(
            default_factory=dict,
            description="The run's parameters with their defaults: {{ params.x }} in paths, :x in expressions.",
        ),
    ]
    config: Annotated[
        dict[str, PlainValue],
        Field(default_factory=dict, description="Options under Flink's keys."),
    ]
    sources: Annotated[
        dict[str, Source],
        Field(
            default_factory=dict,
            description="Streams by name, and the connectors they are read from.",
        ),
    ]
    steps: Annotated[
        list[Step],
        Field(
            default_factory=list,
            description="Operators. Each reads the step before it, unless `from` says otherwise.",
        ),
    ]
    sinks: Annotated[
        dict[str, Sink],  # type: ignore[valid-type]  # the same
        Field(
            default_factory=dict, description="Sinks by name: what they read, and where it goes."
        ),
    ]


def _airflow_form(section: tuple[Any, ...]) -> type[Form]:
    if section == ():
        return AirflowForm
    return DagForm if section[0] == "dag" else TaskForm


def form_at(path: tuple[Any, ...]) -> type[Form] | None:
    """Return the form at a pydantic path: that of the last tag."""
    for part in reversed(path):
        if part in FORMS:
            return FORMS[part]
    if path[:1] == ("sinks",):
        return Sink
    if path[:1] == ("schedule",):
        return ScheduleForm
    if path[:1] == ("airflow",):
        return _airflow_form(path[1:])
    if path[:1] == ("params",):
        return ParameterForm
    return PipelineSpec
