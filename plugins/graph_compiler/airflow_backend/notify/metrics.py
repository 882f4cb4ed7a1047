"""Sends metrics through Airflow's own stats: StatsD, DogStatsD or OpenTelemetry, as `[metrics]` of Airflow says."""

from __future__ import annotations

from collections.abc import Sequence

from airflow.sdk.configuration import conf
from airflow.sdk.observability.stats import Stats, normalize_name_for_stats
from opentelemetry.metrics import get_meter_provider

from graph_compiler.identifiers import plain_line
from graph_compiler.staging.attempts.attempt_metrics import attempt_metrics
from graph_compiler.staging.attempts.task_attempt import EndedRegion

_SWITCHES = ("statsd_on", "statsd_datadog_enabled", "otel_on")
_LONGEST = 200
"""The maximum characters of a tag: StatsD sends each value in one packet."""


class Metrics:
    """Sends what became of attempts: counters, timings, and where streams are."""

    def is_wanted(self) -> bool:
        """Whether Airflow's metrics are on."""
        return any(map(_is_on, _SWITCHES))

    def send(self, contents: Sequence[EndedRegion]) -> None:
        """Send the metrics of a task's regions whose executions have just ended."""
        task = contents[0].execution
        identity = task.layout.identity
        tags = {
            "dag_id": identity.dag_id,
            "task_id": identity.task_id(task.region.task_name),
            "pipeline": identity.pipeline,
        }
        for metric in attempt_metrics([each.attempts for each in contents]):
            own = {tag: _plain(text) for tag, text in metric.tags(tags).items()}
            send = Stats.timing if metric.name.is_timing else Stats.gauge if metric.name.is_gauge else Stats.incr
            send(metric.name.value, metric.value, tags=own)

    def are_kept(self) -> bool:
        """Whether what was sent is kept until an interval ends, as OpenTelemetry does."""
        return _is_on("otel_on")

    def flush(self) -> None:
        """Send what is kept, since this process may be killed before its interval ends."""
        provider = get_meter_provider()
        if hasattr(provider, "force_flush"):
            provider.force_flush()


def _plain(text: str) -> str:
    """Names of operators are free text, and StatsD's lines have no quotes.

    Airflow takes a line break at the end of a name for a part of it.
    """
    return normalize_name_for_stats(plain_line(text), log_warning=False)[:_LONGEST]


def _is_on(switch: str) -> bool:
    return bool(conf.getboolean("metrics", switch, fallback=False))
