"""What a pipeline asks of an Airflow that does not have it is refused, with the version that has it."""

import pytest

from graph_compiler import AirflowArguments, Csv, Parquet, StreamExecutionEnvironment
from graph_compiler.compiler.pipeline_compiler import compile_pipeline
from graph_compiler.deployment.describe.airflow_versions import missing_abilities
from graph_compiler.graphs.compiled_pipeline import CompiledPipeline

OLD = "3.2.2"


def compiled(**config: str) -> CompiledPipeline:
    env = StreamExecutionEnvironment("p", config={key.replace("_", "-"): value for key, value in config.items()})
    env.from_source(Csv("/in"), "in").sink_to(Parquet("/out")).name("out")
    return compile_pipeline(env.pipeline())


@pytest.mark.parametrize(
    ("config", "words"),
    [
        ({"restart-strategy.type": "failure-rate"}, "restart-strategy.type is failure-rate, and Airflow 3.2.2 has no"),
        ({"restart-strategy.type": "exponential-delay"}, "restart-strategy.type is exponential-delay"),
        ({"execution.deferrable": "true"}, "a trigger cannot end what it waits for"),
    ],
)
def test_options_that_need_a_newer_airflow_are_refused(config: dict[str, str], words: str) -> None:
    (problem,) = missing_abilities(compiled(**config).options, AirflowArguments(), OLD)
    assert words in problem.message
    assert problem.hint == "use Airflow 3.3"


def test_arguments_that_need_a_newer_airflow_are_refused() -> None:
    given = AirflowArguments(
        dag={"rerun_with_latest_version": True, "tags": ["a"]},
        default_args={"retry_policy": 1, "retries": 2},
        group_args={"default": {"retry_policy": 1}},
        task_args={"out": {"retry_policy": 1}, "wrong": ["retry_policy"]},  # type: ignore[dict-item]
    )
    found = [problem.message for problem in missing_abilities(compiled().options, given, OLD)]
    assert found == [
        "airflow.dag has 'rerun_with_latest_version', which Airflow 3.2.2 does not have",
        "default_args has 'retry_policy', which Airflow 3.2.2 does not have",
        "group_args['default'] has 'retry_policy', which Airflow 3.2.2 does not have",
        "task_args['out'] has 'retry_policy', which Airflow 3.2.2 does not have",
    ]


@pytest.mark.parametrize("found", ["3.3.0", "3.3.2", "3.10.0", "4.0.0"])
def test_a_newer_airflow_has_all(found: str) -> None:
    given = AirflowArguments(dag={"rerun_with_latest_version": True}, default_args={"retry_policy": 1})
    config = {"restart-strategy.type": "failure-rate", "execution.deferrable": "true"}
    assert list(missing_abilities(compiled(**config).options, given, found)) == []


@pytest.mark.parametrize(
    "config",
    [
        {},
        {"restart-strategy.type": "fixed-delay"},
        {"restart-strategy.type": "none"},
        {"execution.deferrable": "false"},
    ],
)
def test_what_the_oldest_airflow_has_is_not_refused(config: dict[str, str]) -> None:
    assert list(missing_abilities(compiled(**config).options, AirflowArguments(), OLD)) == []
