"""What Airflow loads from the plugins folder. It is executed under its bare file name: absolute imports only."""

import sys
from importlib import import_module
from typing import Any

from airflow.plugins_manager import AirflowPlugin

FORKING = ("dag-processor", "scheduler", "celery")
"""Airflow's commands whose processes fork one for each file they parse, or for each task they run."""


class GraphCompilerPlugin(AirflowPlugin):
    """Makes the package known to Airflow; the web view will hang here."""

    name = "graph_compiler"

    @classmethod
    def on_load(cls, *_args: Any, **_kwargs: Any) -> None:
        """Import the compiler once, where each fork would else import it anew (nine tenths of what parsing costs)."""
        if sys.argv[1:2] and sys.argv[1] in FORKING:
            for module in (
                "graph_compiler.airflow_backend",
                "graph_compiler.declaration.yaml_spec.reader",
            ):
                import_module(module)
