"""All three shuffle modes give the rows DuckDB gives."""

from pathlib import Path

import pytest

from pipelines.flights import env as flights
from tests.conftest import SHUFFLE_MODES, with_options
from tests.harness.reference import assert_same_rows, expected, published, reports
from tests.spark.conftest import RunPipeline

pytestmark = pytest.mark.spark


@pytest.mark.parametrize(
    "mode", [pytest.param(mode, marks=[] if mode == "AUTO" else [pytest.mark.ci]) for mode in SHUFFLE_MODES]
)
def test_every_mode_gives_the_reference_rows(
    mode: str, run_pipeline: RunPipeline, january: Path, tmp_path: Path
) -> None:
    done = run_pipeline(
        with_options(flights.pipeline(), shuffle_mode=mode), {"input": str(january), "output": str(tmp_path / "out")}
    )
    assert [report.failure for report in done] == [None] * len(done)
    wanted = {name: expected(query) for name, query in reports(january).items()}
    for name, rows in wanted.items():
        assert_same_rows(published(tmp_path / "out" / name), rows)
    sinks = {output.name: output.rows for report in done for output in report.outputs if output.kind == "sink"}
    assert sinks == {name: len(rows) for name, (_, rows) in wanted.items()}
