"""What an operator has the driver do on its behalf, as values (Flink's master does it).

MasterHook        once, before any data moves: what must be so
CoordinatorKind   all through the execution: who looks after it
InputSplit        a part of a source that one subtask reads, where the connector knows its parts beforehand
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol


class MasterHook(StrEnum):
    """What is seen to before any data moves (Flink's `JobVertex.initializeOnMaster`).

    To add one: a name here, what it looks at in `spark_runtime/region/master_hooks.py`, and the operator that has it.
    """

    INPUT_EXISTS = "INPUT_EXISTS"
    TARGET_CAN_BE_MADE = "TARGET_CAN_BE_MADE"


class CoordinatorKind(StrEnum):
    """Who looks after an operator on the driver (Flink's OperatorCoordinator)."""

    SPLIT_ENUMERATOR = "SPLIT_ENUMERATOR"
    COMMITTER = "COMMITTER"


@dataclass(frozen=True, slots=True, kw_only=True)
class InputSplit:
    """One part of a source. `number` counts from 0; `description` is for people: `id >= 0 AND id < 100`.

    A connector that needs more to read its part makes a subclass.
    """

    number: int
    description: str


class InputSplitSource(Protocol):
    """What gives splits (Flink's noun): a connector."""

    def create_input_splits(self, parallelism: int) -> tuple[InputSplit, ...] | None:
        """Return the parts, as many as `parallelism` or more if there is enough; None if Spark finds them itself.

        Pure: it is asked while compiling, where paths and options may hold Jinja, and again on the driver.
        """
