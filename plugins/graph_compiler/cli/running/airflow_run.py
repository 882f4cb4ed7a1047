"""One run under the project's own Airflow, as `airflow dags test` does it, followed to its end."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path

from rich.console import Console

from graph_compiler.cli.arguments.asked_run import Run, named_after
from graph_compiler.cli.arguments.runs import layout_of
from graph_compiler.cli.running.finished_run import FinishedRun, load_preview, outputs_of, published_preview, task_words
from graph_compiler.cli.running.following import Followed, follow_run
from graph_compiler.cli.running.run_view import airflow_step, failure_words, skipped_words
from graph_compiler.cli.running.stream_lines import StreamLines
from graph_compiler.declaration.parameters.parameter import json_value
from graph_compiler.deployment.describe.region_descriptors import describe_pipeline
from graph_compiler.deployment.documents.staging_layout import StagingLayout, runs_of
from graph_compiler.staging.attempts.attempts import executions, identity_of
from graph_compiler.staging.store.stores import store_of

_PROGRAM = "graph_compiler.airflow_backend.installation.dated_run"


def run_under_airflow(run: Run, console: Console) -> FinishedRun:
    """Run to completion, and show progress."""
    name, airflow = run.name, run.airflow
    log = airflow.log_of(name)
    log.write_text("")
    if not airflow.is_prepared:
        console.print("preparing Airflow's database (the first time only)", highlight=False)
    airflow.prepare(log)
    root = airflow.staging_root
    store, runs = store_of(root), runs_of(root, name)
    known = set(store.folders(runs))
    tasks, started = task_words(run.compiled), time.time()

    def layout() -> StagingLayout | None:
        folders = sorted(set(store.folders(runs)) - known)
        identity = identity_of(store, f"{runs}/{folders[0]}") if folders else None
        return StagingLayout(root=root, identity=identity) if identity else None

    followed = Followed(
        pipeline=name,
        tasks=tasks,
        started=started,
        process=_start(run, log),
        starting="Airflow",
        look=lambda: {task.id: executions(store, where, task.id) if (where := layout()) else () for task in tasks},
        step=airflow_step,
        meanwhile=load_preview,
        batches=StreamLines.of(
            store, root, layout_of(name, "").identity.owner, describe_pipeline(run.compiled).regions, started
        ),
    )
    found = follow_run(followed, console)
    failure = None
    if followed.process.returncode:
        failure = failure_words(name, found, log, starting="Airflow")
    elif not all(found.values()):
        failure = skipped_words(name, found, run.day, log)
    sinks = [output for each in found.values() for output in outputs_of(each) if output.kind == "sink"]
    where = layout()
    return FinishedRun(
        compiled=run.compiled,
        run_id=None if where is None else where.identity.run_id,
        seconds=time.time() - followed.started,
        found=found,
        failure=failure,
        preview=published_preview(run.compiled, sinks, run.preview_sorted_by) if failure is None else None,
        log=log,
    )


def _start(run: Run, log: Path) -> subprocess.Popen[bytes]:
    """Start the run without a scheduler, as `airflow dags test` does; its output goes to `log`."""
    conf = {name: json_value(value) for name, value in run.params.items()}
    asked = {} if run.start is None else {"graph_compiler": {"savepoint": asdict(run.start)}}
    words = [run.name, run.day, named_after(run.day, datetime.now(UTC)), json.dumps({**conf, **asked})]
    command, environment = [sys.executable, "-m", _PROGRAM, *words], run.airflow.child_environment()
    with log.open("ab") as output:
        return subprocess.Popen(command, env=environment, stdout=output, stderr=output, start_new_session=True)
