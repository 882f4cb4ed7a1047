"""Flink's restart strategies, applied to the failures of one task."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graph_compiler.deployment.restart_strategy import ExponentialDelay, FailureRate, FixedDelay, NoRestart

EXPONENTIAL = ExponentialDelay(
    attempts=100, initial=1, maximum=60, multiplier=1.5, reset_threshold=3600, jitter_factor=0.1
)


def test_none_never_restarts() -> None:
    assert NoRestart().delay([0], 0) is None


def test_a_fixed_delay_restarts_a_number_of_times() -> None:
    strategy = FixedDelay(attempts=2, seconds=10)
    assert [strategy.delay([0] * failures, 0) for failures in (1, 2, 3)] == [10, 10, None]


def test_an_exponential_delay_grows_to_its_maximum() -> None:
    delays = [EXPONENTIAL.delay(range(0, 100 * n, 100), 0) for n in range(1, 14)]
    assert delays[:4] == [1, 1.5, 2.25, 3.375]
    assert delays[-1] == 60


@pytest.mark.parametrize(("jitter", "expected"), [(-1, 1.35), (1, 1.65)])
def test_jitter_is_a_share_of_the_delay(jitter: float, expected: float) -> None:
    assert EXPONENTIAL.delay([0, 100], jitter) == pytest.approx(expected)


def test_jitter_never_goes_below_the_first_delay() -> None:
    assert EXPONENTIAL.delay([0], -1) == 1


def test_a_long_time_without_failure_resets_an_exponential_delay() -> None:
    assert EXPONENTIAL.delay([0, 100, 100 + 1.5 + 3600], 0) == 1
    assert EXPONENTIAL.delay([0, 100, 100 + 1.4 + 3600], 0) == 2.25


def test_an_exponential_delay_ends_after_its_attempts() -> None:
    strategy = ExponentialDelay(attempts=2, initial=1, maximum=60, multiplier=2, reset_threshold=3600, jitter_factor=0)
    assert [strategy.delay(range(n), 0) for n in (1, 2, 3)] == [1, 2, None]


def test_a_failure_rate_forbids_one_failure_too_many_in_the_interval() -> None:
    strategy = FailureRate(failures_per_interval=2, interval=60, seconds=5, attempts=100)
    assert strategy.delay([0, 10], 0) == 5
    assert strategy.delay([0, 10, 60], 0) is None
    assert strategy.delay([0, 10, 61], 0) == 5


@given(st.lists(st.floats(0, 1e6), min_size=1, max_size=40).map(sorted), st.floats(-1, 1))
def test_delays_stay_in_their_bounds(failures: list[float], jitter: float) -> None:
    delay = EXPONENTIAL.delay(failures, jitter)
    assert delay is not None
    assert 1 <= delay <= 60
