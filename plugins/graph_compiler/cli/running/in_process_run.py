"""One run in one Spark session, in a separate process: all tasks, or what one operator needs."""

from __future__ import annotations

import fcntl
import hashlib
import json
import socket
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from pathlib import Path
from uuid import uuid4

from rich.console import Console

import graph_compiler
from graph_compiler.cli.arguments.asked_run import Run, Until
from graph_compiler.cli.running.finished_run import FinishedRun, TaskWords, outputs_of, published_preview, task_words
from graph_compiler.cli.running.first_rows import FirstRows
from graph_compiler.cli.running.following import Followed, follow_run
from graph_compiler.cli.running.local_spark import application_environment, missing_secrets, without_damaged_archive
from graph_compiler.cli.running.resident_spark import require_resident_spark, start_driver, working_folder
from graph_compiler.cli.running.run_view import failure_words, step_words
from graph_compiler.cli.running.stream_lines import StreamLines
from graph_compiler.declaration.connectors.file_uris import local_path
from graph_compiler.deployment.describe.local_task import desk_task
from graph_compiler.deployment.describe.region_descriptors import PipelineDescriptor, describe_pipeline
from graph_compiler.deployment.documents import in_process_run as wire
from graph_compiler.deployment.documents.descriptor import RegionDescriptor, TaskDeploymentDescriptor
from graph_compiler.deployment.documents.report import Phase
from graph_compiler.deployment.documents.staging_layout import StagingLayout
from graph_compiler.deployment.documents.wire import from_json, from_wire, to_json
from graph_compiler.deployment.plans.subplans import only_up_to, with_open_end
from graph_compiler.errors import GraphCompilerError, InvalidPipelineError, Problem
from graph_compiler.identifiers import RegionId
from graph_compiler.staging.attempts.artifact_copies import put_artifacts
from graph_compiler.staging.attempts.attempt import Attempt
from graph_compiler.staging.attempts.attempts import ALL, executions
from graph_compiler.staging.attempts.run_marker import RunMarker, mark_run
from graph_compiler.staging.publications.places import OwnFolder, endpoints_of, sources_of, task_problems
from graph_compiler.staging.results.plan_log import record_plan
from graph_compiler.staging.store.folder_access import make_private_folder
from graph_compiler.staging.store.root_probe import check_root
from graph_compiler.staging.store.stores import store_of

_PROGRAM = Path(graph_compiler.__file__).parent / "spark_runtime" / "in_process.py"


def run_in_process(run: Run, console: Console) -> FinishedRun:
    """Run to completion, and show progress.

    Raises InvalidPipelineError if a rendered place is invalid or a secret is missing, RunningAlreadyError.
    """
    described = describe_pipeline(run.compiled)
    airflow = run.airflow
    log = airflow.log_of(run.name)
    with working_folder("in-process-") as temporary:
        folder = Path(temporary)
        root = airflow.staging_root if run.until is None else str(folder / "staging")
        tasks = _tasks(run, described, root)
        operators = [operator for task in tasks for operator in task.region.operators]
        hint = "without --in-process, the run's tasks read it from the Airflow connection"
        environment = airflow.child_environment()
        if missing := list(missing_secrets(operators, environment, who="a run in one process", hint=hint)):
            raise InvalidPipelineError(run.name, missing)
        if run.until is None:
            _announce(tasks, described)
        request = wire.InProcessRequest(tasks=tasks, preview=_preview_request(run.until))
        (folder / wire.REQUEST).write_text(to_json(request))
        with alone(tasks[0].layout, airflow.home) if run.until is None else nullcontext() as held:
            put_artifacts(store_of(root), tasks[0])
            environment = application_environment(run.compiled, airflow, tasks[0])
            require_resident_spark(environment)
            descriptors = () if held is None else (held,)
            process = start_driver(_PROGRAM, folder / wire.REQUEST, environment, log, pass_fds=descriptors)
            finished = _follow(run, tasks, process, folder, console, log)
            return _after_a_death(finished, environment) if finished.failure is not None else finished


def _after_a_death(finished: FinishedRun, environment: Mapping[str, str]) -> FinishedRun:
    """Return a failed run; if Spark died without a report, its class archive is checked."""
    last = [attempts[-1].report for attempts in finished.found.values() if attempts]
    has_died = not last or None in last
    more = without_damaged_archive(environment) if has_died else ""
    return replace(finished, failure=f"{finished.failure}{more}")


def _tasks(run: Run, described: PipelineDescriptor, root: str) -> tuple[TaskDeploymentDescriptor, ...]:
    """Return the tasks of all regions, or those an operator needs. Attempts are numbered on through the day."""
    regions: Sequence[RegionDescriptor] = described.regions
    if run.until is not None:
        node_id = run.until.output.node.id
        regions = with_open_end(only_up_to(regions, node_id), node_id)
    desk = run.without_airflow(f"in_process__{run.day}", root)
    tasks = []
    for region in (each.begun_with(run.start) for each in regions):
        task = desk_task(region, desk, execution_id=uuid4().hex)
        earlier = executions(store_of(root), task.layout, region.region_id, size=ALL)
        tasks.append(desk_task(region, desk, execution_id=task.attempt.execution_id, attempt_number=len(earlier)))
    if run.until is None and (problems := _place_problems(tasks, run.airflow.own_folders)):
        raise InvalidPipelineError(run.name, problems)
    return tuple(tasks)


def _place_problems(tasks: Sequence[TaskDeploymentDescriptor], folders: Sequence[OwnFolder]) -> list[Problem]:
    """Return the problems with the places of a run, before its first task starts."""
    return [
        problem
        for number, task in enumerate(tasks)
        for problem in task_problems(
            task,
            others=[end for other in tasks[:number] for end in endpoints_of(other.region)]
            + [end for other in tasks[number + 1 :] for end in sources_of(other.region)],
            folders=folders,
        )
    ]


def _announce(tasks: Sequence[TaskDeploymentDescriptor], described: PipelineDescriptor) -> None:
    """Write what the first task of a run writes under Airflow: the run's owner, and what its plan computes."""
    first = tasks[0]
    store = store_of(first.staging_root)
    check_root(store, first.staging_root)
    marker = RunMarker.of(first, host=socket.gethostname(), time=time.time())
    mark_run(store, marker)
    record_plan(store, first.layout, described.plan)


def _follow(
    run: Run,
    tasks: Sequence[TaskDeploymentDescriptor],
    process: subprocess.Popen[bytes],
    folder: Path,
    console: Console,
    log: Path,
) -> FinishedRun:
    first, started = tasks[0], time.time()
    regions = [task.region for task in tasks if run.until is None]
    owner = first.identity.owner
    followed = Followed(
        pipeline=run.name,
        tasks=task_words(run.compiled) if run.until is None else [_words(task.region) for task in tasks],
        started=started,
        process=process,
        starting="Spark",
        look=lambda: {task.region.region_id: _own_attempt(task) for task in tasks},
        step=lambda _: _step(folder / wire.PROGRESS),
        batches=StreamLines.of(store_of(first.staging_root), first.staging_root, owner, regions, started),
    )
    found = follow_run(followed, console)
    # A function may end the process with any exit code; the reports show which tasks succeeded.
    came_through = process.returncode == 0 and all(map(_succeeded, found.values()))
    return FinishedRun(
        compiled=run.compiled,
        run_id=tasks[0].identity.run_id if run.until is None else None,
        seconds=time.time() - followed.started,
        found=found,
        failure=None if came_through else failure_words(run.name, found, log, starting="Spark"),
        preview=_preview(run, found, folder) if came_through else None,
        log=log,
    )


def _succeeded(attempts: Sequence[Attempt]) -> bool:
    report = attempts[-1].report if attempts else None
    return report is not None and report.failure is None


def _own_attempt(task: TaskDeploymentDescriptor) -> tuple[Attempt, ...]:
    """Return this run's attempt at a region; the folder also has those of earlier runs of the day."""
    found = executions(store_of(task.staging_root), task.layout, task.region.region_id, size=0)
    return tuple(each for each in found if each.execution_id == task.attempt.execution_id)


def _step(progress: Path) -> str | None:
    """Return what Spark is running; steps that only make plans are over before they are read."""
    try:
        lines = progress.read_text().splitlines()
    except FileNotFoundError:
        return None
    steps = []
    for line in lines:
        try:
            steps.append(from_wire(wire.Step, json.loads(line)))
        except json.JSONDecodeError:  # it is just being written
            break
    actions = [step for step in steps if step.phase is not Phase.EVALUATE]
    return step_words(actions[-1].region_id, actions[-1]) if actions else None


def _preview_request(until: Until | None) -> wire.PreviewRequest | None:
    if until is None:
        return None
    return wire.PreviewRequest(
        node_id=until.output.node.id, output_tag=until.output.tag, limit=until.limit, counts=until.counts
    )


def _preview(run: Run, found: Mapping[RegionId, tuple[Attempt, ...]], folder: Path) -> FirstRows | str | None:
    if run.until is None:
        outputs = [output for each in found.values() for output in outputs_of(each)]
        sinks = [output for output in outputs if output.kind == "sink"]
        return published_preview(run.compiled, sinks, run.preview_sorted_by)
    answer = from_json(wire.Preview, (folder / wire.PREVIEW).read_text())
    return FirstRows.of(run.until.output.name, answer)


def _words(region: RegionDescriptor) -> TaskWords:
    """Return a task with its vertices, each named after those of its operators that run."""
    chains = (" -> ".join(each.name for each in vertex.operators) for vertex in region.vertices)
    return TaskWords(id=region.region_id, vertices=tuple(chains))


class RunningAlreadyError(GraphCompilerError):
    """The pipeline is already running in process for the same day: the two would read each other's results."""


@contextmanager
def alone(layout: StagingLayout, home: Path) -> Iterator[int]:
    """Lock a run, and yield the lock's descriptor; it lasts until every process that inherits it ends.

    Its marker is locked if that is on a disk, otherwise a file below Airflow's home. Raises RunningAlreadyError.
    """
    is_local = local_path(layout.marker) is not None
    file = Path(layout.marker) if is_local else _lock_file(layout, home)
    with file.open() as held:
        try:
            fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise RunningAlreadyError(
                f"this pipeline is being run in process for the same day\n  found: {layout.run}\n"
                "  hint: wait for it to end, or use another --date"
            ) from None
        yield held.fileno()


def _lock_file(layout: StagingLayout, home: Path) -> Path:
    folder = home / "locks"
    make_private_folder(folder)
    file = folder / hashlib.sha256(layout.run.encode()).hexdigest()
    file.touch()
    return file
