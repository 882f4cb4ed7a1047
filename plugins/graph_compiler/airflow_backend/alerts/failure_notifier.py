"""The notifier, where a deadline in a Dag that an earlier version has serialized looks for it."""

from graph_compiler.airflow_backend.notify.failure_notifier import FailureNotifier

__all__ = ["FailureNotifier"]
