"""`graph-compiler doctor`: check that this machine has what a run needs, and suggest fixes."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import asdict
from pathlib import Path

import typer
from rich.console import Console
from rich.text import Text

from graph_compiler.cli.console import AsJson, ExitCode, standard_output
from graph_compiler.cli.diagnosis.airflow_questions import AIRFLOW_QUESTIONS
from graph_compiler.cli.diagnosis.host_questions import HOST_QUESTIONS
from graph_compiler.cli.diagnosis.question import Answer, State, ask, host_of
from graph_compiler.cli.diagnosis.table_questions import TABLE_QUESTIONS
from graph_compiler.cli.running.embedded_airflow import EmbeddedAirflow
from graph_compiler.identifiers import counted

_QUESTIONS = (*HOST_QUESTIONS, *TABLE_QUESTIONS, *AIRFLOW_QUESTIONS)
_SIGNS = {State.OK: ("✓", "green"), State.WARNING: ("!", "yellow"), State.FAILED: ("✗", "red")}


def doctor(as_json: AsJson = False) -> None:
    """Check Java, Spark, Airflow and the staging root as a run would use them, and suggest a fix for each problem.

    Exit code 1 if a check fails.
    """
    with host_of(EmbeddedAirflow(Path.cwd())) as host:
        found = ask(_QUESTIONS, host)
        answers = list(found if as_json else _shown(found, standard_output()))
    if as_json:
        checks = [{"name": answer.name, **asdict(answer.finding)} for answer in answers]
        typer.echo(json.dumps({"checks": checks}, indent=1))
    is_ill = any(answer.is_failed for answer in answers)
    raise typer.Exit(ExitCode.LEFT_TO_DO if is_ill else ExitCode.DONE)


def _shown(answers: Iterable[Answer], console: Console) -> Iterator[Answer]:
    """Show each answer as soon as it is there, then their number."""
    width = max(len(question.name) for question in _QUESTIONS)
    found = Counter[State]()
    for answer in answers:
        sign, style = _SIGNS[answer.finding.state]
        line = Text(f"{sign} ", style=style) + Text(f"{answer.name:<{width}}  ", style="bold")
        console.print(line + Text(answer.finding.found), soft_wrap=True)
        if answer.finding.cure:
            console.print(Text(f"{'':{width + 4}}cure: {answer.finding.cure}"), soft_wrap=True)
        found[answer.finding.state] += 1
        yield answer
    console.print(
        f"{counted(found.total(), 'check')}, {found[State.FAILED]} failed, {counted(found[State.WARNING], 'warning')}",
        highlight=False,
    )
