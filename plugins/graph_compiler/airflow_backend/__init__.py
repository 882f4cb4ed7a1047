"""The Airflow side: the only place that imports airflow.

A Dag file needs `build_dag`, `build_task_group` in a Dag of your own, or `load_dags` for a folder; and
`FailureNotifier` for alerts.
"""

from graph_compiler.airflow_backend.dag.arguments import params_of
from graph_compiler.airflow_backend.dag.dag_builder import build_dag
from graph_compiler.airflow_backend.dag.dag_loader import load_dags, report_broken
from graph_compiler.airflow_backend.dag.task_group_builder import build_task_group
from graph_compiler.airflow_backend.notify.failure_notifier import FailureNotifier

__all__ = ["FailureNotifier", "build_dag", "build_task_group", "load_dags", "params_of", "report_broken"]
