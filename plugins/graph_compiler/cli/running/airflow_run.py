"""One run under the project's own Airflow, as `airflow dags test` does it, followed to its end."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime

from rich.console import Console

from graph_compiler.cli.arguments.run_dates import run_date
from graph_compiler.cli.running.embedded_airflow import EmbeddedAirflow
from graph_compiler.cli.running.finished_run import FinishedRun, outputs_of, published_preview, task_words
from graph_compiler.cli.running.following import Followed, follow_run
from graph_compiler.cli.running.run_view import airflow_step, failure_words, skipped_words
from graph_compiler.declaration.parameters.parameter import ParameterValue
from graph_compiler.deployment.documents.staging_layout import StagingLayout, runs_of
from graph_compiler.graphs.compiled_pipeline import CompiledPipeline
from graph_compiler.staging.attempts.attempts import executions, identity_of
from graph_compiler.staging.store.stores import store_of


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """What the user asked for."""

    compiled: CompiledPipeline
    day: str
    params: Mapping[str, ParameterValue]
    preview_sorted_by: str | None


def run_under_airflow(run: Run, airflow: EmbeddedAirflow, console: Console) -> FinishedRun:
    """Run to completion, and show progress."""
    name = run.compiled.pipeline.name
    log = airflow.log_of(name)
    log.write_text("")
    if not airflow.is_prepared:
        console.print("preparing Airflow's database (the first time only)", highlight=False)
    airflow.prepare(log)
    root = airflow.staging_root
    store, runs = store_of(root), runs_of(root, name)
    known = set(store.folders(runs))
    tasks = task_words(run.compiled)

    def layout() -> StagingLayout | None:
        folders = sorted(set(store.folders(runs)) - known)
        identity = identity_of(store, f"{runs}/{folders[0]}") if folders else None
        return StagingLayout(root=root, identity=identity) if identity else None

    followed = Followed(
        pipeline=name,
        tasks=tasks,
        started=time.time(),
        process=airflow.start_test_run(name, run_date(run.day, datetime.now(UTC)), run.params, log),
        starting="Airflow",
        look=lambda: {task.id: executions(store, where, task.id) if (where := layout()) else () for task in tasks},
        step=airflow_step,
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
