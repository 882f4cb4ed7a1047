"""What the pipelines in a Dag run have published, according to their last attempts' reports in the staging root."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from graph_compiler.deployment.documents.manifest import ContractCount
from graph_compiler.deployment.documents.run_identity import RunIdentity
from graph_compiler.deployment.documents.staging_layout import StagingLayout
from graph_compiler.staging.attempts.attempts import identity_of, last_execution, regions_of
from graph_compiler.staging.store.staging_store import StagingStore


@dataclass(frozen=True, slots=True, kw_only=True)
class PublishedRows:
    """The rows of a sink; `owner` is its pipeline, with Dag and group unless the Dag is its own."""

    owner: str
    sink: str
    path: str
    rows: int
    bytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class RunResult:
    """What a run has published so far, the counts of its data contracts, and why regions failed, if any did."""

    sinks: tuple[PublishedRows, ...]
    contracts: tuple[ContractCount, ...]
    failures: tuple[str, ...]


def layouts_in(store: StagingStore, root: str, wanted: RunIdentity, *, is_named: bool) -> tuple[StagingLayout, ...]:
    """Return the runs in a staging root that belong to a Dag run: all pipelines' in it, or only the one that is named.

    Raises OSError.
    """
    return tuple(
        StagingLayout(root=root, identity=found)
        for found in _identities(store, root)
        if (found.dag_id, found.run_id) == (wanted.dag_id, wanted.run_id) and (not is_named or found == wanted)
    )


def published(store: StagingStore, layouts: tuple[StagingLayout, ...]) -> RunResult:
    """Return what some runs have published."""
    sinks, contracts, failures = list[PublishedRows](), list[ContractCount](), list[str]()
    for layout in layouts:
        for region_id in regions_of(store, layout):
            last = last_execution(store, layout, region_id)
            if last is None:
                continue
            if last.is_finished and last.report is not None:
                contracts += last.report.contracts
                sinks += [
                    PublishedRows(
                        owner=layout.identity.owner,
                        sink=output.name,
                        path=output.location,
                        rows=output.rows,
                        bytes=output.bytes,
                    )
                    for output in last.outputs
                    if output.kind == "sink"
                ]
            elif (words := last.words(layout.identity.owner, region_id)) is not None:
                failures.append(words)
    return RunResult(sinks=tuple(sinks), contracts=tuple(contracts), failures=tuple(failures))


def _identities(store: StagingStore, root: str) -> Iterator[RunIdentity]:
    for folder in store.folders(root):
        if folder.startswith("."):
            continue
        for name in store.folders(f"{root}/{folder}"):
            if (found := identity_of(store, f"{root}/{folder}/{name}")) is not None:
                yield found
