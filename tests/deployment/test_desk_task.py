"""Without Airflow, templates can use the day, the run and the parameters; anything else is reported."""

import pytest

from graph_compiler import Csv, Parquet, StreamExecutionEnvironment
from graph_compiler.compiler.pipeline_compiler import compile_pipeline
from graph_compiler.deployment.describe.local_task import DeskRun, RenderingError, desk_task
from graph_compiler.deployment.describe.region_descriptors import describe_regions
from graph_compiler.deployment.describe.templates import find_places
from graph_compiler.deployment.documents.descriptor import TaskDeploymentDescriptor


def task(path: str) -> TaskDeploymentDescriptor:
    env = StreamExecutionEnvironment("sales", params={"base": "/data"})
    env.from_source(Csv(path), "in").sink_to(Parquet("/out")).name("out")
    (region,) = describe_regions(compile_pipeline(env.pipeline()))
    run = DeskRun(day="2013-01-02", params={"base": "/data"}, run_id="r1", staging_root="/staging")
    return desk_task(region, run, execution_id="e1", attempt_number=2)


def test_places_are_rendered_and_other_values_unchanged() -> None:
    made = task("{{ params.base }}/{{ run_date }}/{{ ds }}/{{ ds_nodash }}/{{ run_id }}")
    assert find_places([made.region])["in.path"] == "/data/2013-01-02/2013-01-02/20130102/r1"
    assert made.parameters == (("run_date", "2013-01-02"), ("base", "/data"))
    assert (made.attempt.attempt_number, made.layout.root) == (2, "/staging")


@pytest.mark.parametrize("template", ["{{ macros.random() }}", "{{ ti.try_number }}", "{{ ds"])
def test_variables_known_only_in_a_run_are_refused(template: str) -> None:
    with pytest.raises(RenderingError, match="cannot be rendered without a run") as refused:
        task(template)
    assert "allowed: params, run_date, ds, ds_nodash, run_id" in str(refused.value)
