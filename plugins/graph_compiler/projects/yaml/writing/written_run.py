"""How a pipeline is run, as YAML: its description, tags, schedule and parameters."""

from __future__ import annotations

from dataclasses import fields
from datetime import date, timedelta
from pathlib import Path
from typing import Any

from graph_compiler.declaration.dag.schedule import Schedule
from graph_compiler.declaration.parameters.parameter import JSON_TYPES, Parameter
from graph_compiler.declaration.pipeline import Pipeline
from graph_compiler.errors import InvalidPipelineError, Problem
from graph_compiler.options.durations import format_duration
from graph_compiler.projects.yaml.airflow_forms import written_airflow
from graph_compiler.projects.yaml.run_forms import PATH


def written_run(pipeline: Pipeline, project: Path | None) -> dict[str, Any]:
    """Return the sections of a file; unset ones are empty or None. Defaults below `project` become relative to it.

    Raises InvalidPipelineError for an argument of Airflow that only Python has.
    """
    model = pipeline.params_model
    return {
        "description": pipeline.description,
        "tags": list(pipeline.tags),
        "schedule": None if pipeline.schedule is None else _schedule(pipeline.schedule),
        "airflow": _airflow(pipeline),
        "params": {one.name: _parameter(one, project) for one in pipeline.parameters}
        if model is None
        else f"{model.__module__}:{model.__qualname__}",
    }


def _airflow(pipeline: Pipeline) -> dict[str, Any]:
    try:
        return written_airflow(pipeline.airflow)
    except ValueError as error:
        problem = Problem(message=f"airflow: {error}", hint="keep it in a Dag file: build_dag(…)")
        raise pipeline.placed(InvalidPipelineError(pipeline.name, [problem])) from None


def _schedule(schedule: Schedule) -> dict[str, Any]:
    """Return the settings that differ from the defaults."""
    values = {
        field.name: (getattr(schedule, field.name), field.default) for field in fields(schedule)
    }
    return {name: _plain(value) for name, (value, default) in values.items() if value != default}


def _plain(value: object) -> object:
    if isinstance(value, timedelta):
        return format_duration(value)
    if isinstance(value, date):
        return value.isoformat()
    return list(value) if isinstance(value, tuple) else value


def _parameter(parameter: Parameter, project: Path | None) -> object:
    default, keywords = parameter.default, parameter.keywords
    if keywords["type"] == JSON_TYPES[type(default)]:
        del keywords["type"]
    if project is not None and "format" not in keywords and (path := _below(project, default)):
        default, keywords = path, {**keywords, "format": PATH}
    return {"default": default, **keywords} if keywords else default


def _below(project: Path, value: object) -> str | None:
    """Return an absolute path below the project relative to it, None for any other value."""
    if not isinstance(value, str) or not value.startswith(f"{project}/"):
        return None
    relative = value.removeprefix(f"{project}/")
    return relative if str(project / relative) == value else None
