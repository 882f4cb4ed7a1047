"""What Airflow says of its installation, for `graph-compiler doctor`."""

from collections.abc import Iterator
from typing import Any

import pytest

from graph_compiler import Csv, Parquet, StreamExecutionEnvironment
from graph_compiler.cli.diagnosis.airflow_questions import AIRFLOW_QUESTIONS
from graph_compiler.cli.diagnosis.question import Need
from tests.airflow.web_server import forget, make_database, store

pytestmark = [
    pytest.mark.airflow,
    pytest.mark.filterwarnings("default"),  # Airflow's own imports warn of much
]


@pytest.fixture
def pooled() -> Iterator[None]:
    """Store a pipeline with a task in a pool that exists, and one in a pool that does not."""
    from airflow.models.pool import Pool
    from airflow.utils.session import create_session

    from graph_compiler.airflow_backend import build_dag

    make_database()
    env = StreamExecutionEnvironment("pooled")
    rows = env.from_source(Csv("/in"), "rows").stage("dear")
    rows.sink_to(Parquet("/out")).name("report")
    store(build_dag(env, task_args={"rows": {"pool": "there"}, "report": {"pool": "gone"}}))
    with create_session() as session:
        session.merge(Pool(pool="there", slots=1, include_deferred=False))
    yield
    forget("pooled")


@pytest.mark.usefixtures("pooled")
def test_pools_that_tasks_name_and_airflow_does_not_have_are_found() -> None:
    from graph_compiler.airflow_backend.installation.health_report import _pools

    found: Any = _pools()
    assert {"there", "gone"} <= set(found["named"])
    assert found["missing"] == {"gone": ["pooled.report"]}


def test_a_triggerer_that_runs_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    from datetime import UTC, datetime

    from airflow.jobs.job import Job
    from airflow.utils.session import create_session
    from airflow.utils.state import JobState

    from graph_compiler.airflow_backend.installation.health_report import _triggerer

    make_database()
    assert _triggerer() == {"is_alive": False, "is_default": False, "waiting": 0}
    monkeypatch.setenv("AIRFLOW__OPERATORS__DEFAULT_DEFERRABLE", "True")
    with create_session() as session:
        now = datetime.now(UTC)
        job: Any = Job(  # type: ignore[no-untyped-call]  # Airflow's
            job_type="TriggererJob", state=JobState.RUNNING, latest_heartbeat=now
        )
        session.add(job)
    found = _triggerer()
    with create_session() as session:
        session.delete(session.merge(job))
    assert found == {"is_alive": True, "is_default": True, "waiting": 0}


def test_a_fact_has_the_name_of_the_question_that_asks_for_it() -> None:
    from graph_compiler.airflow_backend.installation.health_report import FACTS

    asked = [each.name for each in AIRFLOW_QUESTIONS if each.needs is Need.AIRFLOW]
    assert asked.pop(0) == "versions"  # which compares what "Airflow" has asked
    assert list(FACTS) == ["Airflow", *asked]
