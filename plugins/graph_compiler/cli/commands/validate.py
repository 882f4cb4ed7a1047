"""`graph-compiler validate`: find every problem of every pipeline at once, without Spark."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated

import typer
from rich.text import Text

from graph_compiler.cli.arguments.pipelines import deployment_options
from graph_compiler.cli.console import AsJson, ExitCode, speaking_plainly, standard_error
from graph_compiler.cli.diagnosis.live_tables import TableLook, look_at_tables
from graph_compiler.cli.diagnosis.missing_packages import find_missing_packages
from graph_compiler.cli.running.embedded_airflow import EmbeddedAirflow
from graph_compiler.compiler.checks.column_checks import NOTHING_KNOWN, ColumnVerdict, judge_columns
from graph_compiler.compiler.checks.connector_checks import stores_of
from graph_compiler.compiler.checks.validation import all_problems, by_place, column_problems, find_warnings
from graph_compiler.compiler.pipeline_compiler import compile_pipeline
from graph_compiler.declaration.pipeline import Pipeline
from graph_compiler.deployment.describe.region_descriptors import describe_pipeline
from graph_compiler.deployment.documents.wire import Json
from graph_compiler.errors import GraphCompilerError, InvalidPipelineError, ParameterError, Problem
from graph_compiler.graphs.compiled_pipeline import CompiledPipeline
from graph_compiler.identifiers import PIPELINES, counted, listing
from graph_compiler.options.modes import DeploymentOptions
from graph_compiler.projects.pipeline_files import files_below, find_pipeline, load_declared, nothing_declared
from graph_compiler.staging.publications.places import SinkPlace, find_own_folder_problems, own_folders

_ONLY_SPARK_KNOWS = "whether Spark can read the SQL; graph-compiler dry-run NAME asks Spark"


@dataclass(frozen=True, slots=True, kw_only=True)
class FileVerdict:
    """What was found in one module: `pipeline` is the name of a `declared` pipeline, else the file's name.

    `stores` are the buckets and file systems that its runs use, as the declaration shows them: `s3a://lake`.
    """

    file: str
    pipeline: str
    declared: Pipeline | None
    problems: tuple[Problem, ...]
    warnings: tuple[Problem, ...] = ()
    stores: tuple[str, ...] = ()
    columns: ColumnVerdict = NOTHING_KNOWN
    compiled: CompiledPipeline | None = None
    """The pipeline, unless its declaration is refused."""
    tables: tuple[TableLook, ...] = ()
    """What `--live` has found."""


def validate(
    paths: Annotated[
        list[str] | None,
        typer.Argument(metavar="[PATH]...", help=f"Files, folders or names of modules; default: all of {PIPELINES}/."),
    ] = None,
    live: Annotated[
        bool, typer.Option("--live", help="Also compare sources and sinks of Iceberg and Delta with their tables.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Check pipelines without running them: list every problem, with its operator, file and line.

    A module named explicitly must declare a pipeline; in a folder, modules without an `env` are skipped.
    """
    with speaking_plainly():
        verdicts = judge_files(paths or [PIPELINES])
        if live:
            verdicts = with_tables(verdicts, EmbeddedAirflow(Path.cwd()))
    if as_json:
        typer.echo(json.dumps(verdicts_json(verdicts), indent=1))
    else:
        _show(verdicts, live=live)
    raise typer.Exit(ExitCode.WRONG if any(verdict.problems for verdict in verdicts) else ExitCode.DONE)


def judge_files(paths: Sequence[str]) -> list[FileVerdict]:
    """Check the paths or module names that are given, each module once.

    Raises ParameterError if they hold no pipeline, ConfigurationError if the deployment's options are wrong.
    """
    deployment, airflow = deployment_options(), EmbeddedAirflow(Path.cwd())
    found: dict[str, FileVerdict] = {}
    for path in paths:
        is_folder = path == PIPELINES or Path(path).is_dir()
        for name in files_below(Path(path)) if is_folder else [path]:
            verdict = _judge(name, deployment, airflow, must_declare=not is_folder)
            if verdict.declared or verdict.problems:
                found[verdict.file] = verdict
    if not found:
        raise ParameterError(
            f"there is no pipeline in {', '.join(paths)}\n"
            f"  hint: run this in the folder that holds {PIPELINES}/, or name files, folders or modules"
        )
    return _with_shared_names(list(found.values()))


def with_tables(verdicts: Sequence[FileVerdict], airflow: EmbeddedAirflow) -> list[FileVerdict]:
    """Compare the sources and sinks of pipelines with their tables; pipelines that are refused are left out.

    Raises ConfigurationError if the deployment's settings cannot be read.
    """
    compiled = [verdict.compiled for verdict in verdicts if verdict.compiled is not None]
    found = iter(look_at_tables(compiled, airflow))
    return [verdict if verdict.compiled is None else _with_looks(verdict, next(found)) for verdict in verdicts]


def _with_looks(verdict: FileVerdict, looks: tuple[TableLook, ...]) -> FileVerdict:
    of_tables = [problem for look in looks for problem in look.problems]
    return replace(verdict, tables=looks, problems=by_place((*verdict.problems, *of_tables)))


def verdicts_json(verdicts: Iterable[FileVerdict]) -> Json:
    """Return the document that `--json` prints."""
    return {
        "pipelines": [
            {
                "pipeline": verdict.pipeline,
                "file": verdict.file,
                "problems": [_problem_json(problem) for problem in verdict.problems],
                "warnings": [_problem_json(warning) for warning in verdict.warnings],
                "stores": list(verdict.stores),
                "columns": {"checked": verdict.columns.checked, "unknown": verdict.columns.unknown},
                "types": {"known": verdict.columns.typed, "unknown": verdict.columns.untyped},
                "tables": [_table_json(look) for look in verdict.tables],
            }
            for verdict in verdicts
        ]
    }


def _judge(name: str, deployment: DeploymentOptions, airflow: EmbeddedAirflow, *, must_declare: bool) -> FileVerdict:
    file, pipeline, declared = name, Path(name).stem, None
    problems: tuple[Problem, ...] = ()
    packages: tuple[Problem, ...] = ()
    stores: tuple[str, ...] = ()
    warnings: tuple[Problem, ...] = ()
    columns = NOTHING_KNOWN
    compiled: CompiledPipeline | None = None
    try:
        module = find_pipeline(name)
        file = module.shown
        declared = load_declared(module)
        if declared is not None:
            pipeline = declared.name
            compiled = compile_pipeline(declared, deployment)
            describe_pipeline(compiled)
            columns = judge_columns(declared)
            problems = (*_own_folder_problems(compiled, airflow), *columns.problems)
            warnings = find_warnings(declared, compiled.options)
            packages = tuple(find_missing_packages(compiled, airflow))
            stores = stores_of(declared, airflow.staging_root)
        elif must_declare:
            problems = (nothing_declared(module),)
    except InvalidPipelineError as error:
        pipeline, problems = error.pipeline, all_problems(error)
        if of_columns := column_problems(error, declared):
            problems = by_place((*problems, *of_columns))
    except GraphCompilerError as error:
        problems = (Problem(message=str(error)),)
    return FileVerdict(
        file=file,
        pipeline=pipeline,
        declared=declared,
        problems=problems,
        warnings=(*warnings, *packages) if declared and not problems else (),
        stores=stores,
        columns=columns,
        compiled=compiled,
    )


def _own_folder_problems(compiled: CompiledPipeline, airflow: EmbeddedAirflow) -> Iterator[Problem]:
    """Find sinks that would write over this project's own folders, where the literal path shows it."""
    nodes = compiled.stream_graph.nodes
    places = (SinkPlace.of(node.declared_name, node.operator, node.declared_at) for node in nodes)
    literal = [place for place in places if place and "{{" not in place.path and "{%" not in place.path]
    known = own_folders(airflow.staging_root, [node.declared_at for node in nodes])
    yield from find_own_folder_problems(literal, (*known, *airflow.own_folders))


def _with_shared_names(verdicts: Sequence[FileVerdict]) -> list[FileVerdict]:
    """Report a second pipeline with the same name: both would have that Dag id, and share staged results."""
    first: dict[str, FileVerdict] = {}
    judged = []
    for verdict in verdicts:
        other = first.setdefault(verdict.pipeline, verdict)
        is_handed_on = verdict.declared == other.declared  # its `env` is imported from there
        if verdict.declared and other.declared and not is_handed_on:
            problem = Problem(
                message=f"its name '{verdict.pipeline}' is already that of {other.file}",
                hint="a pipeline's name is its Dag's id: give each its own",
            )
            judged.append(replace(verdict, problems=(*verdict.problems, problem)))
        else:
            judged.append(verdict)
    return judged


def _show(verdicts: Sequence[FileVerdict], *, live: bool) -> None:
    broken = [verdict for verdict in verdicts if verdict.problems]
    errors = standard_error()
    for verdict in broken:
        words = str(InvalidPipelineError(verdict.pipeline, verdict.problems))
        errors.print(Text(f"{verdict.file}: {words}"), soft_wrap=True)
    for files, warning in _each_once(verdicts):
        errors.print(Text(f"{files}: warning: {warning}"), soft_wrap=True)
    problems = sum(len(verdict.problems) for verdict in broken)
    found = f"{counted(problems, 'problem')} in {len(broken)} of them" if broken else "nothing wrong"
    typer.echo(f"{counted(len(verdicts), 'pipeline')} checked, {found}", err=bool(broken))
    if any(verdict.declared for verdict in verdicts) and not broken:
        looked = sum(verdict.columns.checked for verdict in verdicts)
        if unknown := sum(verdict.columns.unknown for verdict in verdicts):
            typer.echo(f"columns: {looked} of {looked + unknown} were looked up; sources need schema= for the others")
        typed = sum(verdict.columns.typed for verdict in verdicts)
        if untyped := sum(verdict.columns.untyped for verdict in verdicts):
            typer.echo(f"types: those of {typed} of {typed + untyped} expressions are known without Spark")
        typer.echo(f"not checked: {_ONLY_SPARK_KNOWS}")
    if live:
        _show_tables(verdicts, err=bool(broken))
    if stores := dict.fromkeys(store for verdict in verdicts for store in verdict.stores):
        words = f"not checked: whether drivers and executors can use {listing(stores)}"
        typer.echo(f"{words}; graph-compiler doctor tries the staging root", err=bool(broken))


def _show_tables(verdicts: Sequence[FileVerdict], *, err: bool) -> None:
    """Show how many tables were looked at, and each reason why others were not, with its operators."""
    looks = [(verdict, look) for verdict in verdicts for look in verdict.tables]
    reasons: dict[tuple[str, str], list[str]] = {}
    for verdict, look in looks:
        for what, why in (("tables not looked at", look.why_not), ("columns not compared", look.why_no_columns)):
            if why is not None:
                name = f"{look.operator} of {verdict.pipeline} ({look.place})"
                reasons.setdefault((what, why), []).append(name)
    looked = sum(look.why_not is None for _, look in looks)
    asked = counted(len(looks), "source or sink", "sources and sinks")
    typer.echo(f"tables of Iceberg and Delta: {looked} of {asked} looked at", err=err)
    if refused := [verdict.pipeline for verdict in verdicts if verdict.compiled is None]:
        typer.echo(f"tables not looked at: those of {listing(refused)}, until the problems above are solved", err=err)
    for (what, why), names in reasons.items():
        typer.echo(f"{what}: {listing(names)}: {why}", err=err)


def _each_once(verdicts: Iterable[FileVerdict]) -> Iterator[tuple[str, Problem]]:
    """Yield each warning with the files it is about; several files only if it is about the deployment."""
    files: dict[Problem, list[str]] = {}
    for verdict in verdicts:
        for warning in verdict.warnings:
            if warning.declared_at is None:
                files.setdefault(warning, []).append(verdict.file)
            else:
                yield verdict.file, warning
    for warning, (first, *others) in files.items():
        more = f" and {counted(len(others), 'other file')}" if others else ""
        yield f"{first}{more}", warning


def _table_json(look: TableLook) -> Json:
    return {
        "operator": look.operator,
        "table": look.place,
        "id": look.state.id if look.state else None,
        "commit": look.state.commit if look.state else None,
        "why_not": look.why_not,
        "why_no_columns": look.why_no_columns,
    }


def _problem_json(problem: Problem) -> Json:
    location = problem.declared_at
    return {
        "message": problem.message,
        "operator": problem.operator,
        "allowed": problem.allowed,
        "hint": problem.hint,
        "file": location.file if location else None,
        "line": location.line if location else None,
        "column": problem.column,
        "key": problem.key,
    }
