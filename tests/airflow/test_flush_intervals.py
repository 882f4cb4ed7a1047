"""A run that completes the windows of its data interval has the end of it from Airflow."""

from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from graph_compiler import Json, Parquet, StreamExecutionEnvironment, TumblingEventTimeWindows
from graph_compiler.compiler.pipeline_compiler import compile_pipeline
from graph_compiler.deployment.describe.region_descriptors import describe_pipeline
from graph_compiler.deployment.documents.stream import END_OF_TIME_MS

pytestmark = [pytest.mark.airflow, pytest.mark.filterwarnings("default")]
DAY = datetime(2024, 1, 2, tzinfo=UTC)


def declared(flush: str) -> StreamExecutionEnvironment:
    env = StreamExecutionEnvironment("hours", config={"execution.runtime-mode": "AUTOMATIC", "execution.flush": flush})
    rows = env.from_source(Json("/in", schema="id INT, at TIMESTAMP"), "rows", unbounded=True).uid("rows")
    marked = rows.assign_timestamps_and_watermarks("at", max_out_of_orderness="20 minutes")
    hours = marked.key_by("id").window(TumblingEventTimeWindows("at", "1 hour")).aggregate(n="count(*)")
    hours.sink_to(Parquet("/out"), mode="append").uid("out")
    return env


@pytest.mark.parametrize(
    ("flush", "end", "until"),
    [
        ("DATA_INTERVAL_END", DAY, int(DAY.timestamp() * 1000)),
        ("DATA_INTERVAL_END", None, None),
        ("END", DAY, END_OF_TIME_MS),
        ("NONE", DAY, None),
    ],
)
def test_a_try_has_the_watermark_at_which_it_ends(
    tmp_path: Path, flush: str, end: datetime | None, until: int | None
) -> None:
    from graph_compiler.airflow_backend.dag.arguments import Arguments
    from graph_compiler.airflow_backend.task.run_values import try_of_run

    pipeline = declared(flush).pipeline()
    regions = describe_pipeline(compile_pipeline(pipeline)).regions
    instance = SimpleNamespace(dag_id="hours", task_id="out", run_id="one", map_index=-1, id="e1", try_number=1)
    instance.task = SimpleNamespace(task_group=None)
    context: Any = {"ti": instance, "dag_run": SimpleNamespace(logical_date=DAY, data_interval_end=end, conf={})}
    found = try_of_run(
        regions, Arguments.own(pipeline), {}, staging_root=str(tmp_path), clears_others=False, context=context
    )
    (execution,) = found.executions
    assert execution.flushed_until == until


def test_data_intervals_of_schedules_are_what_the_documentation_says() -> None:
    from airflow import DAG
    from airflow.sdk import timezone
    from airflow.timetables.base import TimeRestriction
    from airflow.timetables.interval import CronDataIntervalTimetable
    from airflow.timetables.trigger import CronTriggerTimetable

    assert type(DAG("daily", schedule="@daily").timetable).__name__ == CronTriggerTimetable.__name__
    restriction = TimeRestriction(earliest=timezone.coerce_datetime(DAY), latest=None, catchup=True)
    for kind, length in {CronTriggerTimetable: timedelta(0), CronDataIntervalTimetable: timedelta(days=1)}.items():
        info = kind("0 0 * * *", timezone="UTC").next_dagrun_info(
            last_automated_data_interval=None, restriction=restriction
        )
        assert info is not None
        assert info.data_interval.end - info.data_interval.start == length
        assert info.run_after == info.data_interval.end
