"""Which Airflow a command means: the API at an address, by default that of this host's Airflow."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer
from rich.text import Text

from graph_compiler.cli.console import ExitCode, speaking_plainly, standard_error
from graph_compiler.cli.running.embedded_airflow import UI_PASSWORDS, EmbeddedAirflow
from graph_compiler.run_client import AirflowUnreachableError, RunClient
from graph_compiler.run_client.login import URL, HostAirflow

ApiUrl = Annotated[
    str | None,
    typer.Option(
        "--api-url",
        envvar=URL,
        show_envvar=False,
        help="Address of Airflow's API server; default: what the configuration of this host's Airflow says. The login "
        "comes from the environment, GRAPH_COMPILER_API_TOKEN, or GRAPH_COMPILER_API_USER and "
        "GRAPH_COMPILER_API_PASSWORD; for an Airflow of this host, from its password file.",
    ),
]
ClientDag = Annotated[
    str,
    typer.Argument(
        metavar="DAG",
        help="A Dag's id, which is the name of its pipeline. For a pipeline in another Dag: "
        "PIPELINE@DAG:GROUP:MAP_INDEX.",
    ),
]


def client_of(api_url: str | None) -> RunClient:
    """Return a client; raises ParameterError for a bad address, or without a login."""
    airflow = EmbeddedAirflow(Path.cwd())
    host = HostAirflow(home=airflow.home, environment=os.environ, ui_passwords=airflow.ui_home / UI_PASSWORDS)
    url = api_url or host.api_url
    return RunClient.of_api(url, host.login(url), staging_root=airflow.staging_root)


@contextmanager
def asking(api_url: str | None) -> Iterator[RunClient]:
    """Yield a client. Its errors are printed: code 1 if Airflow does not answer, code 2 if it refuses."""
    with speaking_plainly():
        try:
            with client_of(api_url) as client:
                yield client
        except AirflowUnreachableError as error:
            standard_error().print(Text(str(error)), soft_wrap=True)
            raise typer.Exit(ExitCode.LEFT_TO_DO) from None
