"""What a report says about what ran: distributions, and what counts as uneven."""

import statistics
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graph_compiler.deployment.documents.actual_execution import ActualExecution, ActualVertex, Spread
from graph_compiler.deployment.documents.report import ExecutionReport
from graph_compiler.deployment.documents.wire import to_json
from graph_compiler.identifiers import JobVertexId
from tests.harness.actual_executions import an_exchange, stage
from tests.harness.reports import bare_report


@given(st.lists(st.integers(0, 10**12), min_size=1))
def test_a_spread_is_that_of_its_values(values: list[int]) -> None:
    found = Spread.of(values)
    assert found is not None
    assert (found.minimum, found.median, found.maximum) == (min(values), statistics.median_low(values), max(values))
    assert found.largest_task is not None
    assert values[found.largest_task] == max(values)


def test_there_is_no_spread_without_tasks() -> None:
    assert Spread.of([]) is None


MB = 1024 * 1024


@pytest.mark.parametrize(
    ("sizes", "is_skewed"),
    [
        ([MB, MB, 100 * MB], True),
        ([0, 0, 16 * MB], True),
        ([0, 0, 16 * MB - 1], False),  # too little to cost anything
        ([MB, 20 * MB, 100 * MB], False),  # five times the median: Spark's factor
        ([100 * MB], False),  # one task waits for nobody
        ([100 * MB] * 5, False),
    ],
)
def test_an_exchange_is_skewed_if_one_task_reads_far_more_than_the_median(sizes: list[int], is_skewed: bool) -> None:
    assert an_exchange(bytes_by_task=Spread.of(sizes)).is_skewed is is_skewed


@pytest.mark.parametrize(
    ("milliseconds", "rows", "is_held_up"),
    [
        ([1000, 1000, 20_000], [10, 10, 10], True),
        ([1000, 1000, 20_000], [10, 10, 1000], False),  # it had more to do
        ([1000, 1000, 9_000], [10, 10, 10], False),
        ([9000, 9000, 20_000], [10, 10, 10], False),
    ],
)
def test_a_stage_is_held_up_by_a_task_that_is_late_without_more_rows(
    milliseconds: list[int], rows: list[int], is_held_up: bool
) -> None:
    found = stage(1, milliseconds=Spread.of(milliseconds), rows_by_task=Spread.of(rows))
    assert found.is_held_up is is_held_up


def test_a_report_keeps_what_ran() -> None:
    ran = ActualExecution(
        vertices=(ActualVertex(vertex_id=JobVertexId("a" * 32), parallelism=3, splits=None, stage_ids=(1, 2)),),
        stages=(stage(1), stage(2, milliseconds=Spread.of([1, 2, 3]))),
        exchanges=(an_exchange(),),
        notes=("something is left out",),
    )
    report = replace(bare_report(), actual=ran)
    assert ExecutionReport.from_json(to_json(report)) == report


def test_a_report_of_an_earlier_version_has_none() -> None:
    text = to_json(bare_report())
    assert "actual" not in text
    assert ExecutionReport.from_json(text).actual is None
