"""`graph-compiler replay`: one execution again, from the documents it left, away from everything real.

descriptor.json ─ redirected ─▶ <scratch>/…/descriptor.json ─▶ the spark-submit of submission.json
manifests of its inputs ─ copied ─▶ <scratch>/staging; the data they name is read where it lies
"""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path
from tempfile import mkdtemp
from urllib.parse import unquote

from rich.console import Console

from graph_compiler.deployment.commit_store import LocalCommitStore
from graph_compiler.deployment.descriptor import TaskDeploymentDescriptor
from graph_compiler.deployment.executions import ExecutionNotFoundError, find_run
from graph_compiler.deployment.private_folders import make_private_folder
from graph_compiler.deployment.replay import redirect, staged_inputs
from graph_compiler.deployment.run_marker import find_marker, mark_run
from graph_compiler.deployment.staging_layout import (
    DESCRIPTOR,
    SUBMISSION,
    StagingLayout,
    executions_folder,
)
from graph_compiler.deployment.submission import Submission
from graph_compiler.deployment.wire import from_json, to_json
from graph_compiler.identifiers import RegionId, listing

APPLICATION, SHELL = "spark_runtime/main.py", "spark_runtime/shell.py"


def find_execution(layout: StagingLayout, task: str, attempt: int | None) -> Path:
    """Give the folder of an execution; raises ExecutionNotFoundError naming what there is."""
    run, region_id = find_run(layout), RegionId(task)
    found = {
        _task(folder).attempt.attempt_number: folder
        for folder in Path(executions_folder(str(run), region_id)).glob("*")
        if (folder / DESCRIPTOR).exists()
    }
    if not found:
        known = sorted(unquote(path.name) for path in (run / "tasks").glob("*"))
        raise ExecutionNotFoundError(
            f"task '{task}' was not run in '{layout.run_id}'\n  found: {listing(known)}"
        )
    if attempt is not None and attempt not in found:
        raise ExecutionNotFoundError(
            f"task '{task}' has no attempt {attempt}\n  found: {listing(map(str, sorted(found)))}"
        )
    return found[max(found) if attempt is None else attempt]


def replay_execution(
    execution: Path, layout: StagingLayout, into: Path | None, *, shell: bool
) -> int:
    """Print the command and run it, with the application or the shell; gives its exit code."""
    console = Console()
    submission = from_json(Submission, (execution / SUBMISSION).read_text())
    scratch = Path(mkdtemp(prefix="replay-") if into is None else into).resolve()
    descriptor = prepare_scratch(execution, layout, scratch)
    original = str(execution / DESCRIPTOR)
    replaced = {original: str(descriptor)}
    if shell:
        application = next(word for word in submission.command if word.endswith(APPLICATION))
        replaced[application] = application.removesuffix(APPLICATION) + SHELL
    command = [replaced.get(word, word) for word in submission.command]
    shown = submission.shown
    for old, new in replaced.items():
        shown = shown.replace(old, new)
    console.print(shown, soft_wrap=True, highlight=False)
    environment = dict(submission.environment)
    done = subprocess.run(command, env=os.environ | environment, check=False)
    console.print(f"what it wrote: {shlex.quote(str(scratch))}", soft_wrap=True, highlight=False)
    return done.returncode


def prepare_scratch(execution: Path, layout: StagingLayout, scratch: Path) -> Path:
    """Write the redirected descriptor, and bring the manifests it needs; gives the descriptor's path."""
    task = redirect(_task(execution), str(scratch))
    replayed = StagingLayout(root=task.staging_root, pipeline=layout.pipeline, run_id=layout.run_id)
    for result_id in staged_inputs(task.region):
        manifests = Path(layout.manifests(result_id))
        if manifests.is_dir():
            shutil.copytree(manifests, replayed.manifests(result_id), dirs_exist_ok=True)
    if marker := find_marker(LocalCommitStore(), layout):
        mark_run(LocalCommitStore(), replace(marker, root=task.staging_root))
    path = Path(replayed.descriptor(task.region.region_id, task.attempt.execution_id))
    if path.parent.exists():
        raise ExecutionNotFoundError(
            f"{scratch} holds a replay already\n  hint: name another folder"
        )
    make_private_folder(path.parent)
    path.write_text(to_json(task))
    return path


def _task(execution: Path) -> TaskDeploymentDescriptor:
    return TaskDeploymentDescriptor.from_json((execution / DESCRIPTOR).read_text())
