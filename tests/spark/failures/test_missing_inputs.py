"""The messages for an input that does not exist, or that no file system of this Spark can read."""

import re
from pathlib import Path

import pytest

from graph_compiler.spark_runtime.failures.causes import Cause, does_not_exist, missing_input

pytestmark = pytest.mark.spark


def cause(*chain: str, message: str = "", condition: str = "", **parameters: str) -> Cause:
    return Cause(
        kind="AnalysisException",
        message=message,
        condition=condition,
        sql_state="",
        parameters=parameters,
        contexts=(),
        chain=chain,
        frames=(),
    )


def test_a_file_with_a_similar_name_is_suggested(tmp_path: Path) -> None:
    (tmp_path / "orders.parquet").mkdir()
    (tmp_path / "one.csv").touch()
    missing = f"file:{tmp_path}/oders.parquet"
    assert missing_input(cause(condition="PATH_NOT_FOUND", path=missing)) == [
        f"its input {missing} does not exist",
        f"hint: did you mean '{tmp_path}/orders.parquet'?",
    ]


def test_the_first_folder_that_is_missing_is_compared(tmp_path: Path) -> None:
    (tmp_path / "sales").mkdir()
    said = does_not_exist(f"{tmp_path}/slaes/2013/orders.csv")
    assert said.endswith(f"hint: did you mean '{tmp_path}/sales'?")


def test_an_equal_extension_alone_is_not_similar(tmp_path: Path) -> None:
    (tmp_path / "one.csv").touch()
    assert "hint" not in does_not_exist(f"{tmp_path}/two.csv")
    assert "hint" not in does_not_exist("s3a://bucket/two.csv")


def test_a_missing_folder_says_how_a_day_without_files_is_declared(tmp_path: Path) -> None:
    said = does_not_exist(f"{tmp_path}/day=2024-03-31")
    assert said.endswith("declare schema= and if_missing='empty': then it has no rows")
    assert "hint" not in does_not_exist(f"{tmp_path}/day=*")
    (tmp_path / "day=2024-03-30").mkdir()
    assert "did you mean" in does_not_exist(f"{tmp_path}/day=2024-03-31")


@pytest.mark.parametrize(
    ("words", "scheme", "package"),
    [
        (
            "ClassNotFoundException: Class org.apache.hadoop.fs.s3a.S3AFileSystem not found",
            "s3a",
            "org.apache.hadoop:hadoop-aws:3.",
        ),
        ('No FileSystem for scheme "gs"', "gs", "gcs-connector"),
        ('No FileSystem for scheme "ftps"', "ftps", "its package"),
    ],
)
def test_a_missing_file_system_is_reported_with_a_fix(words: str, scheme: str, package: str) -> None:
    first, hint = missing_input(cause("java.lang.RuntimeException: " + words))
    assert first == f"this Spark has no file system for {scheme}:"
    assert package in hint
    assert "spark.jars.packages" in hint


def test_a_missing_format_is_reported_with_a_fix() -> None:
    _, hint = missing_input(cause(condition="AVRO_DATA_SOURCE_NOT_ENABLED"))
    assert re.search(r"= org\.apache\.spark:spark-avro_2\.13:4\.\d+\.\d+, in", hint)


def test_other_failures_are_unchanged() -> None:
    assert missing_input(cause("java.io.IOException: disk full")) == []
