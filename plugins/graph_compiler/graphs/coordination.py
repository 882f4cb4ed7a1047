"""The driver's work for the operators of a job vertex, and which subtask reads which part of a source. Values only."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeVar

from graph_compiler.declaration.coordination import CoordinatorKind, InputSplit, InputSplitSource, MasterHook
from graph_compiler.identifiers import OperatorId

Split = TypeVar("Split", bound=InputSplit)


@dataclass(frozen=True, slots=True, kw_only=True)
class InitializeOnMaster:
    """A check or preparation for an operator before any data moves."""

    operator_id: OperatorId
    hook: MasterHook


@dataclass(frozen=True, slots=True, kw_only=True)
class OperatorCoordinatorProvider:
    """Names the coordinator of an operator, which the driver makes (Flink's OperatorCoordinator.Provider)."""

    operator_id: OperatorId
    kind: CoordinatorKind


@dataclass(frozen=True, slots=True, kw_only=True)
class SplitSource:
    """A source that may know its splits; `is_parallel` if its parallelism was set, since the default splits nothing."""

    operator_id: OperatorId
    source: InputSplitSource
    is_parallel: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class InputSplitAssigner:
    """The splits of one source, and which subtask reads them: subtask i of n reads the splits i, i + n, i + 2n, ….

    In Flink, a subtask requests its next split when it has read one. Here a subtask is a Spark partition, and its
    splits are known before they are read.
    """

    operator_id: OperatorId
    splits: tuple[InputSplit, ...]
    parallelism: int

    def of_subtask(self, subtask: int) -> tuple[InputSplit, ...]:
        """Return the splits that a subtask reads."""
        return dealt(self.splits, self.parallelism)[subtask]


def dealt(splits: tuple[Split, ...], parallelism: int) -> tuple[tuple[Split, ...], ...]:
    """Return the splits of each subtask: with parallelism 2, five splits are dealt as {0, 2, 4} and {1, 3}."""
    return tuple(splits[subtask::parallelism] for subtask in range(parallelism))
