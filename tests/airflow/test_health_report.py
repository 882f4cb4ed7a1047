"""What Airflow says of its installation, for `graph-compiler doctor`."""

from collections.abc import Iterator
from typing import Any

import pytest

from graph_compiler import Csv, Parquet, StreamExecutionEnvironment
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
    from graph_compiler.airflow_backend.installation.health_report import pools

    found: Any = pools()
    assert {"there", "gone"} <= set(found["named"])
    assert found["missing"] == {"gone": ["pooled.report"]}
