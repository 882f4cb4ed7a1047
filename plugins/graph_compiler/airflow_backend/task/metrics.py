"""Sends metrics through Airflow's own stats: StatsD, DogStatsD or OpenTelemetry, as `[metrics]` of Airflow says."""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterable, Mapping, Sequence

from airflow.sdk.configuration import conf
from airflow.sdk.observability import stats
from opentelemetry.metrics import get_meter_provider

from graph_compiler.deployment.documents.descriptor import TaskDeploymentDescriptor
from graph_compiler.staging.executions.executions import told
from graph_compiler.staging.metrics.attempt_documents import timed_attempts
from graph_compiler.staging.metrics.attempt_metrics import attempt_metrics
from graph_compiler.staging.metrics.metric import Metric
from graph_compiler.staging.store.stores import store_of

LOG = logging.getLogger(__name__)
_SWITCHES = ("statsd_on", "statsd_datadog_enabled", "otel_on")
_LONGEST = 200
"""The maximum characters of a tag: StatsD sends each value in one packet."""
_MOST_SECONDS = 5.0
"""How long a flush may hold a task, if a collector does not answer; the exporter itself waits for 10 s."""


def report_ended(descriptors: Sequence[str]) -> None:
    """Send the metrics of executions of a task that have just ended, if Airflow's metrics are on.

    Nothing that goes wrong here affects the task.
    """
    if not descriptors or not any(_is_on(switch) for switch in _SWITCHES):
        return
    try:
        tasks = [(key, task) for key in descriptors if (task := told(store_of(key), key))]
        regions = [
            timed_attempts(store_of(key), task.layout, task.region.region_id, key)
            for key, task in tasks
        ]
        for _, first in tasks[:1]:
            _send(attempt_metrics(regions), _tags(first))
    except Exception:
        LOG.warning("graph_compiler: metrics of this try are not sent", exc_info=True)


def flush() -> None:
    """Send what OpenTelemetry keeps until its next interval, since this process may be killed before."""
    if not _is_on("otel_on"):
        return
    flushing = threading.Thread(target=_flush, name="metrics", daemon=True)
    flushing.start()
    flushing.join(_MOST_SECONDS)


def _flush() -> None:
    try:
        provider = get_meter_provider()
        if hasattr(provider, "force_flush"):
            provider.force_flush()
    except Exception:
        LOG.warning("graph_compiler: metrics of this try are not flushed", exc_info=True)


def _send(metrics: Iterable[Metric], task: Mapping[str, str]) -> None:
    for metric in metrics:
        tags = {tag: _plain(text) for tag, text in metric.tags(task).items()}
        if metric.name.is_timing:
            stats.timing(metric.name.value, metric.value, tags=tags)
        else:
            stats.incr(metric.name.value, metric.value, tags=tags)


def _tags(task: TaskDeploymentDescriptor) -> Mapping[str, str]:
    identity = task.layout.identity
    return {
        "dag_id": identity.dag_id,
        "task_id": identity.task_id(task.region.task_name),
        "pipeline": identity.pipeline,
    }


def _plain(text: str) -> str:
    """Names of operators are free text, and StatsD's lines have no quotes."""
    return stats.normalize_name_for_stats(text, log_warning=False)[:_LONGEST]


def _is_on(switch: str) -> bool:
    return bool(conf.getboolean("metrics", switch, fallback=False))
