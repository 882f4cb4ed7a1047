"""Pair the operators and staged results of two versions of a pipeline.

Flink's automatic ids change if operators are added before them, and names need not be unique. So operators are paired
by the most reliable criterion first: a uid; all of id, name and digest; then weaker ones (`_SIGNS`).
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass

from graph_compiler.explain.diff.plan_summary import OperatorSummary, PlanSummary, ResultSummary
from graph_compiler.identifiers import IntermediateDataSetId


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
    places = {
        result.id: (operators.get(result.operator, -1), result.output_tag) for result in now.results
    }
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


def _pair_operators(
    before: Sequence[OperatorSummary], now: Sequence[OperatorSummary]
) -> Mapping[int, int]:
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
