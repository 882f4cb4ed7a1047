"""Reports of drivers as tests leave them."""

from __future__ import annotations

from dataclasses import replace

from graph_compiler.deployment.documents.report import ExecutionReport, Failure


def bare_report(
    failure: Failure | None = None, *, application_id: str | None = "application_1_0001"
) -> ExecutionReport:
    """Return the report of an execution without outputs or measurements."""
    return replace(ExecutionReport.of_nothing(), application_id=application_id, failure=failure)
