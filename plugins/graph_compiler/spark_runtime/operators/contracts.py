"""The counts of data contracts, and whether a violation fails the task.

Counts come from the action that computes the rows (Spark's `observe`), not from an additional pass. They cover the rows
that reached the contract in that action, which are fewer if a later operator stops early (`limit`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pyspark.sql import DataFrame, Observation, SparkSession
from pyspark.sql.functions import count, count_if, lit

from graph_compiler.declaration.operators import Expect, OnViolation
from graph_compiler.deployment.documents.manifest import ContractCount
from graph_compiler.errors import GraphCompilerError
from graph_compiler.identifiers import listing
from graph_compiler.spark_runtime.spark_internals.executed_queries import is_complete, observed_count
from graph_compiler.spark_runtime.spark_internals.java import wait_for_listeners

_VIOLATES = "graph_compiler_violates"
_LISTENERS_TIMEOUT_MS = 60_000


class ContractViolatedError(GraphCompilerError):
    """Rows violate a contract with `on_violation="fail"`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Contract:
    """A contract whose counts are attached to a plan."""

    operator: Expect
    observation: Observation

    def counted(self) -> ContractCount | None:
        """Return the counts; None while no action has computed the rows."""
        if not is_complete(self.observation):
            return None
        return ContractCount(
            contract=self.operator.contract,
            on_violation=self.operator.on_violation.value,
            rows=observed_count(self.observation, "rows"),
            violations=observed_count(self.observation, "violations"),
        )


def observe(rows: DataFrame, operator: Expect, violates: str) -> tuple[DataFrame, Contract]:
    """Attach counts to the action that computes the rows: of all rows, and of those for which `violates` is true."""
    observation = Observation()
    observed = rows.observe(observation, count(lit(1)).alias("rows"), count_if(rows[violates]).alias("violations"))
    return observed, Contract(operator=operator, observation=observation)


def check_contracts(contracts: Sequence[Contract], spark: SparkSession) -> tuple[ContractCount, ...]:
    """Return the counts so far; raises ContractViolatedError with every violation that fails the task."""
    if not contracts:
        return ()
    # Counts arrive through Spark's listeners, a moment after the action.
    wait_for_listeners(spark, _LISTENERS_TIMEOUT_MS)
    counts = tuple(found for contract in contracts if (found := contract.counted()))
    broken = [
        f"{found.violations} of {found.rows} rows violate '{found.contract}'"
        for found in counts
        if found.violations and found.on_violation == OnViolation.FAIL
    ]
    if broken:
        raise ContractViolatedError(f"{listing(broken)}\n  nothing of this task was published")
    return counts
