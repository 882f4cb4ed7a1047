"""Sends metrics through Airflow's own stats: StatsD, DogStatsD or OpenTelemetry, as `[metrics]` of Airflow says."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from airflow.sdk.configuration import conf
from airflow.sdk.observability import stats
from opentelemetry.metrics import get_meter_provider

from graph_compiler.deployment.documents.descriptor import TaskDeploymentDescriptor
from graph_compiler.identifiers import plain_line
from graph_compiler.staging.attempts.attempt_metrics import EndedRegion, attempt_metrics

_SWITCHES = ("statsd_on", "statsd_datadog_enabled", "otel_on")
_LONGEST = 200
"""The maximum characters of a tag: StatsD sends each value in one packet."""


def are_wanted() -> bool:
    """Whether Airflow's metrics are on."""
    return any(_is_on(switch) for switch in _SWITCHES)


def send(ended: Sequence[EndedRegion]) -> None:
    """Send the metrics of a task's regions whose executions have just ended."""
    tags = _tags(ended[0].execution)
    for metric in attempt_metrics([each.attempts for each in ended]):
        own = {tag: _plain(text) for tag, text in metric.tags(tags).items()}
        if metric.name.is_timing:
            stats.timing(metric.name.value, metric.value, tags=own)
        else:
            stats.incr(metric.name.value, metric.value, tags=own)


def are_kept() -> bool:
    """Whether what was sent is kept until an interval ends, as OpenTelemetry does."""
    return _is_on("otel_on")


def flush() -> None:
    """Send what is kept, since this process may be killed before its interval ends."""
    provider = get_meter_provider()
    if hasattr(provider, "force_flush"):
        provider.force_flush()


def _tags(task: TaskDeploymentDescriptor) -> Mapping[str, str]:
    identity = task.layout.identity
    return {
        "dag_id": identity.dag_id,
        "task_id": identity.task_id(task.region.task_name),
        "pipeline": identity.pipeline,
    }


def _plain(text: str) -> str:
    """Names of operators are free text, and StatsD's lines have no quotes.

    Airflow takes a line break at the end of a name for a part of it.
    """
    return stats.normalize_name_for_stats(plain_line(text), log_warning=False)[:_LONGEST]


def _is_on(switch: str) -> bool:
    return bool(conf.getboolean("metrics", switch, fallback=False))
