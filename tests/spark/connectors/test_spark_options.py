"""The options of file formats that we know are those of the newest Spark; an older one refuses what it ignores."""

from pathlib import Path

import pyspark
import pytest
from pyspark.sql import SparkSession

from graph_compiler import Csv, Json, Parquet, StreamExecutionEnvironment
from graph_compiler.declaration.connectors.spark_options import OF_FILES, OF_FORMATS
from graph_compiler.spark_runtime.spark_internals import file_options
from graph_compiler.spark_runtime.spark_internals.file_options import (
    FORMATS,
    NOT_LISTED,
    options_of_all_formats,
    options_of_format,
)
from graph_compiler.tested_versions import SPARK, minor_of
from tests.spark.conftest import RunPipeline

pytestmark = pytest.mark.spark
SINCE = {"timeFormat": "4.2", "sortKeys": "4.2", "explodeEmbeddedArray": "4.3", "ignoredPathSegmentRegex": "4.3"}
"""Names that not all tested versions have."""
HERE = minor_of(pyspark.__version__)
NOT_HERE = {name.lower() for name, since in SINCE.items() if SPARK.minors.index(since) > SPARK.minors.index(HERE)}


def test_all_formats_of_ours_have_a_list() -> None:
    assert set(OF_FORMATS) == FORMATS


@pytest.mark.parametrize("format", sorted(FORMATS))
def test_the_options_of_a_format_are_those_of_spark(format: str, spark: SparkSession) -> None:
    of_spark = {name for name in options_of_format(spark, format) if "." not in name}
    assert {name.lower() for name in OF_FORMATS[format]} - NOT_HERE == of_spark


def test_the_options_of_all_files_are_those_of_spark(spark: SparkSession) -> None:
    assert {name.lower() for name in OF_FILES - NOT_LISTED} - NOT_HERE == options_of_all_formats(spark)


def test_options_that_this_spark_ignores_are_refused_before_a_row_is_read(
    env: StreamExecutionEnvironment, run_pipeline: RunPipeline, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As on an older Spark, whose lists have fewer names; one that is ignored would change rows in silence."""
    lists = file_options._listed
    monkeypatch.setattr(file_options, "_listed", lambda *place: lists(*place) - {"timeformat", "sortkeys"})
    (tmp_path / "in.csv").write_text("x\n1\n")
    read = env.from_source(Csv(f"{tmp_path}/in.csv", options={"timeFormat": "HH:mm", "parquet.x": "1"}), "read")
    read.sink_to(Json(f"{tmp_path}/json", options={"sortKeys": "true", "TimeFormat": "HH", "maxRecordsPerFile": "9"}))
    read.sink_to(Parquet(f"{tmp_path}/out"))
    failure = run_pipeline(env.pipeline())[-1].failure
    assert failure is not None
    assert failure.throwable_type == "NON_RECOVERABLE_ERROR"
    ignored = f"Spark {pyspark.__version__} would ignore options of its"
    assert f"{ignored} csv files: timeFormat\n" in failure.message
    assert f"{ignored} json files: sortKeys, TimeFormat\n" in failure.message
    assert f"hint: with Spark {SPARK.minors[-1]} they have an effect" in failure.message
