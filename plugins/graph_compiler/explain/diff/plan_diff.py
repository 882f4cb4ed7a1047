"""Compare two versions of a pipeline: a pure function from two PlanSummaries to a PlanDiff."""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from graph_compiler.declaration.connectors.files import CHECKED, TABLE_FORMATS
from graph_compiler.deployment.documents.stream import QueryChange
from graph_compiler.explain.diff.plan_changes import (
    FactChange,
    OperatorChange,
    OperatorChangeKind,
    PlanDiff,
    ResultChange,
    ResultChangeKind,
    StreamChange,
    TaskChange,
    TaskChangeKind,
    fact_changes,
)
from graph_compiler.explain.diff.sink_columns import sink_columns
from graph_compiler.explain.plan.plan import Facts, OperatorSummary, PlanSummary, ResultSummary, TaskSummary
from graph_compiler.identifiers import IntermediateDataSetId, listing


def plan_diff(before: PlanSummary, now: PlanSummary) -> PlanDiff:
    """Compare two versions."""
    pairing = pair(before, now)
    return PlanDiff(
        pipeline_before=before.pipeline,
        pipeline=now.pipeline,
        session=fact_changes(before.session, now.session),
        run=fact_changes(before.run, now.run),
        operators=tuple(_operator_changes(pairing)),
        results=tuple(_result_changes(pairing)),
        tasks=tuple(task_changes(pairing)),
        tasks_now=len(now.tasks),
        streams=tuple(_stream_changes(before, now)),
    )


def _stream_changes(before: PlanSummary, now: PlanSummary) -> Iterator[StreamChange]:
    """Yield the streams of both versions, which belong to the uids of their sources, as a start compares them.

    A pipeline of another name has streams of its own.
    """
    if before.pipeline != now.pipeline:
        return
    for query in now.streams:
        uids = {source.uid for source in query.sources}
        for old in before.streams:
            if uids.isdisjoint(source.uid for source in old.sources):
                continue
            change = QueryChange.of(old, query)
            yield StreamChange(
                sources=tuple(sorted(uids)),
                continuation=change.continuation,
                why=change.why_other_sources() or change.why_other_state() or change.why_other_places(),
                state=change.state,
            )


def _operator_changes(pairing: Pairing) -> Iterator[OperatorChange]:
    for place, operator in enumerate(pairing.now.operators):
        if place not in pairing.operators:
            yield _change(OperatorChangeKind.ADDED, None, operator)
            continue
        old, facts = pairing.before.operators[pairing.operators[place]], _changed_facts(place, pairing)
        if kind := _kind(old, operator) or (OperatorChangeKind.AFFECTED if facts else None):
            yield replace(_change(kind, old, operator), facts=facts, columns=sink_columns(old, operator))
    kept = set(pairing.operators.values())
    for place, operator in enumerate(pairing.before.operators):
        if place not in kept:
            yield _change(OperatorChangeKind.REMOVED, operator, None)


def _change(kind: OperatorChangeKind, before: OperatorSummary | None, now: OperatorSummary | None) -> OperatorChange:
    return OperatorChange(
        kind=kind,
        name_before=before.name if before else None,
        name=now.name if now else None,
        id_before=before.id if before else None,
        id=now.id if now else None,
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
                kind=ResultChangeKind.REMOVED, name=pairing.before.result_name(old), id_before=old.id, id=None
            )


def _result_kind(before: ResultSummary | None, now: ResultSummary, pairing: Pairing) -> ResultChangeKind:
    if before is None:
        return ResultChangeKind.ADDED
    if (
        before.fingerprint != now.fingerprint or pairing.before.pipeline != pairing.now.pipeline
    ):  # another Dag has another folder of results
        return ResultChangeKind.RECOMPUTED
    return ResultChangeKind.REUSABLE if before.id == now.id else ResultChangeKind.MOVED


# What a source reads more strictly than versions before 0.2 did, though its declaration is equal.
#
# Those versions read records leniently, took the columns of one Parquet file, and left out files in folders below.

_FORMATS = {"Csv": "csv", "Json": "json", "Text": "text", "Parquet": "parquet", "Orc": "orc"}
_LENIENTLY = {"csv": "NULL, padded or cut", "json": "NULL", "text": "with letters replaced", "xml": "NULL"}
"""How records that do not fit were read without a schema, by format."""


def stricter_fact(before: Facts, now: Facts) -> FactChange | None:
    """Return what changes for an operator when its records are checked; None if it is not a source of files.

    A source with `on_misfit` or `rejects` is declared for this version, so its author knows.
    """
    old, new = dict(before), dict(now)
    format = _format(new)
    if format is None or format != _format(old) or format in TABLE_FORMATS:
        return None
    if "connector.on_misfit" in new or "connector.rejects" in new:
        return None
    has_schema, options = "connector.schema" in new, dict(_options(new))
    if format in CHECKED or (format == "xml" and not has_schema):
        return FactChange(
            fact="records that do not fit",
            before=_before(format, old),
            now='fail the task, unless on_misfit="null" or sources.strict: false',
        )
    if format in ("parquet", "orc") and not has_schema and "mergeschema" not in options:
        return FactChange(fact="columns", before="of one file", now="of all files, unless sources.strict: false")
    if options.get("recursivefilelookup") == "true":
        return None
    return FactChange(
        fact="files in folders below", before="left out", now="refuse the source, unless sources.strict: false"
    )


def _format(facts: Mapping[str, str]) -> str | None:
    """Return the format of a source's files in lower case; None for all other operators."""
    if facts.get("operator") != "Source":
        return None
    connector = facts.get("connector", "")
    if connector == "Files":
        return facts.get("connector.format", "").lower()
    return _FORMATS.get(connector)


def _before(format: str, facts: Mapping[str, str]) -> str:
    if "connector.schema" not in facts or format == "text":
        return _LENIENTLY[format]
    if facts.get("connector.on_schema_change") == "ignore":
        return "NULL"
    return "checked in the columns that are read"


def _options(facts: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """Yield the options of a connector, in lower case: a plan has each as `name, value`."""
    for fact, text in facts.items():
        if fact.startswith("connector.options["):
            name, _, value = text.partition(", ")
            yield name.lower(), value.lower()


def task_changes(pairing: Pairing) -> Iterator[TaskChange]:
    """Yield changed tasks: first new and existing ones, in an order in which they can run, then removed ones."""
    left = {task.id: task for task in pairing.before.tasks}
    for task in pairing.now.tasks:
        old = left.pop(task.id, None)
        if old is None:
            yield TaskChange(kind=TaskChangeKind.ADDED, task=task.id)
        elif reasons := tuple(_reasons(old, task, pairing)):
            yield TaskChange(kind=TaskChangeKind.CHANGED, task=task.id, reasons=reasons)
    for id in left:
        yield TaskChange(kind=TaskChangeKind.REMOVED, task=id)


def _reasons(old: TaskSummary, new: TaskSummary, pairing: Pairing) -> Iterator[str]:
    yield from _operator_reasons(old, new, pairing)
    yield from _result_reasons(old, new, pairing)
    yield from _read_reasons(old, new, pairing)
    for change in fact_changes(old.settings, new.settings):
        yield str(change)


def _operator_reasons(old: TaskSummary, new: TaskSummary, pairing: Pairing) -> Iterator[str]:
    had = {place: pairing.operators.get(place) for place in new.operators}
    before, now = pairing.before.operators, pairing.now.operators
    came = [place for place, old_place in had.items() if old_place not in old.operators]
    moved: dict[str, list[str]] = {}
    for task in pairing.before.tasks:
        from_it = [now[place].name for place in came if had[place] in task.operators]
        moved |= {task.id: from_it} if from_it else {}
    new_names = [now[place].name for place in came if had[place] is None]
    went = [before[place].name for place in old.operators if place not in had.values()]
    changed = [
        now[place].name
        for place, old_place in had.items()
        if old_place in old.operators and pairing.is_redefined(place)
    ]
    yield from _sentence("runs", new_names, "too")
    for task_id, names in moved.items():
        yield from _sentence("runs", names, f"too, moved from task '{task_id}'")
    yield from _sentence("no longer runs", went)
    yield from _sentence("changed:", changed)


def _result_reasons(old: TaskSummary, new: TaskSummary, pairing: Pairing) -> Iterator[str]:
    came, went = _added_and_removed(old.stages, new.stages, pairing)
    yield from _sentence("stages", came)
    yield from _sentence("no longer stages", went)


def _read_reasons(old: TaskSummary, new: TaskSummary, pairing: Pairing) -> Iterator[str]:
    came, went = _added_and_removed(old.reads, new.reads, pairing)
    yield from _sentence("reads", came, "from staging")
    yield from _sentence("no longer reads", went, "from staging")
    results = {result.id: result for result in pairing.now.results}
    kept = [
        (pairing.results[id], results[id])
        for id in new.reads
        if id in pairing.results and pairing.results[id].id in old.reads
    ]
    other = [now for before, now in kept if before.fingerprint != now.fingerprint]
    moved = [now for before, now in kept if before.fingerprint == now.fingerprint and before.id != now.id]
    yield from _sentence("reads different rows of", map(pairing.now.result_name, other))
    yield from _sentence("reads under a different id:", map(pairing.now.result_name, moved))


def _added_and_removed(
    before: Collection[IntermediateDataSetId], now: Collection[IntermediateDataSetId], pairing: Pairing
) -> tuple[list[str], list[str]]:
    """Return the names of added results, and those of removed results."""
    was = {id: pairing.results[id].id for id in now if id in pairing.results}
    came = [one for one in pairing.now.results if one.id in now and was.get(one.id) not in before]
    went = [one for one in pairing.before.results if one.id in before and one.id not in was.values()]
    return [*map(pairing.now.result_name, came)], [*map(pairing.before.result_name, went)]


def _sentence(words: str, names: Iterable[str], after: str = "") -> Iterator[str]:
    known = list(names)
    if known:
        yield f"{words} {listing(known)} {after}".rstrip()


# Pair the operators and staged results of two versions of a pipeline.
#
# Flink's automatic ids change if operators are added before them, and names need not be unique. So operators are paired
# by the most reliable criterion first: a uid; all of id, name and digest; then weaker ones (`_SIGNS`).


@dataclass(frozen=True, slots=True, kw_only=True)
class Pairing:
    """Two versions; `operators` maps an operator's new index to its old one, `results` a result to its old one."""

    before: PlanSummary
    now: PlanSummary
    operators: Mapping[int, int]
    results: Mapping[IntermediateDataSetId, ResultSummary]

    def is_redefined(self, place: int) -> bool:
        """Whether the operator at an index, which existed before, now computes or reads something different."""
        old, new = self.before.operators[self.operators[place]], self.now.operators[place]
        return old.digest != new.digest or self.is_rewired(place)

    def is_rewired(self, place: int) -> bool:
        """Whether the operator at an index reads from other operators than before."""
        old, new = self.before.operators[self.operators[place]], self.now.operators[place]
        return [self.operators.get(input) for input in new.inputs] != list(old.inputs)


def pair(before: PlanSummary, now: PlanSummary) -> Pairing:
    """Pair the operators and results of both versions."""
    operators = _pair_operators(before.operators, now.operators)
    old = {(result.operator, result.output_tag): result for result in before.results}
    places = {result.id: (operators.get(result.operator, -1), result.output_tag) for result in now.results}
    return Pairing(
        before=before,
        now=now,
        operators=operators,
        results={id: old[place] for id, place in places.items() if place in old},
    )


_SIGNS: tuple[Callable[[OperatorSummary], Hashable], ...] = (
    lambda one: one.uid,
    lambda one: (one.id, one.name, one.digest),
    lambda one: (one.name, one.fingerprint),
    lambda one: (one.name, one.digest),
    lambda one: (one.id, one.name),
    lambda one: one.name,
    lambda one: (one.id, one.digest),
    lambda one: one.fingerprint,
)
"""Two operators are the same if they agree in one of these, in this order; None does not count."""


def _pair_operators(before: Sequence[OperatorSummary], now: Sequence[OperatorSummary]) -> Mapping[int, int]:
    """Return the old index of each operator by its new one."""
    found: dict[int, int] = {}
    left = dict.fromkeys(range(len(before)))
    for sign in _SIGNS:
        waiting: dict[Hashable, list[int]] = {}
        for place in left:
            waiting.setdefault(sign(before[place]), []).append(place)
        waiting.pop(None, None)
        for place, operator in enumerate(now):
            if place not in found and (candidates := waiting.get(sign(operator))):
                found[place] = candidates.pop(0)
                del left[found[place]]
    return found
