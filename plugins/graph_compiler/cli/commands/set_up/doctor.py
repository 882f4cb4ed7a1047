"""`graph-compiler doctor`: check that this machine has what a run needs, and suggest fixes."""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import typer
from rich.console import Console
from rich.text import Text

from graph_compiler.cli.console import AsJson, ExitCode, standard_output
from graph_compiler.cli.diagnosis.airflow_health import AskingAirflow, judge_airflow
from graph_compiler.cli.diagnosis.check import Answer, State, carry_out_checks
from graph_compiler.cli.diagnosis.deployment import DEPLOYMENT_CHECKS
from graph_compiler.cli.diagnosis.executors import judge_executors
from graph_compiler.cli.diagnosis.object_store import judge_object_store
from graph_compiler.cli.diagnosis.programs import PROGRAM_CHECKS, Programs
from graph_compiler.cli.diagnosis.staging_root import StagingRoot, judge_staging_root
from graph_compiler.cli.running.embedded_airflow import EmbeddedAirflow
from graph_compiler.declaration.connectors.file_uris import local_path
from graph_compiler.errors import ConfigurationError, StagingError
from graph_compiler.identifiers import counted

_SIGNS = {State.OK: ("✓", "green"), State.WARNING: ("!", "yellow"), State.FAILED: ("✗", "red")}


def doctor(as_json: AsJson = False) -> None:
    """Check Java, Spark, Airflow and the staging root as a run would use them, and suggest a fix for each problem.

    Exit code 1 if a check fails.
    """
    answers = examine(EmbeddedAirflow(Path.cwd()))
    if as_json:
        typer.echo(json.dumps({"checks": [_json(answer) for answer in answers]}, indent=1))
    else:
        _show(answers, standard_output())
    is_ill = any(answer.finding.state is State.FAILED for answer in answers)
    raise typer.Exit(ExitCode.LEFT_TO_DO if is_ill else ExitCode.DONE)


def examine(airflow: EmbeddedAirflow) -> tuple[Answer, ...]:
    """Carry out every check while Airflow starts. Without a staging root, its checks are left out."""
    environment, root = _environment(airflow), _staging_root(airflow)
    with AskingAirflow(airflow.home, environment, root) as asked:
        here = (
            *carry_out_checks(PROGRAM_CHECKS, Programs(environment=environment)),
            *carry_out_checks(DEPLOYMENT_CHECKS, airflow),
            *(_judge_root(root) if root else ()),
        )
        health = asked.health()
    return (*here, *judge_airflow(health), *judge_executors(health, environment))


def _environment(airflow: EmbeddedAirflow) -> dict[str, str]:
    try:
        return airflow.asking_environment()
    except ConfigurationError:  # the check of the configuration reports it
        return dict(os.environ)


def _staging_root(airflow: EmbeddedAirflow) -> str | None:
    try:
        return airflow.staging_root
    except (ConfigurationError, StagingError):  # it is reported there, too
        return None


def _judge_root(root: str) -> tuple[Answer, ...]:
    path = local_path(root)
    if path is None:
        return judge_object_store(root)
    return judge_staging_root(StagingRoot(folder=Path(path)))


def _show(answers: Sequence[Answer], console: Console) -> None:
    width = max(len(answer.name) for answer in answers)
    for answer in answers:
        sign, style = _SIGNS[answer.finding.state]
        line = Text(f"{sign} ", style=style) + Text(f"{answer.name:<{width}}  ", style="bold")
        console.print(line + Text(answer.finding.found), soft_wrap=True)
        if answer.finding.cure:
            console.print(Text(f"{'':{width + 4}}cure: {answer.finding.cure}"), soft_wrap=True)
    found = Counter(answer.finding.state for answer in answers)
    console.print(
        f"{counted(len(answers), 'check')}, {found[State.FAILED]} failed, {counted(found[State.WARNING], 'warning')}",
        highlight=False,
    )


def _json(answer: Answer) -> dict[str, str | None]:
    return {
        "name": answer.name,
        "state": answer.finding.state.value,
        "found": answer.finding.found,
        "cure": answer.finding.cure,
    }
