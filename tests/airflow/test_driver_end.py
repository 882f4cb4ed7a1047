"""What an Airflow task makes of the end of its Spark driver: its report, its exit code, its output."""

from pathlib import Path

import pytest

from graph_compiler import Parquet, StreamExecutionEnvironment, Values
from graph_compiler.compiler.pipeline_compiler import compile_pipeline
from graph_compiler.deployment.describe.region_descriptors import describe_regions
from graph_compiler.deployment.documents.descriptor import RegionDescriptor
from graph_compiler.deployment.documents.report import (
    VERSION,
    ExecutionReport,
    Failure,
    ThrowableType,
)
from graph_compiler.deployment.documents.wire import to_json

pytestmark = pytest.mark.airflow


@pytest.fixture
def region() -> RegionDescriptor:
    env = StreamExecutionEnvironment("p")
    env.from_source(Values([(1,)], "x INT"), "in").sink_to(Parquet("/out")).name("out")
    (found,) = describe_regions(compile_pipeline(env.pipeline()))
    return found


def why_failed(
    region: RegionDescriptor, report: Path, submitted: Exception | None
) -> Exception | None:
    """Return what the task raises; imported here, since Airflow must not be before it has a home of its own."""
    from graph_compiler.airflow_backend.task import driver_end

    return driver_end.why_failed(region, report, submitted, None)  # type: ignore[arg-type]  # what the hook raises


def fails_at_once(error: Exception | None) -> bool:
    from airflow.sdk.exceptions import AirflowFailException

    return isinstance(error, AirflowFailException)


def left(folder: Path, failure: Failure | None) -> Path:
    report = ExecutionReport(
        version=VERSION,
        application_id="a",
        outputs=(),
        contracts=(),
        vertices=(),
        actions=(),
        reads=(),
        recomputed=(),
        failure=failure,
    )
    path = folder / "report.json"
    path.write_text(to_json(report))
    return path


def failure(kind: ThrowableType) -> Failure:
    return Failure(throwable_type=kind, operator=None, declared_at=None, message="it broke")


def test_exit_code_0_without_a_report_fails_at_once_in_plain_words(
    region: RegionDescriptor, tmp_path: Path
) -> None:
    error = why_failed(region, tmp_path / "report.json", None)
    assert fails_at_once(error)
    assert "pipeline 'p', task 'out': Spark's driver ended with exit code 0" in str(error)
    assert "os._exit" in str(error)


def test_another_exit_code_without_a_report_is_left_to_the_restart_strategy(
    region: RegionDescriptor, tmp_path: Path
) -> None:
    from airflow.sdk.exceptions import AirflowException

    error = why_failed(region, tmp_path / "report.json", AirflowException("code 137"))
    assert str(error) == "the Spark driver ended without a report: code 137"
    assert not fails_at_once(error)


def test_a_failure_in_the_report_counts_whatever_the_exit_code(
    region: RegionDescriptor, tmp_path: Path
) -> None:
    path = left(tmp_path, failure(ThrowableType.NON_RECOVERABLE_ERROR))
    error = why_failed(region, path, None)
    assert fails_at_once(error)
    assert "it broke" in str(error)


def test_a_region_that_came_through_has_not_failed(
    region: RegionDescriptor, tmp_path: Path
) -> None:
    assert why_failed(region, left(tmp_path, None), None) is None


def test_a_log_keeps_its_beginning_and_its_end() -> None:
    from graph_compiler.airflow_backend.task.log_limit import LAST_LINES, limited

    lines = [f"{number}\n" for number in range(10_000)]
    shown = list(limited(lines, beginning=10))
    assert shown[:5] == lines[:5]
    assert shown[-LAST_LINES:] == lines[-LAST_LINES:]
    assert shown[5] == f"graph_compiler: {10_000 - 5 - LAST_LINES:,} lines are left out here\n"


def test_a_line_of_any_length_is_cut() -> None:
    from graph_compiler.airflow_backend.task.log_limit import LONGEST_LINE, limited

    (shown,) = limited(["x" * 10_000_000])
    assert len(shown) == LONGEST_LINE + 3


def test_a_short_log_is_whole() -> None:
    from graph_compiler.airflow_backend.task.log_limit import limited

    assert list(limited(["a\n", "b\n"])) == ["a\n", "b\n"]
