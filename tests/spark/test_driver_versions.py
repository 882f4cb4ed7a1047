"""A driver of another Spark than its plan, or its own Python files, need is refused before it reads a row."""

from dataclasses import replace

import pyspark
import pytest
from pyspark.sql import SparkSession

from graph_compiler.compiler.pipeline_compiler import compile_pipeline
from graph_compiler.deployment.describe.local_task import DeskRun, desk_task
from graph_compiler.deployment.describe.region_descriptors import describe_regions
from graph_compiler.deployment.documents.report import ThrowableType
from graph_compiler.spark_runtime.failures.failures import explain_failure
from graph_compiler.spark_runtime.main import session
from graph_compiler.spark_runtime.spark_internals.java import Py4JError, connected_jvm
from graph_compiler.spark_runtime.spark_internals.plans import pattern
from graph_compiler.spark_runtime.spark_internals.versions import SparkVersionError, check_jars, check_pyspark
from graph_compiler.tested_versions import SPARK, minor_of, next_minor
from pipelines.flights import env as flights

pytestmark = pytest.mark.spark
NEWEST = SPARK.minors[-1]


@pytest.mark.parametrize("compiled_for", [None, f"{NEWEST}.0", f"{NEWEST}.9"])
def test_a_plan_of_the_same_minor_runs(compiled_for: str | None) -> None:
    check_pyspark(compiled_for, f"{NEWEST}.1")


def test_a_plan_that_was_compiled_for_another_minor_is_refused() -> None:
    ours = minor_of(pyspark.__version__)
    with pytest.raises(SparkVersionError) as refusal:
        check_pyspark("4.90.2")
    assert str(refusal.value).splitlines() == [
        f"this plan was compiled for Spark 4.90, and the driver has {pyspark.__version__}",
        f'  hint: where Airflow parses Dags: pip install "pyspark>={ours},<{next_minor(ours)}"; '
        "or let SPARK_HOME and PATH of the driver lead to Spark 4.90",
    ]


def test_a_pyspark_that_another_package_has_overwritten_is_named_before_the_minor() -> None:
    """As pip installs the Spark provider: the hint for another minor would lead to another mixture."""
    with pytest.raises(SparkVersionError) as refusal:
        check_pyspark(pyspark.__version__, "4.91.0")
    assert f"jars are those of Spark {pyspark.__version__}, its Python files those of 4.91.0\n" in str(refusal.value)
    assert f'--no-deps "pyspark=={pyspark.__version__}"' in str(refusal.value)


@pytest.mark.parametrize("found", ["3.5.9", "4.0.5"])
def test_a_spark_that_is_too_old_is_refused_with_the_reason(found: str) -> None:
    with pytest.raises(SparkVersionError, match="type TIME.*\n  hint: pip install") as refusal:
        check_pyspark(None, found)
    assert explain_failure(refusal.value).throwable_type is ThrowableType.NON_RECOVERABLE_ERROR


def test_a_spark_that_is_not_tested_is_a_line_in_the_log(caplog: pytest.LogCaptureFixture) -> None:
    check_pyspark(None, "4.99.0")
    assert "Spark 4.99.0 is not tested with this version of graph_compiler" in caplog.text


def test_jars_have_the_version_of_the_python_files(spark: SparkSession) -> None:
    check_jars(spark)
    check_jars(spark, f"{pyspark.__version__}+vendor.7")
    with pytest.raises(
        SparkVersionError, match="its Python files those of 4\\.2\\.99\n  hint: pyspark-client"
    ) as refusal:
        check_jars(spark, "4.2.99")
    assert f"pyspark=={spark.version}" in str(refusal.value)


def test_a_call_that_this_spark_does_not_have_is_not_retried(spark: SparkSession) -> None:
    java = connected_jvm().org.apache.spark.sql.classic.SparkSession

    def method() -> object:
        return spark._jsparkSession.noSuchMethod(1)

    def constructor() -> object:
        return java("one", "two")

    for call in (lambda: pattern(spark, "NO_SUCH_PATTERN"), method, constructor):
        with pytest.raises(Py4JError) as raised:
            call()
        failure = explain_failure(raised.value)
        assert failure.throwable_type is ThrowableType.NON_RECOVERABLE_ERROR
        assert f"Spark {pyspark.__version__} does not have what this package calls" in failure.message
        assert f"tested with Spark {SPARK.range}" in failure.message


def test_a_descriptor_names_the_pyspark_it_was_compiled_with_and_a_driver_compares_it() -> None:
    (region, *_) = describe_regions(compile_pipeline(flights.pipeline()))
    run = DeskRun(day="2013-01-01", params=dict(flights.pipeline().params), run_id="r", staging_root="/staging")
    task = desk_task(region, run, execution_id="e")
    assert task.compiled_for == pyspark.__version__
    with pytest.raises(SparkVersionError, match="compiled for Spark 4.90"):
        session(replace(task, compiled_for="4.90.0"))


def test_the_tests_run_on_a_spark_of_the_table() -> None:
    assert minor_of(pyspark.__version__) in SPARK.minors
