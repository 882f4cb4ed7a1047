"""One import error for all pipelines that cannot be loaded, in a separate file, so that it hides no valid pipeline."""

from pathlib import Path

from graph_compiler.airflow_backend import report_broken

report_broken(Path(__file__).parents[1] / "pipelines")
