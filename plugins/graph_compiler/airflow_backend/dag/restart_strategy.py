"""Flink's restart strategies as Airflow's retries.

    restart-strategy.type   retries                           retry_delay          retry_policy
    (unset)                 the Dag's: 2                      the Dag's: 10 s      none
    none                    0
    fixed-delay             fixed-delay.attempts              fixed-delay.delay    none
    exponential-delay       attempts-before-reset-backoff     initial-backoff      RestartPolicy
    failure-rate            as many as Airflow can count      failure-rate.delay   RestartPolicy

Permanent failures fail at once, whatever the strategy: the operator raises AirflowFailException, and Airflow then
ignores the policy.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import timedelta
from typing import Any

from airflow.sdk import Context

from graph_compiler.deployment.restart_strategy import (
    ExponentialDelay,
    FailureRate,
    FixedDelay,
    NoRestart,
    RestartStrategy,
)
from graph_compiler.options.model import MAX_RESTARTS, PipelineOptions
from graph_compiler.options.modes import RestartStrategyType


def restart_strategy(options: PipelineOptions) -> RestartStrategy | None:
    """Return the strategy of a pipeline; None if it leaves that to the Dag."""
    match options.restart_strategy:
        case None:
            return None
        case RestartStrategyType.NONE:
            return NoRestart()
        case RestartStrategyType.FIXED_DELAY:
            return FixedDelay(attempts=options.fixed_delay_attempts, seconds=options.fixed_delay_delay.total_seconds())
        case RestartStrategyType.EXPONENTIAL_DELAY:
            return ExponentialDelay(
                attempts=options.exponential_delay_attempts,
                initial=options.exponential_delay_initial.total_seconds(),
                maximum=options.exponential_delay_maximum.total_seconds(),
                multiplier=options.exponential_delay_multiplier,
                reset_threshold=options.exponential_delay_reset_threshold.total_seconds(),
                jitter_factor=options.exponential_delay_jitter,
            )
        case RestartStrategyType.FAILURE_RATE:
            return FailureRate(
                failures_per_interval=options.failure_rate_failures,
                interval=options.failure_rate_interval.total_seconds(),
                seconds=options.failure_rate_delay.total_seconds(),
                attempts=MAX_RESTARTS,
            )


def retry_arguments(strategy: RestartStrategy | None, failures: Callable[[Context], Sequence[float]]) -> dict[str, Any]:
    """Return the arguments for an operator; `failures` returns the times of a task's earlier failures."""
    if strategy is None:
        return {}
    if strategy.attempts == 0:
        return {"retries": 0}
    delay = strategy.delay([0.0], 0) or 0.0
    arguments = {"retries": strategy.attempts, "retry_delay": timedelta(seconds=delay)}
    if isinstance(strategy, FixedDelay):
        return arguments
    # Not at the top: Airflow 3.2 does not have what it extends, and strategies that need it are refused there.
    from graph_compiler.airflow_backend.dag.restart_policy import RestartPolicy

    return arguments | {"retry_policy": RestartPolicy(strategy, failures)}
