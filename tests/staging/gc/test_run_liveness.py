"""The one rule, row by row."""

import pytest

from graph_compiler.identifiers import RegionId
from graph_compiler.staging.gc.liveness import AirflowRunState, RunFacts, RunOfAirflow, judge

A = (RegionId("a"),)
MINUTE, HOUR, DAY = 60.0, 3600.0, 86400.0
TTL = 7 * DAY


@pytest.mark.parametrize(
    ("airflow", "facts", "silent", "state"),
    [
        ("running", RunFacts(), 100 * DAY, RunOfAirflow.LIVE),
        ("queued", RunFacts(failed=A), 100 * DAY, RunOfAirflow.LIVE),
        ("success", RunFacts(), MINUTE, RunOfAirflow.FINISHED),
        ("success", RunFacts(failed=A), MINUTE, RunOfAirflow.FINISHED),
        ("failed", RunFacts(), MINUTE, RunOfAirflow.FAILED),
        ("failed", RunFacts(open=A), MINUTE, RunOfAirflow.LIVE),
        ("failed", RunFacts(open=A), HOUR, RunOfAirflow.FAILED),
        ("success", RunFacts(unreadable="other version"), MINUTE, RunOfAirflow.LIVE),
        ("success", RunFacts(unreadable="other version"), HOUR, RunOfAirflow.FINISHED),
        (None, RunFacts(), MINUTE, RunOfAirflow.FINISHED),
        (None, RunFacts(open=A), TTL - 1, RunOfAirflow.LIVE),
        (None, RunFacts(open=A), TTL, RunOfAirflow.FAILED),
        (None, RunFacts(open=A, failed=A), MINUTE, RunOfAirflow.LIVE),
        (None, RunFacts(unreadable="other version"), TTL - 1, RunOfAirflow.LIVE),
        (None, RunFacts(unreadable="other version"), TTL, RunOfAirflow.FAILED),
        (None, RunFacts(failed=A), MINUTE, RunOfAirflow.FAILED),
        (None, RunFacts(failed=A, awaited=A), MINUTE, RunOfAirflow.FAILED),
        (None, RunFacts(awaited=A), TTL - 1, RunOfAirflow.LIVE),
        (None, RunFacts(awaited=A), TTL, RunOfAirflow.FAILED),
    ],
)
def test_a_run_is_live_by_airflows_state_or_recent_activity(
    airflow: str | None, facts: RunFacts, silent: float, state: RunOfAirflow
) -> None:
    word = None if airflow is None else AirflowRunState(airflow)
    found = judge(facts, word, silent=silent, ttl=TTL)
    assert found.state is state
    assert found.reason
