"""The request to maintain tables in one Spark application, and its answer: two documents in one folder."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum

from graph_compiler.declaration.connectors import Connector, Delta, Iceberg
from graph_compiler.declaration.operators import Sink
from graph_compiler.deployment.documents.descriptor import OperatorDescriptor, TaskDeploymentDescriptor
from graph_compiler.deployment.documents.run_identity import RunIdentity


@dataclass(frozen=True, slots=True, kw_only=True)
class MaintenanceSettings:
    """What to do with each table. `older_than` is in seconds; `retain_last` None: what the table's properties say."""

    older_than: float
    retain_last: int | None = None
    compacts: bool = True
    expires: bool = True
    removes_orphans: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownRun:
    """The state in which Airflow has a run."""

    identity: RunIdentity
    state: str


@dataclass(frozen=True, slots=True, kw_only=True)
class MaintenanceRequest:
    """Tables of a pipeline whose regions are `tasks`; `root` is the staging root whose runs are considered."""

    tasks: tuple[TaskDeploymentDescriptor, ...]
    tables: tuple[Connector, ...]
    root: str
    settings: MaintenanceSettings
    known_runs: tuple[KnownRun, ...] = ()


class MaintenanceStep(StrEnum):
    """A step, in the order in which they are done."""

    BRANCHES = "branches"
    COMPACTION = "compaction"
    EXPIRY = "expiry"
    ORPHANS = "orphans"


@dataclass(frozen=True, slots=True, kw_only=True)
class StepResult:
    """What a step has done: its `figures` by their names, in bytes where a name says so.

    `left_out` says why it did nothing, `kept` what has kept it from doing more, `failed` the error that ended it.
    """

    step: MaintenanceStep
    figures: tuple[tuple[str, int], ...] = ()
    left_out: str | None = None
    kept: str | None = None
    failed: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class MaintainedTable:
    """What was done with a table; `left_out` and `failed` as for a step, if no step was begun."""

    table: str
    format: str
    steps: tuple[StepResult, ...] = ()
    left_out: str | None = None
    failed: str | None = None

    @property
    def is_failed(self) -> bool:
        """Whether anything has failed."""
        return self.failed is not None or any(step.failed is not None for step in self.steps)


@dataclass(frozen=True, slots=True, kw_only=True)
class MaintenanceAnswer:
    """What was done with each table."""

    tables: tuple[MaintainedTable, ...]


def table_sinks(tasks: Iterable[TaskDeploymentDescriptor]) -> dict[tuple[object, ...], OperatorDescriptor]:
    """Return the sinks that write tables of Iceberg and Delta Lake, one for each table."""
    found: dict[tuple[object, ...], OperatorDescriptor] = {}
    for operator in (operator for task in tasks for operator in task.region.operators):
        kind = operator.operator
        if isinstance(kind, Sink) and isinstance(kind.connector, Iceberg | Delta):
            key = kind.connector.place_key()
            assert key is not None, "tables have places"
            found.setdefault(key, operator)
    return found
