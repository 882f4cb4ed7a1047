"""The one rule, row by row."""

import pytest

from graph_compiler.identifiers import RegionId
from graph_compiler.staging.gc.liveness import AirflowRunState, RunFacts, RunState, judge

A = (RegionId("a"),)
MINUTE, HOUR, DAY = 60.0, 3600.0, 86400.0
TTL = 7 * DAY


@pytest.mark.parametrize(
    ("airflow", "facts", "silent", "state"),
    [
        ("running", RunFacts(), 100 * DAY, RunState.LIVE),
        ("queued", RunFacts(failed=A), 100 * DAY, RunState.LIVE),
        ("success", RunFacts(), MINUTE, RunState.FINISHED),
        ("success", RunFacts(failed=A), MINUTE, RunState.FINISHED),
        ("failed", RunFacts(), MINUTE, RunState.FAILED),
        ("failed", RunFacts(open=A), MINUTE, RunState.LIVE),
        ("failed", RunFacts(open=A), HOUR, RunState.FAILED),
        ("success", RunFacts(unreadable="other version"), MINUTE, RunState.LIVE),
        ("success", RunFacts(unreadable="other version"), HOUR, RunState.FINISHED),
        (None, RunFacts(), MINUTE, RunState.FINISHED),
        (None, RunFacts(open=A), TTL - 1, RunState.LIVE),
        (None, RunFacts(open=A), TTL, RunState.FAILED),
        (None, RunFacts(open=A, failed=A), MINUTE, RunState.LIVE),
        (None, RunFacts(unreadable="other version"), TTL - 1, RunState.LIVE),
        (None, RunFacts(unreadable="other version"), TTL, RunState.FAILED),
        (None, RunFacts(failed=A), MINUTE, RunState.FAILED),
        (None, RunFacts(failed=A, awaited=A), MINUTE, RunState.FAILED),
        (None, RunFacts(awaited=A), TTL - 1, RunState.LIVE),
        (None, RunFacts(awaited=A), TTL, RunState.FAILED),
    ],
)
def test_a_run_is_live_by_airflows_state_or_recent_activity(
    airflow: str | None, facts: RunFacts, silent: float, state: RunState
) -> None:
    word = None if airflow is None else AirflowRunState(airflow)
    found = judge(facts, word, silent=silent, ttl=TTL)
    assert found.state is state
    assert found.reason
