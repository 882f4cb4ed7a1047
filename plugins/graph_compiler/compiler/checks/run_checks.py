"""Problems of how a pipeline runs: the defaults of its parameters, its schedule, the files it names."""

from __future__ import annotations

from collections.abc import Iterator

from graph_compiler.declaration.pipeline import Pipeline
from graph_compiler.errors import Problem
from graph_compiler.options.parameter_checks import default_problems
from graph_compiler.options.schedule_checks import schedule_problems


def defaults(pipeline: Pipeline) -> Iterator[Problem]:
    """Find defaults that violate their schema."""
    yield from default_problems(pipeline.parameters)


def schedule(pipeline: Pipeline) -> Iterator[Problem]:
    """Find schedules that Airflow would refuse, or that contradict themselves."""
    if pipeline.schedule is not None:
        yield from schedule_problems(pipeline.schedule)


def artifacts(pipeline: Pipeline) -> Iterator[Problem]:
    """Find files, jars and Python environments that cannot travel."""
    yield from pipeline.artifacts.problems
