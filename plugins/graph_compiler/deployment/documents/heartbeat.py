"""What a driver of a stream writes while it runs, and how it is asked to end: one document for each turn."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from graph_compiler.deployment.documents.stream import PublishedBatch
from graph_compiler.identifiers import counted, time_words

VERSION = 1
LATE_AFTER = 60.0
"""Seconds after which a driver that writes nothing may be dead."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ContinuousExecution:
    """A task of a stream that runs until it is stopped, a batch at most every `interval_ms`.

    After `longest_seconds`, if that is set, it ends behind its batch, and the next run continues.
    """

    interval_ms: int
    longest_seconds: float | None = None


class StreamEnd(StrEnum):
    """Why a driver has ended between two batches, or with an error."""

    NOTHING_NEW = "NOTHING_NEW"
    """An increment: all that had arrived is published."""
    REQUESTED = "REQUESTED"
    TIME_IS_OVER = "TIME_IS_OVER"
    SIGNAL = "SIGNAL"
    FAILED = "FAILED"

    def words(self) -> str:
        """Return it for people."""
        return {
            StreamEnd.NOTHING_NEW: "all that had arrived is published",
            StreamEnd.REQUESTED: "it was asked to stop",
            StreamEnd.TIME_IS_OVER: "its maximum run time is over",
            StreamEnd.SIGNAL: "its process was asked to end",
            StreamEnd.FAILED: "it failed",
        }[self]


@dataclass(frozen=True, slots=True, kw_only=True)
class StopRequest:
    """Asks the driver of one turn to end behind the batch in progress; later ones are not meant."""

    asked: float
    by: str


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamHeartbeat:
    """The last sign of life of a driver; times are seconds since the epoch, of its host.

    `batch` is in progress since `batch_began`, None between two batches. `batches` are the last ones that it has
    published, the latest at `published`. `interval_seconds` is None for an increment.
    """

    version: int
    execution_id: str
    run_id: str
    began: float
    written: float
    interval_seconds: float | None
    batch: int | None
    batch_began: float | None
    batches: tuple[PublishedBatch, ...]
    published: float | None
    end: StreamEnd | None = None

    def words(self, now: float) -> str:
        """Return what the driver does, as one line; another host's clock may be ahead of this one."""
        if self.end is not None:
            return f"ended {time_words(now - self.written)} ago: {self.end.words()}"
        silent = now - self.written
        if silent > LATE_AFTER:
            since = "" if self.batch is None else f", in batch {self.batch}"
            return f"no sign of life for {time_words(silent)}{since}"
        parts = [f"running for {time_words(now - self.began)}"]
        if self.batch is not None and self.batch_began is not None:
            parts.append(f"in batch {self.batch} for {time_words(now - self.batch_began)}")
        if self.batches and self.published is not None:
            parts.append(f"batch {self.batches[-1].number} {time_words(now - self.published)} ago")
        return ", ".join(parts)


def batch_line(batch: PublishedBatch) -> str:
    """Return a published batch as one line."""
    known = batch.progress
    parts = [f"batch {batch.number}: {counted(batch.rows, 'row')} in {batch.seconds:.1f} s"]
    if known is not None and known.watermark is not None:
        parts.append(f"watermark {known.watermark}")
    if known is not None and known.behind is not None:
        parts.append(f"{counted(known.behind, 'record')} behind")
    if known is not None and known.waited is not None:
        parts.append(f"oldest file waited {time_words(known.waited)}")
    return ", ".join(parts)
