"""The Airflow side: the only place that imports airflow. A Dag file needs `build_dag`, or `load_dags` for a folder."""

from graph_compiler.airflow_backend.dag.dag_builder import build_dag
from graph_compiler.airflow_backend.dag.dag_loader import load_dags, report_broken

__all__ = ["build_dag", "load_dags", "report_broken"]
