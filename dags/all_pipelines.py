"""An Airflow Dag for each pipeline that has no Dag file of its own: YAML files, and modules that say their schedule."""

from pathlib import Path

from graph_compiler.airflow_backend import load_dags

globals().update(load_dags(Path(__file__).parents[1] / "pipelines"))
