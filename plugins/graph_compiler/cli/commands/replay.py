"""`graph-compiler replay`: run one execution again from the documents it left, isolated from its real targets.

descriptor.json ─ redirected ─▶ <scratch>/…/descriptor.json ─▶ the spark-submit of submission.json
manifests of its inputs ─ copied ─▶ <scratch>/staging; the data they name are read in place

What cannot be read again as it was (the previous version of a target, what was new of a source) is refused.
"""

from __future__ import annotations

import json
import shlex
import subprocess
import sys
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath
from tempfile import mkdtemp
from typing import Annotated, NoReturn

import typer
from rich.console import Console

from graph_compiler.cli.arguments.runs import DagName, RunId, layout_of
from graph_compiler.cli.console import AsJson, ExitCode, speaking_plainly
from graph_compiler.cli.running.airflow_answers import access_of_airflow
from graph_compiler.cli.running.embedded_airflow import EmbeddedAirflow
from graph_compiler.cli.running.first_rows import FirstRows
from graph_compiler.cli.running.run_view import preview_table
from graph_compiler.declaration.artifacts.user_artifact import MOST_BYTES
from graph_compiler.declaration.operators import PreviousVersion
from graph_compiler.deployment.documents.counting import COUNTED, REQUEST, Counted, CountRequest
from graph_compiler.deployment.documents.descriptor import TaskDeploymentDescriptor
from graph_compiler.deployment.documents.staging_layout import (
    DESCRIPTOR,
    REPORT,
    SUBMISSION,
    PositionLayout,
    StagingLayout,
)
from graph_compiler.deployment.documents.wire import Json, from_json, to_json
from graph_compiler.deployment.plans.subplans import redirect, staged_inputs
from graph_compiler.driver_jvm.pinned_process import pinned_variables
from graph_compiler.errors import DamagedDocumentError, PreviousVersionError
from graph_compiler.identifiers import RegionId, listing
from graph_compiler.staging.attempts.attempt_documents import AttemptDocuments
from graph_compiler.staging.attempts.attempts import ExecutionNotFoundError, attempt_documents, find_run, regions_of
from graph_compiler.staging.attempts.run_marker import find_marker, mark_run
from graph_compiler.staging.positions.position_log import MOST_LISTED, PositionError, PositionLog
from graph_compiler.staging.results.manifest_log import ManifestLog
from graph_compiler.staging.store.staging_store import StagingStore
from graph_compiler.staging.store.stores import store_of

APPLICATION, SHELL = "spark_runtime/main.py", "spark_runtime/shell.py"


@dataclass(frozen=True, slots=True, kw_only=True)
class Replay:
    """An execution that is ready to run again: the arguments of spark-submit, and the folder of all its output."""

    command: tuple[str, ...]
    shown: str
    environment: tuple[tuple[str, str], ...]
    scratch: Path


def replay(
    dag: DagName,
    run_id: RunId,
    task: Annotated[str, typer.Argument(help="Id of a region, as `history` shows it.")],
    attempt: Annotated[
        int | None, typer.Option(help="Number of the attempt, as `history` shows it; default: the last.")
    ] = None,
    into: Annotated[Path | None, typer.Option(help="Folder for its output; default: a new temporary one.")] = None,
    shell: Annotated[
        bool, typer.Option("--shell", help="Open a PySpark session with its operators as DataFrames.")
    ] = False,
    count_by: Annotated[
        str | None,
        typer.Option(help="OPERATOR:COLUMN,…: count the rows of an operator by these columns, most frequent first."),
    ] = None,
    limit: Annotated[int, typer.Option(min=1, max=10_000, help="How many values --count-by shows.")] = 20,
    as_json: AsJson = False,
) -> None:
    """Run one execution again with its original inputs; it writes only below a scratch folder.

    With --shell, open a PySpark session instead in which each of its operators is a DataFrame.

    With --count-by, write nothing, and show which values of some columns are frequent.
    """
    if shell and (as_json or count_by is not None):
        other = "--json" if as_json else "--count-by"
        raise typer.BadParameter(f"--shell is interactive: it cannot be combined with {other}")
    request = None if count_by is None else _request(count_by, limit)
    with speaking_plainly():
        layout = layout_of(dag, run_id)
        execution = find_execution(store_of(layout.root), layout, task, attempt)
        found = prepare_replay(execution, layout, into, shell=shell, request=request)
        airflow = EmbeddedAirflow(Path.cwd())
        environment = airflow.child_environment() | dict(found.environment)
        environment |= access_of_airflow(airflow).to_root().environment()
        environment |= pinned_variables(environment)  # an earlier version's submission has none
    typer.echo(found.shown, err=as_json)
    # With --json, Spark's output goes to standard error: standard output has the document.
    exit_code = subprocess.run(
        found.command, env=environment, stdout=sys.stderr.fileno() if as_json else None, check=False
    ).returncode
    if request is not None:
        _show_counted(found, exit_code, as_json=as_json, of=str(count_by))
    if exit_code == 0 and not shell and not _reports(found):
        typer.echo("Spark's driver ended with exit code 0, and left no report", err=True)
        exit_code = ExitCode.LEFT_TO_DO
    if as_json:
        typer.echo(json.dumps(_outcome_json(found, exit_code), indent=1))
    else:
        typer.echo(f"its output: {shlex.quote(str(found.scratch))}")
    raise typer.Exit(exit_code)


def _request(count_by: str, limit: int) -> CountRequest:
    operator, _, columns = count_by.rpartition(":")
    names = tuple(name.strip() for name in columns.split(","))
    if not operator.strip() or not all(names):
        raise typer.BadParameter("--count-by is written OPERATOR:COLUMN or OPERATOR:COLUMN,COLUMN")
    return CountRequest(operator=operator.strip(), columns=names, limit=limit)


def _show_counted(found: Replay, exit_code: int, *, as_json: bool, of: str) -> NoReturn:
    """Show the answer of the session, and end."""
    path = found.scratch / COUNTED
    if exit_code != 0 or not path.is_file():
        typer.echo(f"Spark's driver ended with exit code {exit_code}, and has counted nothing", err=True)
        raise typer.Exit(exit_code or ExitCode.LEFT_TO_DO)
    answer = from_json(Counted, path.read_text())
    if answer.values is None:
        raise typer.BadParameter(f"--count-by {of}: {answer.problem}")
    counted = FirstRows.of(of, answer.values, order="most rows first")
    if as_json:
        typer.echo(json.dumps({"command": found.shown, "counted": counted.to_json()}, indent=1))
    else:
        console = Console()
        console.print(preview_table(counted, console.width))
    raise typer.Exit


def find_execution(store: StagingStore, layout: StagingLayout, task: str, attempt: int | None) -> AttemptDocuments:
    """Return the documents of an execution; raises ExecutionNotFoundError, which lists those that exist."""
    find_run(store, layout)
    # Two executions with one number (a task instance that was created again): the later one counts.
    begun = attempt_documents(store, layout, RegionId(task))
    found = {_task(one).attempt.attempt_number + 1: one for one in begun}
    if not found:
        known = sorted(regions_of(store, layout))
        raise ExecutionNotFoundError(
            f"task '{task}' was not run in '{layout.identity.run_id}'\n  found: {listing(known)}"
        )
    if attempt is not None and attempt not in found:
        raise ExecutionNotFoundError(
            f"task '{task}' has no attempt {attempt}\n  found: {listing(map(str, sorted(found)))}"
        )
    return begun[-1] if attempt is None else found[attempt]


def prepare_replay(
    execution: AttemptDocuments,
    layout: StagingLayout,
    into: Path | None,
    *,
    shell: bool,
    request: CountRequest | None = None,
) -> Replay:
    """Copy what an execution needs into a scratch folder, for the application, or for the shell and its request."""
    submission = execution.read_submission()
    if submission is None:
        raise ExecutionNotFoundError(f"{execution.folder} was never submitted: it holds no {SUBMISSION}")
    scratch = Path(mkdtemp(prefix="replay-") if into is None else into).resolve()
    descriptor = prepare_scratch(execution, layout, scratch)
    own = execution.descriptor
    replaced = {own: descriptor}
    # The other regions that shared its application.
    beside = [word for word in submission.command if word.endswith(f"/{DESCRIPTOR}") and word != own]
    if shell or request is not None:
        application = next(word for word in submission.command if word.endswith(APPLICATION))
        replaced[application] = application.removesuffix(APPLICATION) + SHELL
    shown = submission.shown
    for word in beside:
        shown = shown.replace(f" {word}", "")
    for old, new in replaced.items():
        shown = shown.replace(old, new)
    command = [replaced.get(word, word) for word in submission.command if word not in beside]
    if request is not None:
        asked = scratch / REQUEST
        asked.write_text(to_json(request))
        command.append(str(asked))
        shown += f" {shlex.quote(str(asked))}"
    return Replay(command=tuple(command), shown=shown, environment=submission.environment, scratch=scratch)


def prepare_scratch(execution: AttemptDocuments, layout: StagingLayout, scratch: Path) -> str:
    """Write the redirected descriptor and copy the manifests it needs; return the descriptor's path."""
    store, task = execution.store, redirect(_task(execution), str(scratch))
    if task.region.stream is not None:
        raise PositionError(
            f"'{task.region.region_id}' is a stream, and the batches of an execution are not replayed\n"
            "  hint: graph-compiler run PIPELINE --until OPERATOR shows the rows of all that is there"
        )
    replayed = StagingLayout(root=task.staging_root, identity=layout.identity)
    copies = store_of(task.staging_root)
    for result_id in staged_inputs(task.region):
        for key in store.keys(layout.manifests(result_id)):
            copy = f"{replayed.manifests(result_id)}/{PurePosixPath(key).name}"
            with suppress(DamagedDocumentError):  # the replay treats it as lost, too
                copies.put_if_absent(copy, store.get(key) or b"")
    if marker := find_marker(store, layout):
        mark_run(copies, replace(marker, root=task.staging_root))
    copy_increments(store, copies, layout, task)
    copy_versions(execution, copies, layout, replayed)
    for artifact in task.region.artifacts:
        found = store.get(layout.artifact(artifact), most=MOST_BYTES[artifact.kind])
        copies.put_if_absent(replayed.artifact(artifact), found or b"")
    key = replayed.descriptor(task.region.region_id, task.attempt.execution_id)
    if not copies.put_if_absent(key, to_json(task).encode()):
        raise ExecutionNotFoundError(f"{scratch} holds a replay already\n  hint: name another folder")
    return key


def copy_increments(
    store: StagingStore, copies: StagingStore, layout: StagingLayout, task: TaskDeploymentDescriptor
) -> None:
    """Copy what the run has read of each source that has a position: the replay reads the same.

    Raises PositionError if nothing is recorded: the replay would take all that is there as new.
    """
    for position in task.region.positions:
        own = PositionLayout(root=layout.root, owner=layout.identity.owner, uid=position.uid)
        increment = PositionLog(store=store, layout=own).of_run(layout.identity)
        if increment is None:
            raise PositionError(
                f"nothing is recorded of what run '{layout.identity.run_id}' has read of '{position.uid}': this "
                "execution failed before it took its increment, or the position's documents are gone\n"
                "  hint: replay a later attempt, if there is one; `graph-compiler positions show "
                f"{shlex.quote(layout.identity.owner)} {shlex.quote(position.uid)}` lists what runs have read"
            )
        there = replace(own, root=task.staging_root)
        if increment.listed is not None:
            listed = there.listed(increment.number, increment.execution_id)
            copies.put_if_absent(listed, store.get(increment.listed, most=MOST_LISTED) or b"")
            increment = replace(increment, listed=listed)
        copies.put_if_absent(there.entry(increment.number), to_json(increment).encode())


def copy_versions(
    execution: AttemptDocuments, copies: StagingStore, layout: StagingLayout, replayed: StagingLayout
) -> None:
    """Copy the manifest of each previous version that an execution has read of a target: the replay reads its copy.

    Raises PreviousVersionError if the execution has staged no copy, or its manifest cannot be read.
    """
    log, region = ManifestLog(store=execution.store, layout=layout), _task(execution).region
    own = _task(execution.done_by()).attempt.execution_id
    read = [one for one in region.operators if isinstance(one.operator, PreviousVersion)]
    for operator, result in ((one, each) for one in read for each in region.results if each.node_id == one.node_id):
        staged = (log.find(result.id, epoch) for epoch in reversed(log.epochs(result.id)))
        known = {found.attempt.execution_id: found for found in staged if found is not None}
        if own not in known:
            attempts = {one.execution_id: one.attempt_number + 1 for one in (found.attempt for found in known.values())}
            others = f"replay attempt {max(attempts.values())}: it has one" if attempts else "no attempt has one"
            raise PreviousVersionError(
                f"this execution has left no copy of the previous version of its target, which '{operator.name}' reads:"
                " a replay would read what is there now\n"
                f"  hint: {others}"
            )
        copies.put_if_absent(replayed.manifest(result.id, known[own].epoch), to_json(known[own]).encode())


def _task(execution: AttemptDocuments) -> TaskDeploymentDescriptor:
    found = execution.read_descriptor()
    assert found is not None, "it has a descriptor"
    return found


def _reports(found: Replay) -> list[bytes]:
    return [path.read_bytes() for path in found.scratch.glob(f"staging/*/*/tasks/*/*/{REPORT}")]


def _outcome_json(found: Replay, exit_code: int) -> Json:
    """Return the outcome of a replay; its report is null if the driver left none."""
    reports = _reports(found)
    return {
        "command": found.shown,
        "exit_code": exit_code,
        "scratch": str(found.scratch),
        "report": json.loads(reports[0]) if reports else None,
    }
