"""Packages that Spark lacks, with versions from the names of its own jars."""

from pathlib import Path

import pytest

from graph_compiler.driver_jvm.installation import is_on_class_path, package_of_format, package_of_scheme, spark_jars

AWS = "org.apache.hadoop:hadoop-aws:3.5.0"


@pytest.fixture
def jars(tmp_path: Path) -> Path:
    folder = tmp_path / "spark/jars"
    folder.mkdir(parents=True)
    for name in ("hadoop-client-api-3.5.0.jar", "spark-core_2.13-4.3.0.jar", "guava-14.jar"):
        (folder / name).touch()
    return folder


def test_versions_are_those_of_sparks_own_jars(jars: Path) -> None:
    assert package_of_scheme("s3a", jars) == AWS
    assert package_of_scheme("ABFSS", jars) == "org.apache.hadoop:hadoop-azure:3.5.0"
    assert package_of_format("avro", jars) == "org.apache.spark:spark-avro_2.13:4.3.0"


def test_an_unknown_version_has_a_placeholder(tmp_path: Path) -> None:
    assert package_of_scheme("s3a", None) == "org.apache.hadoop:hadoop-aws:VERSION"
    assert package_of_scheme("s3a", tmp_path) == "org.apache.hadoop:hadoop-aws:VERSION"
    assert package_of_scheme("gs", None) == "com.google.cloud.bigdataoss:gcs-connector:VERSION"


def test_what_spark_has_needs_no_package(jars: Path) -> None:
    assert [package_of_scheme(one, jars) for one in ("file", "hdfs", "nosuch")] == [None] * 3
    assert [package_of_format(one, jars) for one in ("parquet", "csv", "nosuch")] == [None] * 3


@pytest.mark.parametrize(
    "settings",
    [
        {"spark.jars.packages": AWS},
        {"spark.jars": "/opt/hadoop-aws-3.5.0.jar,/opt/other.jar"},
        {"spark.driver.extraClassPath": "/opt/x.jar:/opt/hadoop-aws-3.5.0.jar"},
    ],
)
def test_a_setting_may_name_the_package(settings: dict[str, str], jars: Path) -> None:
    assert is_on_class_path(AWS, jars, settings)
    assert not is_on_class_path("org.apache.hadoop:hadoop-azure:3.5.0", jars, settings)


def test_folders_are_looked_into(jars: Path, tmp_path: Path) -> None:
    settings = {"spark.driver.extraClassPath": f"{tmp_path}/more/*"}
    assert not is_on_class_path(AWS, jars, settings)
    (tmp_path / "more").mkdir()
    (tmp_path / "more/hadoop-aws-3.5.0.jar").touch()
    assert is_on_class_path(AWS, jars, settings)
    assert not is_on_class_path(AWS, jars, {})
    (jars / "hadoop-aws-3.5.0.jar").touch()
    assert is_on_class_path(AWS, jars, {})


def test_sparks_home_comes_first(jars: Path, tmp_path: Path) -> None:
    assert spark_jars({"SPARK_HOME": str(jars.parent)}) == jars
    assert spark_jars({"SPARK_HOME": str(tmp_path / "none")}) is None
