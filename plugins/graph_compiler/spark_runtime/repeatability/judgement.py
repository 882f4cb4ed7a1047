"""What is known about an operator's rows: why recomputing may change them, and what they are read from."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace

from pyspark.sql import DataFrame

from graph_compiler.declaration.connectors import WhenReadTwice
from graph_compiler.declaration.operators import Source
from graph_compiler.declaration.varying_rows import CHANGING_SOURCES, DECLARED
from graph_compiler.deployment.documents.descriptor import OperatorDescriptor
from graph_compiler.spark_runtime.region.region_graph import Output
from graph_compiler.spark_runtime.repeatability.source_files import OwnReads, changing_reads
from graph_compiler.spark_runtime.repeatability.variations import Variation, why_rows_vary


@dataclass(frozen=True, slots=True)
class Judgement:
    """What an operator adds to the knowledge about its inputs; `reads` is what it reads by itself."""

    variation: Variation | None
    reads: OwnReads

    @classmethod
    def of(
        cls, operator: OperatorDescriptor, rows: DataFrame, inputs: Sequence[DataFrame]
    ) -> Judgement:
        """Judge one output: by its declaration, what it reads, and its plan.

        For an operator that is declared deterministic, only the variations that are certain count.
        """
        is_source, reads = isinstance(operator.operator, Source), _own_reads(operator, rows, inputs)
        if words := operator.operator.why_unrepeatable():
            return cls(Variation(DECLARED, words, is_certain=True), reads)
        if reads.changing:
            found = "its source" if is_source else reads.changing[0]
            return cls(Variation(CHANGING_SOURCES, found), reads)
        variation = why_rows_vary(rows)
        is_doubted = variation is not None and not variation.is_certain
        return cls(None if is_doubted and operator.settings.deterministic else variation, reads)


def queries_differ(
    operator: OperatorDescriptor, rows: DataFrame, inputs: Sequence[DataFrame]
) -> bool:
    """Whether two queries of an operator over rows that it has made of its inputs may see different rows."""
    if why_rows_vary(rows) is not None:
        return True
    if operator.settings.deterministic:
        return False
    return bool(changing_reads(operator.operator, rows, inputs))


def _own_reads(
    operator: OperatorDescriptor, rows: DataFrame, inputs: Sequence[DataFrame]
) -> OwnReads:
    """Return what an operator reads by itself; if it is declared deterministic, none of that changes."""
    kind = operator.operator
    if not isinstance(kind, Source):
        reads = OwnReads.of(kind, rows, inputs)
    elif kind.connector.when_read_twice in (WhenReadTwice.SAME, WhenReadTwice.SNAPSHOT):
        return OwnReads()
    else:
        # None of our file readers makes rows on the driver: a test gave them.
        is_listed = kind.connector.when_read_twice is WhenReadTwice.LISTED
        reads = OwnReads.of_source(rows, holds_given_rows=is_listed)
    return replace(reads, changing=(), uncompared=()) if operator.settings.deterministic else reads


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
        fixed: Iterable[Variation] = (),
    ) -> None:
        """Record an output's variations: its own, and those of its sources that are not fixed.

        `fixed` are those of rows that were staged while it was evaluated: another execution may stage other rows.
        """
        found = dict.fromkeys([*inherited, *([own] if own else [])])
        self._open[output] = tuple(sorted(found, key=lambda each: each.is_in_last_digits))
        is_other = not self._ever.isdisjoint(sources) or any(map(_is_other_rows, [*found, *fixed]))
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
