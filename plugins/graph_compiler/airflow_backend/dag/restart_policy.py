"""A restart strategy as a retry policy of Airflow (3.3 and newer)."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import timedelta

from airflow.sdk import Context
from airflow.sdk.definitions.retry_policy import RetryDecision, RetryPolicy

from graph_compiler.deployment.restart_strategy import RestartStrategy


@dataclass(frozen=True)
class RestartPolicy(RetryPolicy):
    """Applies a strategy after each failure."""

    strategy: RestartStrategy
    failures: Callable[[Context], Sequence[float]]

    def evaluate(
        self,
        exception: BaseException,  # noqa: ARG002  # it is not called for permanent failures
        try_number: int,  # noqa: ARG002  # it also counts tries that users cleared
        max_tries: int,  # noqa: ARG002  # Airflow checks it
        context: Context | None = None,
    ) -> RetryDecision:
        """Retry after the strategy's delay, or fail and name the strategy as the reason."""
        earlier = self.failures(context) if context is not None else ()
        jitter = random.uniform(-1, 1)
        delay = self.strategy.delay([*earlier, time.time()], jitter)
        if delay is None:
            return RetryDecision.fail(f"no more restarts: {self.strategy}")
        return RetryDecision.retry(timedelta(seconds=delay), reason=f"{self.strategy}")
