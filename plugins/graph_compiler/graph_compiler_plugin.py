"""What Airflow loads from the plugins folder. It is executed under its bare file name: absolute imports only."""

import sys
from importlib import import_module
from typing import Any

from airflow.plugins_manager import AirflowPlugin

FORKING = ("dag-processor", "scheduler", "celery")
"""Airflow's commands whose processes fork one for each file they parse, or for each task they run."""
# Relative: Airflow's page resolves them against the path that Airflow is served under.
PAGE = "graph-compiler/app/"


class LazyApplication:
    """The web view's application, built at the first request: every process of Airflow's loads the plugin."""

    def __init__(self) -> None:
        self._application: Any = None

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Answer as the application does."""
        if self._application is None:
            web = import_module("graph_compiler.airflow_backend.web.application")
            self._application = web.build_application()
        await self._application(scope, receive, send)


class GraphCompilerPlugin(AirflowPlugin):
    """Makes the package known to Airflow, and mounts the web view."""

    name = "graph_compiler"
    fastapi_apps = [  # noqa: RUF012  # Airflow's own way to say it
        {"app": LazyApplication(), "url_prefix": "/graph-compiler", "name": "graph_compiler"}
    ]
    external_views = [  # noqa: RUF012  # the same
        {
            "name": "Pipelines",
            "href": PAGE,
            "destination": "nav",
            "url_route": "graph-compiler",
        },
        {
            "name": "Plan",
            "href": f"{PAGE}?dag_id={{DAG_ID}}",
            "destination": "dag",
            "url_route": "graph-compiler-plan",
        },
        {
            "name": "Plan",
            "href": f"{PAGE}?dag_id={{DAG_ID}}&run_id={{RUN_ID}}",
            "destination": "dag_run",
            "url_route": "graph-compiler-run-plan",
        },
    ]

    @classmethod
    def on_load(cls, *_args: Any, **_kwargs: Any) -> None:
        """Import the compiler once, where each fork would else import it anew (nine tenths of what parsing costs)."""
        if sys.argv[1:2] and sys.argv[1] in FORKING:
            for module in (
                "graph_compiler.airflow_backend",
                "graph_compiler.declaration.yaml_spec.reader",
            ):
                import_module(module)
