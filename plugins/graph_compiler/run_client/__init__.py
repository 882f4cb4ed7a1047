"""A client for runs: submit, follow, cancel and resume them, through Airflow's API.

    from graph_compiler.run_client import RunClient

    with RunClient.of_api("http://127.0.0.1:8080", Login(user="ann", password=…)) as client:
        run = client.submit("flights", params={"late_after": 30})
        print(client.wait("flights", run.run_id).state)

Neither airflow nor pyspark is imported; the API is called with httpx, which Airflow brings.
"""

from graph_compiler.run_client.login import Login
from graph_compiler.run_client.published import PublishedRows, RunResult
from graph_compiler.run_client.run_client import RunClient
from graph_compiler.run_client.run_status import (
    AirflowRefusedError,
    AirflowUnreachableError,
    RunClientError,
    RunNotFoundError,
    RunState,
    RunStateError,
    RunStatus,
    TaskStatus,
)

__all__ = [
    "AirflowRefusedError",
    "AirflowUnreachableError",
    "Login",
    "PublishedRows",
    "RunClient",
    "RunClientError",
    "RunNotFoundError",
    "RunResult",
    "RunState",
    "RunStateError",
    "RunStatus",
    "TaskStatus",
]
