"""When a stage's slowest task is reported."""

import pytest

from graph_compiler.deployment.documents.report import SlowestTask


@pytest.mark.parametrize(
    ("median", "longest", "is_skewed"), [(1.0, 10.0, False), (1.0, 10.1, True), (20.0, 60.0, False), (20.0, 60.1, True)]
)
def test_the_slowest_task_is_reported_only_if_it_delayed_others_noticeably(
    median: float, longest: float, is_skewed: bool
) -> None:
    found = SlowestTask(stage_id=1, tasks=9, median_seconds=median, longest_seconds=longest)
    assert found.is_skewed is is_skewed
