"""All three shuffle modes give the rows DuckDB gives."""

from pathlib import Path

import pytest

from pipelines.flights import env as flights
from tests.conftest import SHUFFLE_MODES, with_options
from tests.harness.reference import DATA, REPORTS, assert_same_rows, expected, published
from tests.spark.conftest import RunPipeline

pytestmark = pytest.mark.spark


@pytest.mark.parametrize("mode", SHUFFLE_MODES)
def test_every_mode_gives_the_reference_rows(
    mode: str, run_pipeline: RunPipeline, tmp_path: Path
) -> None:
    reports = run_pipeline(
        with_options(flights.pipeline(), shuffle_mode=mode),
        {"input": str(DATA), "output": str(tmp_path / "out")},
    )
    assert [report.failure for report in reports] == [None] * len(reports)
    for name, query in REPORTS.items():
        assert_same_rows(published(tmp_path / "out" / name), expected(query))
    sinks = {
        output.name: output.rows
        for report in reports
        for output in report.outputs
        if output.kind == "sink"
    }
    assert sinks == {
        "by_month": 185,
        "by_plane_age": 13,
        "by_weather": 5,
        "cancelled": 8_255,
        "late_routes": 438,
        "worst_routes": 10,
    }
