"""Which jars a driver adds, of those that spark-submit was given."""

import pytest

from graph_compiler.spark_runtime.artifacts import jars_not_below

pytestmark = [pytest.mark.spark, pytest.mark.ci]  # its module is imported

RUN = "s3a://lake/staging/p/m__2013-01-01T00%3A00%3A00"
COPY = "s3a://lake/staging/p/m__2013-01-01T00%253A00%253A00/files/1/twice.jar"


@pytest.mark.parametrize(
    ("named", "left"),
    [
        (f"/theirs.jar,{COPY}", {"spark.jars": "/theirs.jar"}),
        (COPY, {"spark.jars": ""}),
        ("/theirs.jar,s3a://lake/staging/p/other/files/1/twice.jar", {}),
        ("", {}),
    ],
)
def test_copies_below_the_runs_folder_are_left_out(named: str, left: dict[str, str]) -> None:
    assert jars_not_below(RUN, {"spark.jars": named}) == left


def test_without_jars_there_is_no_setting() -> None:
    assert jars_not_below(RUN, {}) == {}
