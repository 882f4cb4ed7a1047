"""The Airflow side: the only place that imports airflow. `build_dag` is all a Dag file needs."""

from graph_compiler.airflow_backend.dag_builder import build_dag

__all__ = ["build_dag"]
