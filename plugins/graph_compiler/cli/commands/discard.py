"""`graph-compiler discard`: let the next try of a task keep nothing of the earlier ones."""

from __future__ import annotations

import json
from typing import Annotated

import typer

from graph_compiler.cli.arguments.runs import DagName, RunId, layout_of
from graph_compiler.cli.console import AsJson, speaking_plainly
from graph_compiler.deployment.documents.staging_layout import StagingLayout
from graph_compiler.identifiers import RegionId, TaskName, listing
from graph_compiler.staging.attempts.attempts import ExecutionNotFoundError, find_run, regions_of, task_names
from graph_compiler.staging.results.kept_regions import discard as discard_work
from graph_compiler.staging.store.staging_store import StagingStore
from graph_compiler.staging.store.stores import store_of


def discard(
    dag: DagName,
    run_id: RunId,
    task: Annotated[str, typer.Argument(help="Task id without its groups, or a region's id.")],
    as_json: AsJson = False,
) -> None:
    """Let the next try of a task compute everything again, and keep no region of the tries so far.

    Use it if a connection, a database or a table has changed, which retries do not look at. Then clear the task.
    """
    with speaking_plainly():
        layout = layout_of(dag, run_id)
        store = store_of(layout.root)
        region_ids = regions_of_task(store, layout, task)
        discard_work(store, layout, region_ids)
    if as_json:
        typer.echo(json.dumps({"discarded": region_ids}, indent=1))
    else:
        words = "region" if len(region_ids) == 1 else "regions"
        typer.echo(f"the next try of '{task}' runs {words} {listing(region_ids)} again: clear it")


def regions_of_task(store: StagingStore, layout: StagingLayout, task: str) -> tuple[RegionId, ...]:
    """Return the regions of a task, or the one of this id; raises ExecutionNotFoundError, which lists the tasks."""
    find_run(store, layout)
    names = {each: task_names(store, layout, [each])[0] for each in regions_of(store, layout)}
    if found := tuple(each for each, name in names.items() if name == TaskName(task)):
        return found
    if RegionId(task) in names:
        return (RegionId(task),)
    raise ExecutionNotFoundError(
        f"task '{task}' was not run in '{layout.identity.run_id}'\n  found: {listing(sorted(set(names.values())))}"
    )
