"""Whatever a staging root contains, a collection leaves what may still be read."""

from hypothesis import given
from hypothesis import strategies as st

from graph_compiler.deployment.documents.run_identity import RunIdentity
from graph_compiler.identifiers import IntermediateDataSetId, OperatorId, RegionId
from graph_compiler.staging.gc.collection import Policy, Waste, collect, verdict
from graph_compiler.staging.gc.inventory import (
    DataFolder,
    PreparedRows,
    ResultFolder,
    StagedEpoch,
    StagedRun,
    StagingInventory,
)
from graph_compiler.staging.gc.liveness import AirflowRunState, RunFacts, RunOfAirflow
from graph_compiler.staging.publications.preparations import PlaceKind, Preparation, PreparedPlace
from graph_compiler.staging.publications.publications import Publication
from graph_compiler.staging.results.release import ReleasedResult

NOW, HOUR = 1_000_000_000.0, 3600.0
TASKS = st.lists(st.sampled_from([RegionId("a"), RegionId("b")]), unique=True).map(tuple)
RESULTS = st.sampled_from([IntermediateDataSetId("r-0"), IntermediateDataSetId("s-0")])
EXECUTIONS = st.sampled_from(["e1", "e2", "e3"])


@st.composite
def results(draw: st.DrawFn) -> ResultFolder:
    id = draw(RESULTS)
    epochs = []
    for number in range(draw(st.integers(0, 3))):
        execution_id = draw(EXECUTIONS)
        released = ReleasedResult(
            result_id=id, epoch=number, region_id=RegionId("b"), execution_id="e", time=0, bytes=1
        )
        epochs.append(
            StagedEpoch(
                epoch=number,
                execution_id=execution_id,
                folder=f"epoch-{number}-{execution_id}",
                location="",
                rows=1,
                bytes=1,
                committed=0,
                released=released if draw(st.booleans()) else None,
            )
        )
    return ResultFolder(id=id, owner=RegionId("a"), consumers=(), readers=(), epochs=tuple(epochs))


@st.composite
def runs(draw: st.DrawFn, run_id: str) -> StagedRun:
    facts = RunFacts(
        open=draw(TASKS),
        failed=draw(TASKS),
        awaited=draw(TASKS),
        unreadable=draw(st.sampled_from([None, None, "of another version"])),
    )
    found = draw(st.lists(results(), unique_by=lambda result: result.id, max_size=2))
    committed = [(result.id, epoch.folder) for result in found for epoch in result.epochs]
    others = draw(st.lists(st.tuples(RESULTS, st.just("epoch-9-loser")), max_size=2))
    waiting = draw(st.lists(st.tuples(st.just("ab-sink"), EXECUTIONS), max_size=2))
    prepared = [
        PreparedRows(
            record="",
            preparation=Preparation(
                operator_id=OperatorId("ab"),
                execution_id=execution_id,
                prepared=PreparedPlace(kind=kind, place=f"/out/.t.graph_compiler/{execution_id}", target="/out/t"),
            ),
            is_there=draw(st.booleans()),
            bytes=1,
        )
        for execution_id in draw(st.lists(EXECUTIONS, max_size=2, unique=True))
        for kind in [draw(st.sampled_from(PlaceKind))]
    ]
    return StagedRun(
        identity=RunIdentity.own("p", run_id),
        path=f"/root/p/{run_id}",
        bytes=1,
        changed=NOW - draw(st.floats(0, 20 * 24 * HOUR)),
        ttl=draw(st.sampled_from([HOUR, 7 * 24 * HOUR])),
        attempts=1,
        facts=facts,
        results=tuple(found),
        data=tuple(
            DataFolder(owner=owner, name=name, path=f"/root/p/{run_id}/data/{owner}/{name}", bytes=1)
            for owner, name in dict.fromkeys([*committed, *others, *waiting])
        ),
        prepared=tuple(prepared),
        stray=(),
    )


@st.composite
def inventories(draw: st.DrawFn) -> StagingInventory:
    undone = draw(st.lists(st.tuples(st.sampled_from(["r1", "r2"]), EXECUTIONS), max_size=2))
    return StagingInventory(
        root="/root",
        runs=(draw(runs("r1")), draw(runs("r2"))),
        undone=tuple(
            Publication(
                number=0,
                identity=RunIdentity.own("p", run_id),
                plan_id="plan",
                operator_id=OperatorId("ab" * 16),
                execution_id=execution_id,
                target="/out/t",
                rows=3,
                bytes=4,
            )
            for run_id, execution_id in undone
        ),
        trash=(),
        stray=(),
    )


POLICIES = st.builds(
    Policy,
    now=st.just(NOW),
    older_than=st.one_of(st.none(), st.floats(0, 20 * 24 * HOUR)),
    airflow=st.dictionaries(
        st.sampled_from([RunIdentity.own("p", "r1"), RunIdentity.own("p", "r2")]), st.sampled_from(AirflowRunState)
    ),
    tables_dropped=st.booleans(),
)


def removed(inventory: StagingInventory, policy: Policy, run: StagedRun) -> set[str]:
    """Return what is removed of one run, including its folder."""
    collection = collect(inventory, policy)
    return {removal.path for removal in collection.removals if removal.run == run.identity}


@given(inventories(), POLICIES)
def test_nothing_of_a_live_run_is_removed(inventory: StagingInventory, policy: Policy) -> None:
    for run in inventory.runs:
        word = policy.airflow.get(run.identity)
        is_new = word is None and policy.now - run.changed < HOUR
        if is_new or verdict(run, policy).state is RunOfAirflow.LIVE or (word and word.is_live):
            assert not removed(inventory, policy, run)


@given(inventories(), POLICIES)
def test_rows_of_unfinished_publications_are_kept(inventory: StagingInventory, policy: Policy) -> None:
    for run in inventory.runs:
        gone = removed(inventory, policy, run)
        undone = {intent.execution_id for intent in inventory.undone if intent.identity == run.identity}
        needed = {rows.preparation.prepared.place for rows in run.prepared if rows.preparation.execution_id in undone}
        needed |= {folder.path for folder in run.data if folder.owner == "ab-sink" and folder.name in undone}
        assert not gone & needed
        assert not undone or run.path not in gone


@given(inventories(), POLICIES)
def test_a_recent_run_keeps_what_cleared_tasks_read(inventory: StagingInventory, policy: Policy) -> None:
    for run in inventory.runs:
        limit = run.ttl if policy.older_than is None else policy.older_than
        if policy.now - run.changed < limit:
            last = [(result.id, result.epochs[-1]) for result in run.results if result.epochs]
            read = {f"{run.path}/data/{id}/{epoch.folder}" for id, epoch in last if not epoch.released}
            assert not removed(inventory, policy, run) & (read | {run.path})


@given(inventories(), POLICIES)
def test_each_run_is_either_kept_or_removed(inventory: StagingInventory, policy: Policy) -> None:
    collection = collect(inventory, policy)
    whole = [removal.run for removal in collection.removals if removal.waste is Waste.RUN]
    known = [run.run_id for run in (*whole, *(kept.run for kept in collection.kept)) if run]
    assert sorted(known) == ["r1", "r2"]
