"""What the installed Airflow has: the tests run on each minor of the table in docs/versions.md."""

from graph_compiler.deployment.describe.airflow_versions import has_all

HAS_ALL = has_all()
"""Whether it is 3.3 or newer."""


def start_stats() -> None:
    """Do what Airflow does at the beginning of a task's process."""
    from airflow.sdk.observability import stats
    from airflow.sdk.observability.metrics.stats_utils import get_stats_factory

    if HAS_ALL:
        stats.initialize(factory=get_stats_factory(), export_legacy_names=True)
    else:
        # as 3.2 has it
        stats.Stats.initialize(factory=get_stats_factory(stats.Stats))  # type: ignore[call-arg]
