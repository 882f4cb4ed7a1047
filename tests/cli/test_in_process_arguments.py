"""The settings of Spark with which `run --in-process` starts its session."""

from pathlib import Path

import pytest

from graph_compiler import Csv, Parquet, StreamExecutionEnvironment
from graph_compiler.cli.running.embedded_airflow import EmbeddedAirflow
from graph_compiler.cli.running.local_spark import local_settings, submit_arguments
from graph_compiler.compiler.pipeline_compiler import compile_pipeline


def test_a_pipelines_settings_win_over_the_installations(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(
        "AIRFLOW__GRAPH_COMPILER__SPARK_CONF", '{"spark.a": "all", "spark.b": "all"}'
    )
    env = StreamExecutionEnvironment("p", config={"spark.b": "own one", "execution.target": "yarn"})
    env.from_source(Csv("/in"), "in").sink_to(Parquet("/out"))
    assert submit_arguments(
        local_settings(compile_pipeline(env.pipeline()), EmbeddedAirflow(tmp_path))
    ) == ("--master 'local[*]' --conf spark.a=all --conf 'spark.b=own one' pyspark-shell")
