"""A PlanDiff as a document for programs."""

from __future__ import annotations

from graph_compiler.deployment.documents.wire import Json, to_wire
from graph_compiler.explain.diff.plan_changes import PlanDiff
from graph_compiler.explain.diff.plan_diff_text import diff_summary


def diff_json(diff: PlanDiff) -> dict[str, Json]:
    """Return the summary line for a pull request, and all differences."""
    document = to_wire(diff)
    assert isinstance(document, dict)
    return {"summary": diff_summary(diff), **document}
