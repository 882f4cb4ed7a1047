"""With Celery, tasks run in workers of their own."""

import pytest

from tests.compose.deployment import Deployment

pytestmark = pytest.mark.compose


def test_tasks_run_in_a_celery_worker(deployment: Deployment) -> None:
    with deployment.changed(AIRFLOW_EXECUTOR="CeleryExecutor"):
        worker = deployment.container("airflow-worker")
        run_id = deployment.trigger("small_numbers", label="celery")
        assert deployment.end_of("small_numbers", run_id) == "success"
        hosts = {each["hostname"] for each in deployment.tasks("small_numbers", run_id).values()}
        assert len(hosts) == 1
        assert worker.startswith(hosts.pop())
        assert deployment.numbers("small_numbers", "celery") == [*range(100)]
        deployment.wait_until_healthy()
    assert deployment.compose("ps", "-q", "airflow-worker").split() == []
