"""Why rows are committed to durable storage on their way from one operator to another."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class StagingReason(StrEnum):
    """Why an edge is staged; `staging_words` has the text for each."""

    DECLARED = "DECLARED"
    DECLARED_IN_TASK = "DECLARED_IN_TASK"
    EXPENSIVE = "EXPENSIVE"
    CONTRACT = "CONTRACT"
    ALL_EXCHANGES_BLOCKING = "ALL_EXCHANGES_BLOCKING"
    OUTPUT_ONLY_AFTER_END = "OUTPUT_ONLY_AFTER_END"
    SLOT_SHARING_GROUP_DIFFERS = "SLOT_SHARING_GROUP_DIFFERS"
    WOULD_CYCLE = "WOULD_CYCLE"

    @property
    def parts_regions(self) -> bool:
        """Whether producer and consumer must be in different regions: a failure of one does not repeat the other.

        Rows that are staged for any other reason may be read back by the region that staged them.
        """
        return self in (
            StagingReason.DECLARED,
            StagingReason.DECLARED_IN_TASK,
            StagingReason.EXPENSIVE,
        )

    @property
    def parts_tasks(self) -> bool:
        """Whether producer and consumer must be in different tasks."""
        return self in (
            StagingReason.DECLARED,
            StagingReason.ALL_EXCHANGES_BLOCKING,
            StagingReason.SLOT_SHARING_GROUP_DIFFERS,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Staging:
    """Why an edge is staged; `explanation` is for people: `because you asked: "read by several reports"`."""

    reason: StagingReason
    explanation: str
