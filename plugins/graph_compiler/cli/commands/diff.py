"""`graph-compiler diff OLD NEW`: show what a change does, before it runs."""

from __future__ import annotations

import json
from typing import Annotated

import typer

from graph_compiler.cli.arguments.versions import summary_of
from graph_compiler.cli.console import AsJson, ExitCode, speaking_plainly
from graph_compiler.explain.diff.plan_diff import plan_diff
from graph_compiler.explain.diff.plan_diff_text import diff_json, diff_summary, diff_text

Version = "a module, a file, or REVISION:FILE as git writes it"


def diff(
    old: Annotated[str, typer.Argument(help=f"The old version: {Version}.")],
    new: Annotated[str, typer.Argument(help=f"The new version: {Version}.")],
    as_json: AsJson = False,
    summary: Annotated[bool, typer.Option("--summary", help="Print only the first line, for a pull request.")] = False,
    exit_code: Annotated[bool, typer.Option("--exit-code", help="Exit with code 1 if they differ.")] = False,
) -> None:
    """Compare two versions of a pipeline: operators, staged results that stay reusable, tasks.

    Each version is imported in a separate process; a revision is first unpacked into a temporary folder.
    """
    if summary and as_json:
        raise typer.BadParameter("--json includes the summary: use only one of them")
    with speaking_plainly():
        found = plan_diff(summary_of(old), summary_of(new))
    if as_json:
        typer.echo(json.dumps(diff_json(found), indent=1))
    else:
        typer.echo(diff_summary(found) if summary else diff_text(found))
    differs = exit_code and not found.is_empty
    raise typer.Exit(ExitCode.LEFT_TO_DO if differs else ExitCode.DONE)
