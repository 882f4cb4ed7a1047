"""Under a scheduler, tasks fail and one is killed: mails of a retry, of failures and of the run reach a server."""

from pathlib import Path
from urllib.parse import quote

import pytest

from tests.end_to_end.conftest import Home
from tests.harness.mail_server import mail_server, part
from tests.harness.standalone import standalone, until

pytestmark = [
    pytest.mark.e2e,
    pytest.mark.long,  # two applications; tests/airflow/test_alert_*.py holds the same without Spark
]
DAG_FILE = '''"""An airflow dag that holds a pipeline that fails."""
import os
import signal
from datetime import timedelta

from airflow.sdk import DAG, task

from graph_compiler import Parquet, Range, StreamExecutionEnvironment
from graph_compiler.airflow_backend import FailureNotifier, build_task_group

alert = FailureNotifier(to="team@example.com")
env = StreamExecutionEnvironment("sales")
rows = env.from_source(Range(0, 30), "rows").filter("id < 9").name("first").stage("for a retry")
rows.select(share="100 / (id - 5)").name("shares").sink_to(Parquet("{output}")).name("report")


@task
def refused():
    raise ValueError("no <table>")


@task(retries=0)
def killed():
    os.kill(os.getpid(), signal.SIGKILL)


with DAG(
    "nightly",
    schedule=None,
    on_failure_callback=alert,
    default_args={{
        "retries": 1,
        "retry_delay": timedelta(seconds=1),
        "on_failure_callback": alert,
        "on_retry_callback": alert,
    }},
) as dag:
    build_task_group(env)
    refused()
    killed()
'''
RUN = "manual__2026-01-01T00:00:00+00:00"


def test_people_are_told_of_each_failure_where_airflow_runs_its_callback(home: Home, tmp_path: Path) -> None:
    files = {"nightly": DAG_FILE.format(output=tmp_path / "output")}
    with mail_server() as server:

        def environment(**more: str) -> dict[str, str]:
            return home.environment(AIRFLOW_CONN_SMTP_DEFAULT=server.connection(), **more)

        with standalone(environment, tmp_path, files) as api:
            body = {"dag_run_id": RUN, "logical_date": "2026-01-01T00:00:00Z"}
            api.call("POST", "/api/v2/dags/nightly/dagRuns", body)
            try:
                until(lambda: len(server.mails) >= 4, "four mails", seconds=600)
            finally:  # to be looked at
                for number, mail in enumerate(server.mails):
                    for kind in ("plain", "html"):
                        (tmp_path / f"{number}.{kind}").write_text(part(mail, kind))
            shown = {str(mail["Subject"]): mail for mail in server.mails}
    assert sorted(shown) == [
        "nightly: task 'refused' failed",
        "nightly: task 'refused' failed, Airflow tries again",
        "nightly: the run failed, 3 failed tasks",
        "sales: task 'sales.report' failed",
    ], "Airflow calls back for a killed process only at the end of the run"
    assert len(server.mails) == 4, "each once"
    again = part(shown["nightly: task 'refused' failed, Airflow tries again"], "plain")
    assert "Attempt      1 of 2; Airflow tries again after 1 s" in again
    assert "  ValueError: no <table>" in again
    ended = part(shown["nightly: task 'refused' failed"], "plain")
    assert "Attempt      2 of 2; Airflow does not try again" in ended
    failed = part(shown["sales: task 'sales.report' failed"], "plain")
    where = f"Operator     shares, declared at {tmp_path}/dags/nightly.py:14"
    assert where in failed
    assert "Attempt      1 of 2; Airflow does not try again: the failure is permanent" in failed
    assert "  [DIVIDE_BY_ZERO] Division by zero." in failed
    assert "\tat " not in failed
    assert "  - region 'report': shares and report" in failed
    assert "read again, not computed again: the staged result 'first' of task 'first'" in failed
    assert f"/runs/{quote(RUN)}/tasks/sales.report?try_number=1" in failed
    run = shown["nightly: the run failed, 3 failed tasks"]
    assert "Reason       task_failure" in part(run, "plain")
    assert where in part(run, "plain")
    assert "Task 'killed'" in part(run, "plain")
    assert f">{RUN}</td>" in part(run, "html")
