"""`graph-compiler warm`: make the archive of classes with which drivers on this host start in half the CPU time."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer

from graph_compiler.cli.console import AsJson, ExitCode, speaking_plainly, standard_error
from graph_compiler.cli.running.embedded_airflow import EmbeddedAirflow
from graph_compiler.cli.warming.archive_making import SparkProgram, be_patient, make_archive, make_wanted_archive
from graph_compiler.driver_jvm.class_archive import archive_cache
from graph_compiler.driver_jvm.installation import DriverStartError, class_path_key, find_installation
from graph_compiler.identifiers import size_words

Again = Annotated[bool, typer.Option("--again", help="Make it even if there is one.")]
Background = Annotated[str | None, typer.Option("--background", hidden=True)]
"""The key of the archive that a task wanted."""
Program = Annotated[str, typer.Option("--program", hidden=True)]
"""What the task started: spark-submit, or another name of it."""


def warm(
    again: Again = False, as_json: AsJson = False, background: Background = None, program: Program = "spark-submit"
) -> None:
    """Make the class archive of this host's Java and Spark, with which drivers start in about half the CPU time.

    It takes one to three minutes on two cores, mostly waiting for Spark. Exit code 1 if none can be made.

    It is made by itself, in the background, after the second run on a host.
    """
    if background is not None:
        be_patient()
        with _explained():  # with the task's environment, and nothing of the folder in which this process is
            make_wanted_archive(background, program, os.environ)
        return
    with speaking_plainly():
        environment = EmbeddedAirflow(Path.cwd()).child_environment()
    with _explained():
        installation = find_installation(environment, program)
        key = class_path_key(installation, environment)
        cache = archive_cache(environment)
        found = None if again else cache.find(key)
        is_new = found is None
        if is_new:
            if not as_json:
                standard_error().print("Running a small pipeline with Spark")
            found = make_archive(cache, key, SparkProgram.of(installation, environment, program))
    if found is None:
        standard_error().print("Another process is making it")
        return
    size = found.stat().st_size
    if as_json:
        typer.echo(json.dumps({"archive": str(found), "bytes": size, "is_new": is_new}, indent=1))
    else:
        typer.echo(f"{found} ({size_words(size)}{'' if is_new else ', there already'})")


@contextmanager
def _explained() -> Iterator[None]:
    """Print why there is no archive, and exit with code 1."""
    try:
        yield
    except DriverStartError as error:
        standard_error().print(f"No class archive: {error}", soft_wrap=True, markup=False)
        raise typer.Exit(ExitCode.LEFT_TO_DO) from None
