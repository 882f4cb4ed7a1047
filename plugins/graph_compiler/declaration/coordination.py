"""The driver's work on behalf of an operator, as values (in Flink, the master does it).

MasterHook        once, before any data moves: a condition that must hold
CoordinatorKind   during the whole execution: who coordinates the operator
InputSplit        a part of a source that one subtask reads, if the connector knows its parts in advance
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol


class MasterHook(StrEnum):
    """A check or preparation before any data moves (Flink's `JobVertex.initializeOnMaster`).

    To add one: a name here, its function in `spark_runtime/region/coordination.py`, and the operator that has it.
    """

    INPUT_EXISTS = "INPUT_EXISTS"
    TARGET_CAN_BE_MADE = "TARGET_CAN_BE_MADE"


class CoordinatorKind(StrEnum):
    """The coordinator of an operator on the driver (Flink's OperatorCoordinator)."""

    SPLIT_ENUMERATOR = "SPLIT_ENUMERATOR"
    COMMITTER = "COMMITTER"


@dataclass(frozen=True, slots=True, kw_only=True)
class InputSplit:
    """One part of a source. `number` counts from 0; `description` is for people: `id >= 0 AND id < 100`.

    A connector that needs more information to read its part defines a subclass.
    """

    number: int
    description: str


class InputSplitSource(Protocol):
    """A connector that knows its splits (Flink's noun)."""

    def create_input_splits(self, parallelism: int) -> tuple[InputSplit, ...] | None:
        """Return at least `parallelism` parts if there are enough values; None if Spark determines them.

        Pure: it is called at compile time, when paths and options may contain Jinja, and again on the driver.
        """
