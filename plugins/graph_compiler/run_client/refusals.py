"""Why a request about a run was not carried out."""

from __future__ import annotations

from graph_compiler.errors import GraphCompilerError


class RunClientError(GraphCompilerError):
    """A request about a run was not carried out."""


class AirflowUnreachableError(RunClientError):
    """Airflow has not answered, so it is unknown whether it has carried out the request."""


class AirflowRefusedError(RunClientError):
    """Airflow refuses a request; `status` is that of HTTP, also if no HTTP was spoken."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(status, message)
        self.status, self.message = status, message

    def __str__(self) -> str:
        """Return the message."""
        return self.message


class RunNotFoundError(RunClientError):
    """Airflow has no such Dag or run."""


class RunStateError(RunClientError):
    """The run, or its Dag, is in a state in which the request makes no sense."""
