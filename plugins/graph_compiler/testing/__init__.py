"""The API for tests of pipelines: run one on given rows, inspect any operator, check its plan.

    from graph_compiler.testing import CompiledPlan, MiniCluster

Names are imported lazily: pytest loads this package in every run, but Spark only if a test needs it.
The fixtures are in `graph_compiler.testing.pytest_plugin`.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from graph_compiler.testing.compiled_plan import CompiledPlan
    from graph_compiler.testing.mini_cluster import MiniCluster
    from graph_compiler.testing.pipeline_result import PipelineFailedError, PipelineResult
    from graph_compiler.testing.pipelines import load_pipeline
    from graph_compiler.testing.row_assertions import assert_rows
    from graph_compiler.testing.sources import REAL, Rows

__all__ = [
    "REAL",
    "CompiledPlan",
    "MiniCluster",
    "PipelineFailedError",
    "PipelineResult",
    "Rows",
    "assert_rows",
    "load_pipeline",
]

_MODULES = {
    "REAL": ".sources",
    "CompiledPlan": ".compiled_plan",
    "MiniCluster": ".mini_cluster",
    "PipelineFailedError": ".pipeline_result",
    "PipelineResult": ".pipeline_result",
    "Rows": ".sources",
    "assert_rows": ".row_assertions",
    "load_pipeline": ".pipelines",
}


def __getattr__(name: str) -> object:
    """Import a name of this package on first access."""
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_MODULES[name], __name__), name)
