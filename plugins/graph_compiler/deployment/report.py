"""What an execution leaves behind: outcome, cause, rows. None at all means the driver died: an environment error."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from graph_compiler.deployment.manifest import ContractCount
from graph_compiler.errors import SourceLocation
from graph_compiler.identifiers import RegionId


class ThrowableType(StrEnum):
    """What a failure means for a retry (Flink's noun)."""

    NON_RECOVERABLE_ERROR = "NON_RECOVERABLE_ERROR"
    PARTITION_DATA_MISSING_ERROR = "PARTITION_DATA_MISSING_ERROR"
    ENVIRONMENT_ERROR = "ENVIRONMENT_ERROR"
    RECOVERABLE_ERROR = "RECOVERABLE_ERROR"

    @property
    def exit_code(self) -> int:
        """Give the driver's exit code, which says the same where the report is lost."""
        return 80 + list(ThrowableType).index(self)


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    """Why an execution failed. `operator` None where no single one is to blame; `message` is for people."""

    throwable_type: ThrowableType
    operator: str | None
    declared_at: SourceLocation | None
    message: str

    def words(self, pipeline: str, region_id: RegionId) -> str:
        """Say what failed, the operator in front where there is one."""
        where = f"operator '{self.operator}'" if self.operator else f"task '{region_id}'"
        declared = f"\n  declared at {self.declared_at}" if self.declared_at else ""
        return f"pipeline '{pipeline}', {where}: {self.message}{declared}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Output:
    """Rows and bytes of one sink or staged result, from its committed files. `kind` is "sink" or "staged"."""

    kind: str
    name: str
    location: str
    rows: int
    bytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ExecutionReport:
    """The end of one execution; `failure` None means it finished."""

    version: int
    application_id: str
    outputs: tuple[Output, ...]
    contracts: tuple[ContractCount, ...]
    failure: Failure | None
