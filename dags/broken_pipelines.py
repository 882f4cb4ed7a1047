"""The import error of every pipeline that cannot be an Airflow Dag: beside, not among, those that can."""

from pathlib import Path

from graph_compiler.airflow_backend import report_broken

report_broken(Path(__file__).parents[1] / "pipelines")
