"""Reports of drivers as tests leave them."""

from __future__ import annotations

from graph_compiler.deployment.documents.report import VERSION, ExecutionReport, Failure


def bare_report(
    failure: Failure | None = None, *, application_id: str | None = "application_1_0001"
) -> ExecutionReport:
    """Return the report of an execution without outputs or measurements."""
    return ExecutionReport(
        version=VERSION,
        application_id=application_id,
        outputs=(),
        contracts=(),
        vertices=(),
        actions=(),
        reads=(),
        recomputed=(),
        failure=failure,
    )
