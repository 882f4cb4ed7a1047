"""`graph-compiler tables maintain`: compact, expire and clean tables of Iceberg and Delta Lake, beside their runs."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated

import typer
from rich.text import Text

import graph_compiler
from graph_compiler.cli.arguments.asked_run import Params, Run
from graph_compiler.cli.arguments.pipelines import completed_names
from graph_compiler.cli.console import AsJson, ExitCode, example, speaking_plainly, standard_error, standard_output
from graph_compiler.cli.running.airflow_answers import ask_airflow
from graph_compiler.cli.running.embedded_airflow import EmbeddedAirflow
from graph_compiler.cli.running.local_spark import application_environment, missing_secrets, without_damaged_archive
from graph_compiler.declaration.connectors import Delta, Iceberg
from graph_compiler.declaration.operators import Sink
from graph_compiler.deployment.describe.local_task import desk_task
from graph_compiler.deployment.describe.region_descriptors import describe_regions
from graph_compiler.deployment.documents.descriptor import OperatorDescriptor, TaskDeploymentDescriptor
from graph_compiler.deployment.documents.dry_run import ANSWER, REQUEST
from graph_compiler.deployment.documents.table_maintenance import (
    KnownRun,
    MaintainedTable,
    MaintenanceAnswer,
    MaintenanceRequest,
    MaintenanceSettings,
    table_sinks,
)
from graph_compiler.deployment.documents.wire import from_json, to_json
from graph_compiler.errors import GraphCompilerError, InvalidPipelineError, ParameterError
from graph_compiler.identifiers import listing, size_words
from graph_compiler.options.durations import parse_duration_with_unit
from graph_compiler.staging.attempts.artifact_copies import put_artifacts
from graph_compiler.staging.gc.survey import survey
from graph_compiler.staging.store.stores import store_of

tables = typer.Typer(
    name="tables", help="Maintain the tables of Iceberg and Delta Lake that pipelines write.", no_args_is_help=True
)
_PROGRAM = Path(graph_compiler.__file__).parent / "spark_runtime" / "table_maintenance.py"
_RUN = "tables_maintain"
_SAFE_DAYS = 7
"""Delta's own check of VACUUM: 168 hours."""
_LAST = 2_000


class MaintenanceFailedError(GraphCompilerError):
    """The Spark application that maintains tables ended without an answer."""


@tables.callback()
def _group() -> None:
    """Keep `maintain` a word of its own: typer would drop that of a group with one command."""


@tables.command(epilog=example('tables maintain sales --older-than "14 d"'))
def maintain(
    pipelines: Annotated[
        list[str],
        typer.Argument(
            metavar="PIPELINE...", help="Pipelines whose sinks write the tables.", autocompletion=completed_names
        ),
    ],
    table: Annotated[list[str] | None, typer.Option(help="Only this table, by its name or path; repeatable.")] = None,
    older_than: Annotated[
        str, typer.Option(help="Snapshots, and old files of Delta Lake, expire when they are older: 7 d, 36 h.")
    ] = "7 d",
    retain_last: Annotated[
        int | None, typer.Option(min=1, help="Iceberg: keep at least so many snapshots, whatever their age.")
    ] = None,
    no_compact: Annotated[bool, typer.Option("--no-compact", help="Do not write small files together.")] = False,
    no_expire: Annotated[bool, typer.Option("--no-expire", help="Remove no snapshots and old files.")] = False,
    orphans: Annotated[
        bool, typer.Option("--orphans", help="Iceberg: also remove files older than 3 days that no snapshot has.")
    ] = False,
    day: Annotated[str | None, typer.Option("--date", help="Day for {{ ds }} in names: 2013-01-01.")] = None,
    param: Params = None,
    as_json: AsJson = False,
) -> None:
    """Compact tables, and remove old snapshots and files that no run needs. Exit code 1: something has failed."""
    with speaking_plainly():
        settings = MaintenanceSettings(
            older_than=_seconds(older_than),
            retain_last=retain_last,
            compacts=not no_compact,
            expires=not no_expire,
            removes_orphans=orphans,
        )
        work = _asked([Run.of(name, param, day) for name in pipelines], table or (), settings, older_than)
        done: list[MaintainedTable] = []
        for run, operators in work:
            found = _maintain(run, operators, settings)
            if not as_json:
                _show(found)
            done += found
    if as_json:
        typer.echo(json.dumps({"tables": [_table_json(each) for each in done]}, indent=1, ensure_ascii=False))
    raise typer.Exit(ExitCode.LEFT_TO_DO if any(each.is_failed for each in done) else ExitCode.DONE)


def _seconds(text: str) -> float:
    try:
        return parse_duration_with_unit(text).total_seconds()
    except ValueError as error:
        raise ParameterError(f"--older-than is '{text}'\n  {error}") from None


def _asked(
    runs: Sequence[Run], names: Sequence[str], settings: MaintenanceSettings, older_than: str
) -> list[tuple[Run, list[OperatorDescriptor]]]:
    """Return the sinks of each pipeline whose tables are maintained, each table once; raises ParameterError."""
    found: dict[tuple[object, ...], tuple[Run, OperatorDescriptor]] = {}
    for run in runs:
        sinks = table_sinks(_tasks(run, "/"))
        if not sinks:
            raise ParameterError(f"pipeline '{run.name}' writes no table of Iceberg or Delta Lake")
        for key, operator in sinks.items():
            found.setdefault(key, (run, operator))
    known = {_name(operator): (run, operator) for run, operator in found.values()}
    if unknown := [name for name in names if name not in known]:
        raise ParameterError(f"no pipeline that is named writes {listing(unknown)}\n  allowed: {listing(known)}")
    chosen = [known[name] for name in names] or list(known.values())
    is_short = settings.older_than < _SAFE_DAYS * 86400
    if settings.expires and is_short and (paths := [_name(one) for _, one in chosen if _is_delta(one)]):
        raise ParameterError(
            f"--older-than is '{older_than}', and {listing(paths)} is a table of Delta Lake, which has no record of "
            "the readers that still need a removed file\n"
            f"  allowed: {_SAFE_DAYS} d and more, as Delta's own check of VACUUM\n"
            "  hint: --no-expire, or --table for those of Iceberg"
        )
    work = [(run, [operator for other, operator in chosen if other is run]) for run in runs]
    return [(run, operators) for run, operators in work if operators]


def _tasks(run: Run, folder: str) -> tuple[TaskDeploymentDescriptor, ...]:
    desk = run.without_airflow(_RUN, folder)
    return tuple(desk_task(region, desk, execution_id=_RUN) for region in describe_regions(run.compiled))


def _name(operator: OperatorDescriptor) -> str:
    assert isinstance(operator.operator, Sink), "only sinks write tables"
    connector = operator.operator.connector
    assert isinstance(connector, Iceberg | Delta), "only these have maintenance"
    return connector.name if isinstance(connector, Iceberg) else connector.path


def _is_delta(operator: OperatorDescriptor) -> bool:
    return isinstance(operator.operator, Sink) and isinstance(operator.operator.connector, Delta)


def _maintain(
    run: Run, operators: Sequence[OperatorDescriptor], settings: MaintenanceSettings
) -> tuple[MaintainedTable, ...]:
    """Maintain tables in one Spark application with the pipeline's settings; raises MaintenanceFailedError."""
    hint = "in a Dag, the BashOperator of docs/lake.md hands it over from the connection"
    environment = run.airflow.child_environment()
    if missing := list(missing_secrets(operators, environment, who="the command line", hint=hint)):
        raise InvalidPipelineError(run.name, missing)
    with TemporaryDirectory(prefix="tables-") as temporary:
        folder = Path(temporary)
        request = MaintenanceRequest(
            tasks=_tasks(run, temporary),
            tables=tuple(sink.connector for one in operators if isinstance(sink := one.operator, Sink)),
            root=run.airflow.staging_root,
            settings=settings,
            known_runs=tuple(_known_runs(run.airflow)),
        )
        (folder / REQUEST).write_text(to_json(request))
        put_artifacts(store_of(temporary), request.tasks[0])
        environment = application_environment(run.compiled, run.airflow, request.tasks[0])
        with standard_error().status(f"Spark is maintaining tables of {run.name}"):
            process = subprocess.run(
                [sys.executable, str(_PROGRAM), str(folder / REQUEST)],
                env={"PYSPARK_PYTHON": sys.executable, **environment},
                capture_output=True,
                text=True,
                check=False,
            )
        if not (folder / ANSWER).exists():
            raise MaintenanceFailedError(
                f"Spark did not answer:\n{process.stderr[-_LAST:].rstrip()}{without_damaged_archive(environment)}"
            )
        return from_json(MaintenanceAnswer, (folder / ANSWER).read_text()).tables


def _known_runs(airflow: EmbeddedAirflow) -> Iterator[KnownRun]:
    """Yield the runs below the staging root whose states Airflow knows."""
    root = airflow.staging_root
    word = ask_airflow(airflow, (run.identity for run in survey(store_of(root), root).runs))
    for identity, state in word.states.items():
        yield KnownRun(identity=identity, state=state)
    if word.silence is not None:
        words = f"Airflow could not be asked which runs are live ({word.silence}): judged by their age"
        standard_error().print(Text(words), soft_wrap=True)


def _show(found: Sequence[MaintainedTable]) -> None:
    console = standard_output()
    for table in found:
        console.print(Text(f"{table.table} ({table.format})", style="bold"), soft_wrap=True)
        for words in _lines(table):
            console.print(Text(f"  {words}"), soft_wrap=True)


def _lines(table: MaintainedTable) -> Iterator[str]:
    """Yield what was done with a table, and what was not, and why."""
    if table.left_out is not None:
        yield f"left out: {table.left_out}"
    if table.failed is not None:
        yield f"failed: {table.failed}"
    for step in table.steps:
        if step.failed is not None:
            yield f"{step.step}: failed: {step.failed}"
        elif step.left_out is not None:
            yield f"{step.step}: left out: {step.left_out}"
        else:
            yield f"{step.step}: " + ", ".join(_figure(name, value) for name, value in step.figures)
        if step.kept is not None:
            yield f"  {step.kept}"


def _figure(name: str, value: int) -> str:
    """Return a number, or a size, with what it counts."""
    return f"{size_words(value)} {name.removeprefix('bytes ')}" if name.startswith("bytes ") else f"{value:,} {name}"


def _table_json(table: MaintainedTable) -> dict[str, object]:
    return {
        "table": table.table,
        "format": table.format,
        "left_out": table.left_out,
        "failed": table.failed,
        "steps": [
            {
                "step": step.step,
                "figures": {name.replace(" ", "_"): value for name, value in step.figures},
                "left_out": step.left_out,
                "kept": step.kept,
                "failed": step.failed,
            }
            for step in table.steps
        ],
    }
