"""Under a scheduler, a pipeline fails: mails of its retry, its failure, a killed task, and the run reach a server."""

from pathlib import Path

import pytest

from tests.end_to_end.conftest import Home
from tests.harness.mail_server import mail_server, part
from tests.harness.standalone import standalone, until

pytestmark = [
    pytest.mark.e2e,
    pytest.mark.long,  # three applications; tests/airflow/test_alert_*.py holds the same without Spark
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
    killed()
'''
RUN = "manual__2026-01-01T00:00:00+00:00"


def test_people_are_told_of_each_failure_where_airflow_runs_its_callback(
    home: Home, tmp_path: Path
) -> None:
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
        "nightly: task 'killed' failed",
        "nightly: the run failed, 2 failed tasks",
        "sales: task 'sales.report' failed",
        "sales: task 'sales.report' failed, Airflow tries again",
    ]
    assert len(server.mails) == 4, "each once"
    again = part(shown["sales: task 'sales.report' failed, Airflow tries again"], "plain")
    where = f"{tmp_path}/dags/nightly.py:13"
    assert f"Operator     shares, declared at {where}" in again
    assert "Attempt      1 of 2; Airflow tries again after 1 s" in again
    assert "DIVIDE_BY_ZERO" in again
    assert "\tat " not in again
    assert "  - region 'report': shares and report" in again
    assert "read again, not computed again: the staged result 'first' of task 'first'" in again
    assert (
        "/runs/manual__2026-01-01T00%3A00%3A00%2B00%3A00/tasks/sales.report?try_number=1" in again
    )
    final = part(shown["sales: task 'sales.report' failed"], "plain")
    assert "Attempt      2 of 2; Airflow does not try again" in final
    run = part(shown["nightly: the run failed, 2 failed tasks"], "plain")
    assert "Reason       task_failure" in run
    assert f"Operator     shares, declared at {where}" in run
    assert "Task 'killed'" in run
    assert f">{RUN}</td>" in part(shown["nightly: the run failed, 2 failed tasks"], "html")
