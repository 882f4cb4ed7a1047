"""Problems of how a pipeline runs: its parameters' defaults, its schedule, Airflow's arguments, the files it names."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import fields

from graph_compiler.declaration.dag.airflow_arguments import AirflowArguments
from graph_compiler.declaration.pipeline import Pipeline
from graph_compiler.errors import Problem
from graph_compiler.identifiers import listing, shown
from graph_compiler.options.parameter_checks import default_problems
from graph_compiler.options.schedule_checks import schedule_problems


def defaults(pipeline: Pipeline) -> Iterator[Problem]:
    """Find defaults that violate their schema."""
    yield from default_problems(pipeline.parameters)


def schedule(pipeline: Pipeline) -> Iterator[Problem]:
    """Find schedules that Airflow would refuse, or that contradict themselves."""
    if pipeline.schedule is not None:
        yield from schedule_problems(pipeline.schedule)


def airflow(pipeline: Pipeline) -> Iterator[Problem]:
    """Find arguments that Airflow does not have."""
    given = pipeline.airflow
    if not isinstance(given, AirflowArguments):
        yield Problem(key="airflow", message=f"airflow is {shown(given)}", allowed="AirflowArguments(…)")
    elif odd := [f.name for f in fields(given) if not isinstance(getattr(given, f.name), Mapping)]:
        yield Problem(key="airflow", message=f"airflow: {listing(odd)} must be mappings")
    else:
        yield from given.problems("airflow.dag")


def artifacts(pipeline: Pipeline) -> Iterator[Problem]:
    """Find files, jars and Python environments that cannot travel."""
    yield from pipeline.artifacts.problems
