"""Compare two versions of a pipeline: a pure function from two PlanSummaries to a PlanDiff."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from graph_compiler.explain.diff.plan_changes import (
    FactChange,
    OperatorChange,
    OperatorChangeKind,
    PlanDiff,
    ResultChange,
    ResultChangeKind,
    fact_changes,
)
from graph_compiler.explain.diff.plan_pairing import Pairing, pair
from graph_compiler.explain.diff.plan_summary import OperatorSummary, PlanSummary, ResultSummary
from graph_compiler.explain.diff.sink_columns import sink_columns
from graph_compiler.explain.diff.stricter_sources import stricter_fact
from graph_compiler.explain.diff.task_diff import task_changes
from graph_compiler.identifiers import listing


def plan_diff(before: PlanSummary, now: PlanSummary) -> PlanDiff:
    """Compare two versions."""
    pairing = pair(before, now)
    return PlanDiff(
        pipeline_before=before.pipeline,
        pipeline=now.pipeline,
        session=fact_changes(before.session, now.session),
        run=fact_changes(before.run, now.run),
        operators=(*_operator_changes(pairing), *_removed_operators(pairing)),
        results=tuple(_result_changes(pairing)),
        tasks=tuple(task_changes(pairing)),
        tasks_now=len(now.tasks),
    )


def _operator_changes(pairing: Pairing) -> Iterator[OperatorChange]:
    for place, operator in enumerate(pairing.now.operators):
        if place not in pairing.operators:
            yield _change(OperatorChangeKind.ADDED, None, operator)
            continue
        old, facts = (
            pairing.before.operators[pairing.operators[place]],
            _changed_facts(place, pairing),
        )
        kind = _kind(old, operator) or (OperatorChangeKind.AFFECTED if facts else None)
        if kind:
            change = _change(kind, old, operator, facts)
            yield replace(change, columns=sink_columns(old, operator))


def _removed_operators(pairing: Pairing) -> Iterator[OperatorChange]:
    kept = set(pairing.operators.values())
    for place, operator in enumerate(pairing.before.operators):
        if place not in kept:
            yield _change(OperatorChangeKind.REMOVED, operator, None)


def _change(
    kind: OperatorChangeKind,
    before: OperatorSummary | None,
    now: OperatorSummary | None,
    facts: tuple[FactChange, ...] = (),
) -> OperatorChange:
    return OperatorChange(
        kind=kind,
        name_before=before.name if before else None,
        name=now.name if now else None,
        id_before=before.id if before else None,
        id=now.id if now else None,
        facts=facts,
    )


def _kind(before: OperatorSummary, now: OperatorSummary) -> OperatorChangeKind | None:
    if before.digest != now.digest:
        return OperatorChangeKind.CHANGED
    if before.fingerprint != now.fingerprint:
        return OperatorChangeKind.AFFECTED
    if before.name != now.name:
        return OperatorChangeKind.RENAMED
    return OperatorChangeKind.MOVED if before.id != now.id else None


def _changed_facts(place: int, pairing: Pairing) -> tuple[FactChange, ...]:
    """Return the settings that differ, what a source reads more strictly, and the inputs that were replaced."""
    old, new = pairing.before.operators[pairing.operators[place]], pairing.now.operators[place]
    facts = fact_changes(old.facts, new.facts)
    if pairing.now.strict_sources and not pairing.before.strict_sources:
        stricter = stricter_fact(old.facts, new.facts)
        facts = facts if stricter is None else (*facts, stricter)
    if not pairing.is_rewired(place):
        return facts
    reads = FactChange(
        fact="reads",
        before=listing(pairing.before.operators[input].name for input in old.inputs),
        now=listing(pairing.now.operators[input].name for input in new.inputs),
    )
    return (*facts, reads)


def _result_changes(pairing: Pairing) -> Iterator[ResultChange]:
    for result in pairing.now.results:
        old = pairing.results.get(result.id)
        yield ResultChange(
            kind=_result_kind(old, result, pairing),
            name=pairing.now.result_name(result),
            id_before=old.id if old else None,
            id=result.id,
        )
    kept = {result.id for result in pairing.results.values()}
    for old in pairing.before.results:
        if old.id not in kept:
            yield ResultChange(
                kind=ResultChangeKind.REMOVED,
                name=pairing.before.result_name(old),
                id_before=old.id,
                id=None,
            )


def _result_kind(
    before: ResultSummary | None, now: ResultSummary, pairing: Pairing
) -> ResultChangeKind:
    if before is None:
        return ResultChangeKind.ADDED
    if (
        before.fingerprint != now.fingerprint or pairing.before.pipeline != pairing.now.pipeline
    ):  # another Dag has another folder of results
        return ResultChangeKind.RECOMPUTED
    return ResultChangeKind.REUSABLE if before.id == now.id else ResultChangeKind.MOVED
