"""A runner for whole pipelines in the one Spark session of all in-process tests (the kit's fixture `spark`)."""

import itertools
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from graph_compiler.compiler.pipeline_compiler import compile_pipeline
from graph_compiler.declaration import Pipeline
from graph_compiler.declaration.parameters.parameter import RUN_DATE, ParameterValue
from graph_compiler.deployment.describe.region_descriptors import describe_regions
from graph_compiler.deployment.describe.templates import fill_places, find_places
from graph_compiler.deployment.documents.descriptor import (
    VERSION,
    ExecutionAttempt,
    RegionDescriptor,
    TaskDeploymentDescriptor,
)
from graph_compiler.deployment.documents.report import ExecutionReport
from graph_compiler.deployment.documents.run_identity import RunIdentity
from graph_compiler.spark_runtime.main import execute
from tests.harness.judged_columns import columns_are_judged_rightly
from tests.harness.postgres import JAR, Postgres, running_postgres
from tests.harness.shown_log import shown_log
from tests.harness.sinks import Sinks

Execute = Callable[[RegionDescriptor], ExecutionReport]
RunPipeline = Callable[..., list[ExecutionReport]]
__all__ = ["columns_are_judged_rightly"]


@pytest.fixture(autouse=True)
def _log_is_printed() -> Iterator[None]:
    """Print the runtime's log where its programs print it."""
    with shown_log():
        yield


@pytest.fixture(scope="module")
def server(spark: SparkSession) -> Iterator[Postgres]:
    """Start a PostgreSQL server for a module, whose driver Spark has."""
    with running_postgres() as server:
        spark.sql(f"ADD JAR {JAR}")
        yield server


@pytest.fixture
def run_pipeline(spark: SparkSession, tmp_path: Path) -> RunPipeline:
    """Run every region of a pipeline in order, each through its descriptor's JSON, until one fails."""
    numbers = itertools.count()

    def run(pipeline: Pipeline, params: Mapping[str, ParameterValue] | None = None) -> list[ExecutionReport]:
        params = {RUN_DATE: "2013-01-01", **dict(pipeline.params), **(params or {})}
        reports = []
        for region in describe_regions(compile_pipeline(pipeline)):
            (filled,) = fill_places([region], _rendered(find_places([region]), params))
            task = TaskDeploymentDescriptor(
                version=VERSION,
                identity=RunIdentity.own(region.pipeline, "run"),
                region=filled,
                attempt=ExecutionAttempt(execution_id=f"e{next(numbers)}", attempt_number=0),
                staging_root=str(tmp_path / "staging"),
                parameters=tuple(params.items()),
            )
            reports.append(execute(TaskDeploymentDescriptor.from_json(task.to_json()), spark))
            if reports[-1].failure is not None:
                break
        return reports

    return run


@pytest.fixture
def sinks(spark: SparkSession, tmp_path: Path) -> Sinks:
    """Write sinks without a pipeline, one execution after the other."""
    return Sinks(spark, tmp_path / "staging")


def _rendered(places: Mapping[str, str], params: Mapping[str, ParameterValue]) -> dict[str, str]:
    rendered = {}
    for key, text in places.items():
        for name, value in params.items():
            text = text.replace(f"{{{{ params.{name} }}}}", str(value))  # noqa: PLW2901
        rendered[key] = text
    return rendered
