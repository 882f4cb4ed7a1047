"""An Airflow Dag for each pipeline without its own Dag file: YAML files, and modules with a schedule."""

from pathlib import Path

from graph_compiler.airflow_backend import load_dags

globals().update(load_dags(Path(__file__).parents[1] / "pipelines"))
