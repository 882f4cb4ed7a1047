"""Why rows are committed to durable storage on their way from one operator to another."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class StagingReason(StrEnum):
    """Why an edge is staged; `compiler/regions/staging_words.py` has the text for each reason."""

    DECLARED = "DECLARED"
    EXPENSIVE = "EXPENSIVE"
    CONTRACT = "CONTRACT"
    ALL_EXCHANGES_BLOCKING = "ALL_EXCHANGES_BLOCKING"
    OUTPUT_ONLY_AFTER_END = "OUTPUT_ONLY_AFTER_END"
    SLOT_SHARING_GROUP_DIFFERS = "SLOT_SHARING_GROUP_DIFFERS"
    WOULD_CYCLE = "WOULD_CYCLE"

    @property
    def parts_tasks(self) -> bool:
        """Whether producer and consumer must be in different tasks, so that a failure of one does not repeat the other.

        Rows that are staged for any other reason may be read back by the task that staged them.
        """
        return self in (StagingReason.DECLARED, StagingReason.EXPENSIVE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Staging:
    """Why an edge is staged; `explanation` is for people: `because you asked: "read by several reports"`."""

    reason: StagingReason
    explanation: str
