"""What is known about an operator's rows: why recomputing may change them, and which files they come from."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from pyspark.sql import DataFrame

from graph_compiler.declaration.connectors import WhenReadTwice
from graph_compiler.declaration.operators import Source
from graph_compiler.declaration.varying_rows import CHANGING_SOURCES, DECLARED
from graph_compiler.deployment.documents.descriptor import OperatorDescriptor
from graph_compiler.spark_runtime.region.region_graph import Output
from graph_compiler.spark_runtime.repeatability.source_files import ListedFiles, SourceRows
from graph_compiler.spark_runtime.repeatability.variations import Variation, why_rows_vary


@dataclass(frozen=True, slots=True)
class Judgement:
    """What an operator adds to the knowledge about its inputs; `listings` are a source's."""

    variation: Variation | None
    listings: tuple[ListedFiles, ...] = ()

    @classmethod
    def of(cls, operator: OperatorDescriptor, rows: DataFrame) -> Judgement:
        """Judge one output: by its declaration, its source, and its plan.

        For an operator that is declared deterministic, only the variations that are certain count.
        """
        if words := operator.operator.why_unrepeatable():
            return cls(Variation(DECLARED, words, is_certain=True))
        source = _source_rows(operator, rows)
        listings = () if source is None else source.listings
        if source is not None and not source.is_held and not operator.settings.deterministic:
            return cls(Variation(CHANGING_SOURCES, "its source"), listings)
        variation = why_rows_vary(rows)
        is_doubted = variation is not None and not variation.is_certain
        return cls(None if is_doubted and operator.settings.deterministic else variation, listings)


def _source_rows(operator: OperatorDescriptor, rows: DataFrame) -> SourceRows | None:
    if not isinstance(operator.operator, Source):
        return None
    stands = operator.operator.connector.when_read_twice
    if stands in (WhenReadTwice.SAME, WhenReadTwice.SNAPSHOT):
        return None
    # None of our file readers makes rows on the driver: a test gave them.
    return SourceRows.of(rows, holds_given_rows=stands is WhenReadTwice.LISTED)


@dataclass(slots=True)
class Variations:
    """Why recomputing each output may change it; a fixed output is read back, so it no longer varies."""

    _open: dict[Output, tuple[Variation, ...]] = field(default_factory=dict)
    _ever: set[Output] = field(default_factory=set)

    def note(
        self,
        output: Output,
        sources: Iterable[Output],
        inherited: tuple[Variation, ...],
        own: Variation | None,
    ) -> None:
        """Record an output's variations: its own, and those of its sources that are not fixed."""
        found = dict.fromkeys([*inherited, *([own] if own else [])])
        self._open[output] = tuple(sorted(found, key=lambda each: each.is_in_last_digits))
        is_other = not self._ever.isdisjoint(sources) or any(map(_is_other_rows, found))
        if is_other:
            self._ever.add(output)

    def of(self, outputs: Iterable[Output]) -> tuple[Variation, ...]:
        """Return why any of these outputs may vary: each reason once, the most important first."""
        found = dict.fromkeys(each for output in outputs for each in self._open.get(output, ()))
        return tuple(sorted(found, key=lambda each: each.is_in_last_digits))

    def why_two_readers_differ(self, output: Output) -> Variation | None:
        """Return why two readers of an output would see different rows; the last digits of a sum do not count."""
        return next((each for each in self.of([output]) if not each.is_in_last_digits), None)

    def settle(self, output: Output) -> None:
        """Record that an output is fixed: from now on it is read, not computed."""
        self._open[output] = ()

    def ever(self, output: Output) -> bool:
        """Whether another execution may compute different rows of an output, even if it is fixed in this one."""
        return output in self._ever


def _is_other_rows(variation: Variation) -> bool:
    return not variation.is_in_last_digits
