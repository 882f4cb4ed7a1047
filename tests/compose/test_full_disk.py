"""The staging root is full in mid-run: the attempt fails, and a later one ends the run."""

import pytest

from tests.compose.deployment import Deployment

pytestmark = pytest.mark.compose

SMALL = """
volumes:
  staging:
    driver_opts: {{type: tmpfs, device: tmpfs, o: "size=24m,uid={user},mode=0700"}}
"""
DAG = "slow_numbers"
FILL = "dd if=/dev/zero of=/opt/staging/filler bs=64k 2>&1 || true; df /opt/staging"


def test_a_staging_root_that_is_full_fails_an_attempt_and_loses_nothing(deployment: Deployment) -> None:
    override = deployment.folder / "docker-compose.override.yaml"
    volume = f"{deployment.variables['COMPOSE_PROJECT_NAME']}_staging"

    def make_it_small() -> None:
        deployment.docker("volume", "rm", volume)
        override.write_text(SMALL.format(user=deployment.secrets()["USER_ID"]))

    def undo() -> None:
        override.unlink()
        deployment.docker("volume", "rm", volume)

    with deployment.changed(make_it_small, undo):
        run_id = deployment.trigger(DAG, label="full", seconds=20.0)
        deployment.wait_for_state(DAG, run_id, "first", "running")
        assert "100%" in deployment.execute("airflow-scheduler", "sh", "-c", FILL)
        deployment.wait_for_state(DAG, run_id, "first", "up_for_retry")
        message = deployment.log(DAG, run_id, "first")
        deployment.execute("airflow-scheduler", "rm", "/opt/staging/filler")
        assert deployment.end_of(DAG, run_id, seconds=900) == "success"
        assert deployment.numbers(DAG, "full") == [*range(1000)]
        assert "No space left on device" in message
