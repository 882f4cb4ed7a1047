"""Whether a failed region is retried, and with what delay: Flink's restart strategies, applied to one task's failures.

Times are seconds since the epoch, delays are seconds. In Flink, a strategy belongs to a job, and sees the failures of
all its regions. Here each Airflow task has its own, since Airflow counts retries by task.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol


class RestartStrategy(Protocol):
    """Decides whether a task restarts after its last failure."""

    @property
    def attempts(self) -> int:
        """The maximum number of restarts."""

    def delay(self, failures: Sequence[float], jitter: float, /) -> float | None:
        """Return the delay after the last of the ordered `failures`, None for no restart; `jitter` is from -1 to 1."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NoRestart:
    """`none`."""

    attempts: int = 0

    def delay(self, _failures: Sequence[float], _jitter: float) -> float | None:
        """Never restart."""
        return None


@dataclass(frozen=True, slots=True, kw_only=True)
class FixedDelay:
    """`fixed-delay` (FixedDelayRestartBackoffTimeStrategy)."""

    attempts: int
    seconds: float

    def delay(self, failures: Sequence[float], _jitter: float) -> float | None:
        """Restart a number of times."""
        return self.seconds if len(failures) <= self.attempts else None


@dataclass(frozen=True, slots=True, kw_only=True)
class ExponentialDelay:
    """`exponential-delay` (ExponentialDelayRestartBackoffTimeStrategy)."""

    attempts: int
    initial: float
    maximum: float
    multiplier: float
    reset_threshold: float
    jitter_factor: float

    def delay(self, failures: Sequence[float], jitter: float) -> float | None:
        """Wait longer each time; start again with the first delay after a long time without a failure.

        The jitter of earlier delays is not known, so its mean is used.
        """
        number, restart = 0, float("-inf")
        for failure in failures[:-1]:
            number = 0 if failure - restart >= self.reset_threshold else number
            restart = failure + self._backoff(number, 0)
            number += 1
        if failures[-1] - restart >= self.reset_threshold:
            number = 0
        return self._backoff(number, jitter) if number < self.attempts else None

    def _backoff(self, number: int, jitter: float) -> float:
        # Beyond the maximum, the power would overflow.
        backoff = self.initial
        for _ in range(number):
            if backoff >= self.maximum:
                break
            backoff *= self.multiplier
        varied = backoff * (1 + jitter * self.jitter_factor)
        return max(self.initial, min(varied, self.maximum))


@dataclass(frozen=True, slots=True, kw_only=True)
class FailureRate:
    """`failure-rate` (FailureRateRestartBackoffTimeStrategy); its `attempts` is the most that Airflow can count."""

    failures_per_interval: int
    interval: float
    seconds: float
    attempts: int

    def delay(self, failures: Sequence[float], _jitter: float) -> float | None:
        """Restart unless there were more failures within the interval than are allowed."""
        last = failures[-self.failures_per_interval - 1 :]
        is_full = len(last) > self.failures_per_interval
        return None if is_full and failures[-1] - last[0] <= self.interval else self.seconds
