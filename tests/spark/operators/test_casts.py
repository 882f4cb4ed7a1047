"""A cast, and a write into other types, never changes a value: one that does not fit fails the task."""

from pathlib import Path

import pytest

from graph_compiler import Parquet, StreamExecutionEnvironment, Values
from tests.spark.conftest import RunPipeline

pytestmark = [pytest.mark.spark, pytest.mark.ci]


@pytest.mark.parametrize(
    ("type", "text", "fails"),
    [
        ("VARCHAR(3)", "abc", False),
        ("varchar ( 3 )", "abcd", True),
        ("VARCHAR(3)", "äöü", False),
        ("CHAR(4)", "abcd", False),
        ("CHARACTER(4)", "abcde", True),
        ("VARCHAR(3)", None, False),
    ],
)
def test_texts_of_a_length_have_at_most_that(
    type: str, text: str | None, fails: bool, env: StreamExecutionEnvironment, run_pipeline: RunPipeline, tmp_path: Path
) -> None:
    value = "CAST(NULL AS STRING)" if text is None else f"'{text}'"
    rows = env.from_source(Values([(1,)], "n INT"), "rows").select(**{"k.x": value}).cast(**{"k.x": type})
    rows.sink_to(Parquet(f"{tmp_path}/out")).name("out")
    failure = run_pipeline(env.pipeline())[-1].failure
    assert (failure is not None) is fails
    if failure is not None:
        length = type.strip(")")[-2:].strip(" (")
        assert f"a value of 'k.x' has more than {length} characters" in failure.message


@pytest.mark.parametrize(
    ("interval", "narrow", "is_kept"),
    [
        ("INTERVAL '1 12' DAY TO HOUR", "INTERVAL DAY", False),
        ("INTERVAL '1 00' DAY TO HOUR", "INTERVAL DAY", True),
        ("INTERVAL '1-7' YEAR TO MONTH", "INTERVAL YEAR", False),
        ("INTERVAL '1-0' YEAR TO MONTH", "INTERVAL YEAR", True),
    ],
)
def test_an_interval_is_not_cut(
    interval: str,
    narrow: str,
    is_kept: bool,
    env: StreamExecutionEnvironment,
    run_pipeline: RunPipeline,
    tmp_path: Path,
) -> None:
    env = StreamExecutionEnvironment("intervals")
    target = Parquet(f"{tmp_path}/out", schema=f"k INT, i {narrow}", on_schema_change="ignore")
    env.from_source(Values([(1,)], "k INT"), "rows").with_columns(i=interval).sink_to(target).name("out")
    failure = run_pipeline(env.pipeline())[-1].failure
    assert (failure is None) is is_kept, failure
