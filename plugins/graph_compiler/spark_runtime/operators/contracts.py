"""The counts of data contracts, and whether a violation fails the task.

Counts come from the action that computes the rows (Spark's `observe`), not from an additional pass. They cover the rows
that reached the contract in that action, which are fewer if a later operator stops early (`limit`). A contract on all
rows must not depend on that: it is counted by a job of its own where an action may read only a part of its rows
(`declaration: why_counted_apart`), and if Spark has dropped its counting or ran a stage twice.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from pyspark.sql import Observation, SparkSession

from graph_compiler.declaration.operators import ContractOperator, OnViolation, TotalContract
from graph_compiler.deployment.documents.manifest import ContractCount
from graph_compiler.errors import GraphCompilerError, StagingError
from graph_compiler.identifiers import listing
from graph_compiler.spark_runtime.spark_internals.executed_queries import is_complete, observed_values
from graph_compiler.spark_runtime.spark_internals.java import wait_for_listeners

_LISTENERS_TIMEOUT_MS = 60_000

Values: TypeAlias = Mapping[str, object]
"""What was counted, by name. An observation is empty if the optimizer removed the counting, with all rows."""


class ContractViolatedError(GraphCompilerError):
    """A contract with `on_violation="fail"` does not hold."""


def _never() -> bool:
    return False


@dataclass(slots=True, kw_only=True)
class Contract:
    """A contract whose counts are attached to a plan, or were counted by a job of its own.

    `count_apart` runs that job. `varies`: it could see other rows than the readers of the contract. `counts_samples`:
    this Spark counts the rows of a sort twice, so all counts are compared with the stages.
    """

    operator: ContractOperator
    verdict: Callable[[Values], ContractCount]
    count_apart: Callable[[], Values]
    observation: Observation | None = None
    varies: bool = False
    counts_samples: bool = False
    known: Values | None = None

    def counted(self, *, is_final: bool = False, is_repeated: Callable[[], bool] = _never) -> ContractCount | None:
        """Return the counts; None while no action has computed the rows.

        `is_final`: none will. `is_repeated` returns whether Spark has run a stage twice, and counted its rows twice.
        Raises StagingError if such a count decides about a failure and cannot be repeated.
        """
        if self.known is None:
            self.known = self._values(is_final, is_repeated)
        return None if self.known is None else self.verdict(self.known)

    def _values(self, is_final: bool, is_repeated: Callable[[], bool]) -> Values | None:
        is_total = isinstance(self.operator, TotalContract)
        if self.observation is None or not is_complete(self.observation):
            return self.count_apart() if is_total and is_final else None
        values = observed_values(self.observation)
        if is_total and not values:
            return self.count_apart()
        if (self.counts_samples or self.operator.needs_exact_counts()) and is_repeated():
            if self.varies:
                raise StagingError(
                    f"Spark has run a stage again, and counted rows of '{self.operator.contract}' twice; they cannot "
                    "be counted again, because computing them again may give other rows\n"
                    "  hint: the next attempt counts them; before a sort, which Spark 4.1 and 4.2 count twice, "
                    "stage the rows: .stage(…)"
                )
            return self.count_apart()
        return values


def check_contracts(
    contracts: Sequence[Contract],
    spark: SparkSession,
    *,
    is_final: bool = False,
    is_repeated: Callable[[], bool] = _never,
) -> tuple[ContractCount, ...]:
    """Return the counts so far; raises ContractViolatedError with every violation that fails the task."""
    if not contracts:
        return ()
    # Counts arrive through Spark's listeners, a moment after the action.
    wait_for_listeners(spark, _LISTENERS_TIMEOUT_MS)
    found = (contract.counted(is_final=is_final, is_repeated=is_repeated) for contract in contracts)
    counts = tuple(count for count in found if count is not None)
    broken = [_words(count) for count in counts if count.is_violated and count.on_violation == OnViolation.FAIL]
    if broken:
        raise ContractViolatedError(f"{listing(broken)}\n  nothing of this task was published")
    return counts


def _words(count: ContractCount) -> str:
    allowed = f", allowed: {count.allowed}" if count.allowed else ""
    if count.total is not None:
        return f"'{count.contract}' does not hold: {count.total}{allowed}"
    return f"{count.violations} of {count.rows} rows violate '{count.contract}'{allowed}"
