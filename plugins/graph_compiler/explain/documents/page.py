"""The web view's page with one plan in it: a file that needs neither Airflow nor a network."""

from __future__ import annotations

import json

from graph_compiler.errors import GraphCompilerError
from graph_compiler.explain.documents.plain_json import plain_json
from graph_compiler.explain.plan.plan import Plan

BUILT = "airflow_backend/web/static/standalone.html"
"""The path of the built page, relative to the package."""
MARKER = "<!--view-plan-->"


class PageNotBuiltError(GraphCompilerError):
    """The page's file is missing, or has no placeholder for a plan."""


def plan_page(plan: Plan, page: str) -> str:
    """Return the page's file with a plan in it; raises PageNotBuiltError if it has no placeholder for one."""
    before, marker, after = page.partition(MARKER)
    if not marker:
        raise PageNotBuiltError(
            "the page of the view is not built in this installation\n"
            "  hint: packages of graph_compiler carry it; in a checkout, `make web` builds it\n"
            "  allowed: --format text, json, mermaid, dot, flink"
        )
    document = json.dumps(plain_json(plan), separators=(",", ":"))
    # Inside a script element, only `<` can end it or start a comment.
    script = document.replace("<", "\\u003c")
    element = f'<script type="application/json" id="view-plan">{script}</script>'
    return f"{before}{element}{after}"
