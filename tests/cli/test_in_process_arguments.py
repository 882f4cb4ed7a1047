"""What `run --in-process` starts its session with: settings of Spark, secrets, a day."""

from pathlib import Path

import pytest
from rich.console import Console

from graph_compiler import Csv, Jdbc, Parquet, Secret, StreamExecutionEnvironment
from graph_compiler.cli.arguments.asked_run import Run
from graph_compiler.cli.running.embedded_airflow import EmbeddedAirflow
from graph_compiler.cli.running.in_process_run import run_in_process
from graph_compiler.cli.running.local_spark import (
    SUBMIT_ARGUMENTS,
    local_settings,
    submit_arguments,
    tuned,
    without_damaged_archive,
)
from graph_compiler.compiler.pipeline_compiler import compile_pipeline
from graph_compiler.driver_jvm.class_archive import ArchiveCache, archive_cache
from graph_compiler.driver_jvm.installation import class_path_key, find_installation
from graph_compiler.errors import InvalidPipelineError
from graph_compiler.graphs.compiled_pipeline import CompiledPipeline
from tests.harness.fake_spark import write_java, write_spark

TODAY = "2013-01-02"


def run_of(compiled: CompiledPipeline, project: Path, *, is_dated: bool) -> Run:
    return Run(compiled=compiled, airflow=EmbeddedAirflow(project), day=TODAY, params={}, is_dated=is_dated)


def test_a_pipelines_settings_win_over_the_installations(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AIRFLOW__GRAPH_COMPILER__SPARK_CONF", '{"spark.a": "all", "spark.b": "all"}')
    env = StreamExecutionEnvironment("p", config={"spark.b": "own one", "execution.target": "yarn"})
    env.from_source(Csv("/in"), "in").sink_to(Parquet("/out"))
    assert submit_arguments(local_settings(compile_pipeline(env.pipeline()), EmbeddedAirflow(tmp_path))) == (
        "--master 'local[*]' --conf spark.a=all --conf 'spark.b=own one' pyspark-shell"
    )


def test_every_missing_secret_is_named_before_spark_starts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    login, password, other = Secret("db", "login"), Secret("db"), Secret("other", "token")
    env = StreamExecutionEnvironment("p")
    source = Jdbc("jdbc:x://h/x", table="t", user=login, password=password, options={"token": other})
    rows = env.from_source(source, "orders")
    rows.sink_to(Parquet(f"{tmp_path}/a")).name("a")
    env.from_source(Jdbc("jdbc:x://h/x", table="u", password=password), "more").union(rows).sink_to(
        Parquet(f"{tmp_path}/b")
    ).name("b")
    monkeypatch.setenv(login.variable, "etl")
    monkeypatch.setenv(other.variable, "")
    run = run_of(compile_pipeline(env.pipeline()), tmp_path, is_dated=True)
    with pytest.raises(InvalidPipelineError) as refused:
        run_in_process(run, Console())
    problems = refused.value.problems
    assert [(each.operator, each.message.partition(",")[0]) for each in problems] == [
        ("orders", "it needs Secret(db.password)"),
        ("orders", "it needs Secret(other.token)"),
    ]
    assert problems[0].allowed == f"its value in the environment variable {password.variable}"
    assert "etl" not in str(refused.value)


def reading(path: str) -> CompiledPipeline:
    env = StreamExecutionEnvironment("p", params={"day": "x"})
    env.from_source(Csv(path), "in").sink_to(Parquet("/out"))
    return compile_pipeline(env.pipeline())


@pytest.mark.parametrize(
    ("path", "failure", "is_hinted"),
    [
        ("/in/{{ ds }}.csv", "its input /in/2013-01-02.csv does not exist", True),
        ("/in/{{ run_date }}", "its input /in/2013-01-02 does not exist", True),
        ("/in/{{ ds_nodash }}.csv", "its input /in/20130102.csv does not exist", True),
        ("/in/{% if ds > '2013' %}{{ ds }}{% endif %}", "/in/2013-01-02", True),
        ("/in/{{ ds }}.csv", "its input /other does not exist", False),
        ("/in/2013-01-02", "its input /in/2013-01-02 does not exist", False),
        ("/in/{{ params.ds }}", "its input /in/2013-01-02 does not exist", False),
    ],
)
def test_a_failure_that_names_today_names_the_option_of_the_date(path: str, failure: str, is_hinted: bool) -> None:
    compiled = reading(path.replace("params.ds", "params.day"))
    found = run_of(compiled, Path(), is_dated=False).explained(failure)
    assert (found != failure) is is_hinted
    assert not is_hinted or found.startswith(f"{failure}\n  hint: the day in ")
    assert not is_hinted or "today, since no date is given; --date" in found
    assert run_of(compiled, Path(), is_dated=True).explained(failure) == failure


@pytest.fixture
def host(tmp_path: Path) -> dict[str, str]:
    """Return the environment of a host with a Java and a Spark that consist of the files that are looked at."""
    (tmp_path / "cache").mkdir()
    return {
        "JAVA_HOME": str(write_java(tmp_path / "java")),
        "SPARK_HOME": str(write_spark(tmp_path / "spark")),
        "XDG_CACHE_HOME": str(tmp_path / "cache"),
        "PATH": "/nowhere",
    }


def archive_in(host: dict[str, str]) -> tuple[ArchiveCache, Path]:
    cache, key = archive_cache(host), class_path_key(find_installation(host, spark_submit(host)), host)
    with cache.new_archive(key) as draft:
        assert draft is not None
        draft.file.write_text("classes")
    found = cache.find(key)
    assert found is not None
    return cache, found


def spark_submit(host: dict[str, str]) -> str:
    return f"{host['SPARK_HOME']}/bin/spark-submit"


def test_spark_starts_with_the_class_archive_of_the_host(host: dict[str, str]) -> None:
    _, archive = archive_in(host)
    found = tuned({"spark.a": "1"}, reading("/in"), host)
    assert found.items() >= {"spark.a": "1", "spark.ui.enabled": "false"}.items()
    assert f"-XX:SharedArchiveFile={archive}" in found["spark.driver.defaultJavaOptions"]


def test_without_driver_tuning_spark_starts_as_it_does(host: dict[str, str]) -> None:
    archive_in(host)
    env = StreamExecutionEnvironment("p", config={"execution.driver-tuning": False})
    env.from_source(Csv("/in"), "in").sink_to(Parquet("/out"))
    assert tuned({"spark.a": "1"}, compile_pipeline(env.pipeline()), host) == {"spark.a": "1"}


def test_a_damaged_archive_is_removed_after_a_death(host: dict[str, str]) -> None:
    _, archive = archive_in(host)
    started = host | {SUBMIT_ARGUMENTS: submit_arguments(tuned({}, reading("/in"), host))}
    assert without_damaged_archive(started) == ""
    archive.write_text("cl\0sses")
    assert without_damaged_archive(started) == (
        f"\n  hint: try again: a class archive was damaged, and is removed: {archive}"
    )
    assert not archive.exists()
