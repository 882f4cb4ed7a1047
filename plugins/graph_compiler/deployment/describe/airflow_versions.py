"""What pipelines may ask of Airflow that an older one does not have; `airflow_backend` does the rest in another way.

since   what                                                 before
3.3     a retry policy (exponential-delay, failure-rate)     refused here
3.3     `rerun_with_latest_version` of a Dag                 refused here
3.3     a trigger learns that its task was marked, cleared   `execution.deferrable: true` is refused here, and
                                                             `default_deferrable` has no effect: a worker waits
3.3     the task state store                                 the run's folder (task/following/tracking.py)
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any

from graph_compiler.declaration.dag.airflow_arguments import AirflowArguments
from graph_compiler.errors import Problem
from graph_compiler.options.model import PipelineOptions
from graph_compiler.options.modes import RestartStrategyType
from graph_compiler.tested_versions import AIRFLOW, installed_version, numbers

SINCE = "3.3"
"""The Airflow that has all of it."""
_POLICIES = frozenset({RestartStrategyType.EXPONENTIAL_DELAY, RestartStrategyType.FAILURE_RATE})
_OF_DAGS, _OF_TASKS = frozenset({"rerun_with_latest_version"}), frozenset({"retry_policy"})


@cache
def installed_airflow() -> str | None:
    """Return the version of Airflow, None if there is none: that of a loaded one, which knows it, else look for it.

    To look takes a twentieth of the time in which Airflow parses a Dag, so it is done once in a process.
    """
    loaded = getattr(sys.modules.get("airflow"), "__version__", None)
    return loaded or installed_version(AIRFLOW.package)


def has_all(found: str | None = None) -> bool:
    """Whether a version of Airflow has all of it: the installed one by default; without any, the newest."""
    found = found or installed_airflow()
    return found is None or numbers(found) >= numbers(SINCE)


def missing_abilities(options: PipelineOptions, given: AirflowArguments, found: str | None = None) -> Iterator[Problem]:
    """Find what a pipeline asks for that the Airflow in use does not have; `found` is its version."""
    if has_all(found):
        return
    found = found or installed_airflow()
    hint = f"use Airflow {SINCE}"
    if (strategy := options.restart_strategy) in _POLICIES:
        yield Problem(
            message=f"restart-strategy.type is {strategy}, and Airflow {found} has no retry policies",
            allowed="none, fixed-delay",
            hint=hint,
        )
    if options.deferrable:
        yield Problem(
            message=f"execution.deferrable is true, and in Airflow {found}, a trigger cannot end what it waits for: "
            "of a task that is marked or cleared, the application would continue",
            allowed="false, or unset: its worker waits",
            hint=hint,
        )
    for where, arguments, names in _with_names(given):
        for name in sorted(names & arguments.keys()):
            yield Problem(message=f"{where} has '{name}', which Airflow {found} does not have", hint=hint)


def _with_names(given: AirflowArguments) -> Iterator[tuple[str, Mapping[str, Any], frozenset[str]]]:
    yield "airflow.dag", given.dag, _OF_DAGS
    yield "default_args", given.default_args, _OF_TASKS
    for what, all_given in (("group_args", given.group_args), ("task_args", given.task_args)):
        for owner, arguments in all_given.items():
            if isinstance(arguments, Mapping):  # `AirflowArguments.problems` says it of others
                yield f"{what}['{owner}']", arguments, _OF_TASKS
