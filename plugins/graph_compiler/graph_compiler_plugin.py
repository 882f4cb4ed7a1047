"""The module that Airflow loads from the plugins folder, under its bare file name: absolute imports only.

If the package is installed, too, Airflow loads it by its entry point, and would list a second one as an import error.
"""

import sys
from importlib import import_module
from importlib.metadata import entry_points
from typing import Any

from airflow.plugins_manager import AirflowPlugin

_COMPILER = ("graph_compiler.airflow_backend", "graph_compiler.projects.yaml.reader")
PRELOADED = dict.fromkeys(("dag-processor", "scheduler", "celery"), _COMPILER) | {
    "triggerer": ("graph_compiler.airflow_backend.task.following.application_trigger",)
}
"""What Airflow's commands import once: most fork a process for each file or task, one runs all triggers in a loop."""
# Relative: Airflow's page resolves them against the path that Airflow is served under.
PAGE = "graph-compiler/app/"


class LazyApplication:
    """The web view's application, built at the first request, since every Airflow process loads the plugin."""

    def __init__(self) -> None:
        self._application: Any = None

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Answer with the application."""
        if self._application is None:
            web = import_module("graph_compiler.airflow_backend.web.application")
            self._application = web.build_application()
        await self._application(scope, receive, send)


def _view(destination: str, route: str, query: str, name: str = "Plan") -> dict[str, str]:
    return {
        "name": name,
        "href": PAGE + query,
        "destination": destination,
        "url_route": route,
        "icon": f"{PAGE}assets/icon.svg",
        "icon_dark_mode": f"{PAGE}assets/icon-dark.svg",
    }


class GraphCompilerPlugin(AirflowPlugin):
    """Makes the package known to Airflow, and mounts the web view."""

    name = "graph_compiler"
    fastapi_apps = [  # noqa: RUF012  # as Airflow expects it
        {"app": LazyApplication(), "url_prefix": "/graph-compiler", "name": "graph_compiler"}
    ]
    external_views = [  # noqa: RUF012  # the same
        _view("nav", "graph-compiler", "", name="Pipelines"),
        _view("dag", "graph-compiler-plan", "?dag_id={DAG_ID}"),
        _view("dag_run", "graph-compiler-run-plan", "?dag_id={DAG_ID}&run_id={RUN_ID}"),
        _view("task", "graph-compiler-task-plan", "?dag_id={DAG_ID}&region={TASK_ID}"),
        _view(
            "task_instance",
            "graph-compiler-region-plan",
            "?dag_id={DAG_ID}&run_id={RUN_ID}&region={TASK_ID}&map_index={MAP_INDEX}",
        ),
    ]

    @classmethod
    def on_load(cls, *_args: Any, **_kwargs: Any) -> None:
        """Import what this process would otherwise import in each fork (90 % of the cost of parsing) or in its loop."""
        for module in PRELOADED.get("".join(sys.argv[1:2]), ()):
            import_module(module)


if __name__ == "graph_compiler_plugin" and entry_points(group="airflow.plugins", name=GraphCompilerPlugin.name):
    del GraphCompilerPlugin
