"""The plan in a serialized Dag: found again, equal every time, and not in a field that Airflow renders."""

import base64
import bz2
import json
from collections.abc import Callable
from datetime import datetime
from typing import Any

import pytest

from graph_compiler import Csv, Parquet, StreamExecutionEnvironment
from graph_compiler.compiler.pipeline_compiler import compile_pipeline
from graph_compiler.declaration import Pipeline
from graph_compiler.deployment.describe.region_descriptors import describe_pipeline
from graph_compiler.errors import DescriptorError
from graph_compiler.explain.documents.plain_json import plain_json
from graph_compiler.explain.plan.plan_writer import plan_of
from pipelines.flights import env as flights

pytestmark = [
    pytest.mark.airflow,
    pytest.mark.filterwarnings("default"),  # Airflow's own imports warn of much
]


def serialized(pipeline: Pipeline) -> dict[str, Any]:
    from airflow.serialization.serialized_objects import DagSerialization

    from graph_compiler.airflow_backend import build_dag

    dag = build_dag(pipeline, schedule=None, start_date=datetime(2013, 1, 1))
    document = json.loads(json.dumps(DagSerialization.to_dict(dag)))
    assert isinstance(document, dict)
    return document


def test_the_plan_is_found_in_the_serialized_dag() -> None:
    from graph_compiler.airflow_backend.dag.plan_document import find_plans

    compiled = compile_pipeline(flights.pipeline())
    described = describe_pipeline(compiled)
    ((group, found),) = find_plans(serialized(flights.pipeline())).items()
    assert group == ""
    assert found.view == plain_json(plan_of(compiled, described))
    assert found.summary() == plan_of(compiled, described).compared_by


def test_serializing_again_gives_the_same_dag() -> None:
    from airflow.models.serialized_dag import SerializedDagModel

    hashed: Callable[[dict[str, Any]], str] = SerializedDagModel.hash
    one, other = (hashed(serialized(flights.pipeline())) for _ in range(2))
    assert one == other


def test_one_task_carries_the_plan_and_airflow_still_reads_the_dag() -> None:
    from airflow.serialization.serialized_objects import DagSerialization

    from graph_compiler.airflow_backend.dag.plan_document import PLAN_DOCUMENT

    document = serialized(flights.pipeline())
    tasks = [task["__var"] for task in document["dag"]["tasks"]]
    carriers = [task for task in tasks if PLAN_DOCUMENT in task]
    assert [task["task_id"] for task in carriers] == ["with_weather"]
    assert all(PLAN_DOCUMENT not in task["template_fields"] for task in tasks)
    assert carriers[0][PLAN_DOCUMENT].isascii()
    assert sorted(DagSerialization.from_dict(document).task_ids) == ["late_routes", "with_weather"]


def test_foreign_dags_have_no_plan_and_damaged_plans_are_reported() -> None:
    from graph_compiler.airflow_backend.dag.plan_document import find_plans, unpack

    assert find_plans(None) == {}
    assert find_plans({"dag": {"tasks": [{"__var": {"task_id": "by_hand"}}]}}) == {}
    with pytest.raises(DescriptorError, match="cannot be read"):
        unpack("nothing")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (b"[]", "version None"),
        (b'{"version":1}', "cannot be read"),
        (b'{"version":1,"view":[],"compared_by":{}}', "cannot be read"),
        (b"[" * 100_000, "cannot be read"),
        (b" " * 200_000_000, "larger than 33554432 bytes"),
    ],
    ids=["no object", "no plan", "no drawing", "deep", "large"],
)
def test_odd_packed_plans_are_refused(text: bytes, words: str) -> None:
    from graph_compiler.airflow_backend.dag.plan_document import unpack

    with pytest.raises(DescriptorError, match=words):
        unpack(base64.b64encode(bz2.compress(text)).decode())


def test_each_group_of_a_dag_has_its_plan() -> None:
    from airflow.sdk import DAG, task_group
    from airflow.serialization.serialized_objects import DagSerialization

    from graph_compiler.airflow_backend import build_task_group
    from graph_compiler.airflow_backend.dag.plan_document import find_plans, of_group

    env = StreamExecutionEnvironment("p")
    env.from_source(Csv("/in"), "in").sink_to(Parquet("/out"), mode="append").name("out")
    with DAG("many", schedule=None) as dag:
        build_task_group(env)
        build_task_group(flights.pipeline(), "f")

        @task_group
        def each(number: int) -> None:  # noqa: ARG001  # what it is mapped over
            build_task_group(env, "inner")

        each.expand(number=[1, 2])
    found = find_plans(json.loads(json.dumps(DagSerialization.to_dict(dag))))
    assert {group: plan.view["pipeline"] for group, plan in found.items()} == {
        "p": "p",
        "f": "flights",
        "each.inner": "p",
    }
    assert of_group(found, "") is found["p"], "a page that names no group"
    assert of_group(found, "other") is None
