"""What `graph-compiler staging` prints, as text and as JSON."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from datetime import UTC, datetime
from itertools import groupby

from rich.console import Console
from rich.text import Text

from graph_compiler.cli.arguments.runs import run_words
from graph_compiler.cli.console import age_words
from graph_compiler.deployment.documents.run_identity import RunIdentity
from graph_compiler.identifiers import counted, listing, size_words
from graph_compiler.staging.gc.collection import Collection, Policy, verdict
from graph_compiler.staging.gc.inventory import ResultFolder, StagedEpoch, StagedRun, StagingInventory
from graph_compiler.staging.gc.liveness import RunOfAirflow

_STYLE = {RunOfAirflow.FINISHED: "green", RunOfAirflow.FAILED: "red", RunOfAirflow.LIVE: "yellow"}


def show_list(inventory: StagingInventory, policy: Policy, console: Console) -> None:
    """Print a line for each run, with its pipeline and Dag, and the total."""
    by_owner = sorted(inventory.runs, key=lambda run: run.identity.owner)
    for owner, runs in groupby(by_owner, key=lambda run: run.identity.owner):
        console.print(Text(owner, style="bold"))
        for run in runs:
            found = verdict(run, policy)
            state = Text(f"{found.state:<8}", style=_STYLE[found.state])
            facts = (
                f"  {size_words(run.bytes):>9}  {age_words(policy.now - run.changed):>6} old  "
                f"{counted(run.attempts, 'attempt')}, {counted(len(kept_results(run)), 'result')} kept; {found.reason}"
            )
            name = run_words(run.identity.run_id, run.logical_date)
            console.print(Text(f"  {name}  ") + state + Text(facts), soft_wrap=True)
    if inventory.positions:
        words = f"{counted(inventory.positions, 'position')} of sources, which gc keeps: graph-compiler positions list"
        console.print(Text(words), soft_wrap=True)
    total = sum(run.bytes for run in inventory.runs)
    console.print(
        Text(f"{counted(len(inventory.runs), 'run')}, {size_words(total)} in {inventory.root}"), soft_wrap=True
    )


def list_json(inventory: StagingInventory, policy: Policy) -> str:
    """Return the same as JSON."""
    rows = []
    for run in inventory.runs:
        found = verdict(run, policy)
        rows.append(
            {
                **_identity_json(run.identity),
                "logical_date": run.logical_date,
                "state": found.state,
                "reason": found.reason,
                "bytes": run.bytes,
                "changed": run.changed,
                "age": policy.now - run.changed,
                "ttl": run.ttl,
                "attempts": run.attempts,
                "results_kept": kept_results(run),
            }
        )
    return json.dumps(rows, indent=1)


def kept_results(run: StagedRun) -> list[str]:
    """Return the results whose last epoch is still readable."""
    there = {(folder.owner, folder.name) for folder in run.data}
    return [
        result.id
        for result in run.results
        if result.epochs and result.epochs[-1].released is None and (result.id, result.epochs[-1].folder) in there
    ]


def show_run(run: StagedRun, console: Console) -> None:
    """Print each result with its epochs."""
    name = run_words(_words(run.identity), run.logical_date)
    console.print(Text(f"{name} · {size_words(run.bytes)}", style="bold"), soft_wrap=True)
    if run.facts.unreadable:
        console.print(Text(f"  {run.facts.unreadable}"), soft_wrap=True)
    for result in run.results:
        owner = "staged by one execution for itself" if result.owner is None else result.owner
        console.print(Text(f"  {result.id} · {owner}"), soft_wrap=True)
        if result.consumers:
            read = f"; was read by {listing(result.readers)}" if result.readers else ""
            console.print(Text(f"    for {listing(result.consumers)}{read}"), soft_wrap=True)
        for epoch in result.epochs:
            for line in _epoch_lines(run, result, epoch):
                console.print(Text(f"    {line}"), soft_wrap=True)


def run_json(run: StagedRun) -> dict[str, object]:
    """Return the same as a JSON object."""
    return {
        **_identity_json(run.identity),
        "logical_date": run.logical_date,
        "bytes": run.bytes,
        "unreadable": run.facts.unreadable,
        "results": [
            {
                "id": result.id,
                "owner": result.owner,
                "consumers": list(result.consumers),
                "readers": list(result.readers),
                "epochs": [
                    {
                        "epoch": epoch.epoch,
                        "execution_id": epoch.execution_id,
                        "rows": epoch.rows,
                        "bytes": epoch.bytes,
                        "location": epoch.location,
                        "committed": epoch.committed,
                        "is_there": _is_there(run, result, epoch),
                        "released_by": epoch.released and epoch.released.region_id,
                    }
                    for epoch in result.epochs
                ],
            }
            for result in run.results
        ],
    }


def show_collection(found: Collection, console: Console, *, is_dry: bool) -> None:
    """Print what is removed and why, what must be kept, and what a person has to do."""
    for removal in found.removals:
        whose = f"{_words(removal.run)}: " if removal.run else ""
        words = f"{whose}{removal.path} ({size_words(removal.bytes)}): {removal.waste}"
        console.print(Text(words), soft_wrap=True)
    for table in found.tables:
        words = f"{_words(table.run)}: drop what execution {table.execution_id} left for {table.target}"
        console.print(Text(words, style="yellow"), soft_wrap=True)
        console.print(Text(f"  {table.statement};"), soft_wrap=True)
    if found.tables:
        console.print(Text("then: graph-compiler staging gc --tables-dropped"), soft_wrap=True)
    verb = "would remove" if is_dry else "removed"
    states = Counter(run.state for run in found.kept)
    kept = listing(f"{number} {state.lower()}" for state, number in sorted(states.items()))
    console.print(
        Text(
            f"{verb} {counted(len(found.removals), 'thing')}, {size_words(found.bytes)}; "
            f"keeps {counted(len(found.kept), 'run')}" + (f" ({kept})" if states else "")
        ),
        soft_wrap=True,
    )


def collection_json(found: Collection, *, is_dry: bool) -> str:
    """Return the same as JSON."""
    return json.dumps(
        {
            "dry_run": is_dry,
            "bytes": found.bytes,
            "removed": [
                {
                    **_identity_json(removal.run),
                    "path": removal.path,
                    "bytes": removal.bytes,
                    "waste": removal.waste.name,
                }
                for removal in found.removals
            ],
            "tables": [
                {
                    **_identity_json(table.run),
                    "table": table.table,
                    "target": table.target,
                    "statement": table.statement,
                }
                for table in found.tables
            ],
            "kept": [
                {**_identity_json(kept.run), "state": kept.state, "reason": kept.reason, "bytes": kept.bytes}
                for kept in found.kept
            ],
        },
        indent=1,
    )


def _words(run: RunIdentity) -> str:
    return f"{run.owner} · {run.run_id}"


def _identity_json(run: RunIdentity | None) -> dict[str, object]:
    """Return the keys that identify a run; null for what belongs to none."""
    keys = ("pipeline", "run_id", "dag_id", "group_path", "map_index")
    return {key: getattr(run, key, None) for key in keys}


def _epoch_lines(run: StagedRun, result: ResultFolder, epoch: StagedEpoch) -> Iterator[str]:
    committed = datetime.fromtimestamp(epoch.committed, UTC)
    yield (
        f"epoch {epoch.epoch}: {epoch.rows:,} rows, {size_words(epoch.bytes)}, "
        f"{committed:%Y-%m-%d %H:%M:%S} UTC, execution {epoch.execution_id}"
    )
    if epoch.released is not None:
        yield f"  was released by its last consumer, '{epoch.released.region_id}'"
    elif not _is_there(run, result, epoch):
        yield f"  its data is gone from {epoch.location}"
    else:
        yield f"  {epoch.location}"


def _is_there(run: StagedRun, result: ResultFolder, epoch: StagedEpoch) -> bool:
    return any(folder.owner == result.id and folder.name == epoch.folder for folder in run.data)
