"""A run whose pipeline was edited meanwhile: a task's inputs are unchanged, or the changes are reported."""

from dataclasses import replace
from pathlib import Path

import pytest

from graph_compiler import Csv, Parquet, StreamExecutionEnvironment
from graph_compiler.compiler.pipeline_compiler import compile_pipeline
from graph_compiler.declaration.parameters.parameter import ParameterValue
from graph_compiler.deployment.describe.local_task import DeskRun, desk_task
from graph_compiler.deployment.describe.region_descriptors import PipelineDescriptor, describe_pipeline
from graph_compiler.deployment.describe.templates import fill_places, find_places
from graph_compiler.deployment.documents.descriptor import (
    VERSION,
    ExecutionAttempt,
    StagedInput,
    TaskDeploymentDescriptor,
)
from graph_compiler.deployment.documents.manifest import VERSION as MANIFEST_VERSION
from graph_compiler.deployment.documents.manifest import Manifest
from graph_compiler.deployment.documents.run_identity import RunIdentity
from graph_compiler.deployment.documents.staging_layout import StagingLayout
from graph_compiler.deployment.documents.wire import to_json, values_within
from graph_compiler.deployment.plans.plan_record import what_changed
from graph_compiler.errors import StaleResultError
from graph_compiler.identifiers import RegionId
from graph_compiler.staging.results.manifest_log import ManifestLog
from graph_compiler.staging.results.plan_log import check_inputs, find_plan, record_plan
from graph_compiler.staging.store.local_store import LocalStore

OUT = RegionId("out")


def described(kept: str = "v > 1", counted: str = "count(*)", extra: str | None = None) -> PipelineDescriptor:
    """in → kept [→ extra] ║ counts → out, and beside them other → other_out."""
    env = StreamExecutionEnvironment("p")
    rows = env.from_source(Csv("/in"), "in").filter(kept).name("kept")
    if extra:
        rows = rows.filter(extra).name("extra")
    rows.stage("dear").key_by("k").aggregate(n=counted).name("counts").sink_to(Parquet("/out")).name("out")
    env.from_source(Csv("/other"), "other").sink_to(Parquet("/other_out")).name("other_out")
    return describe_pipeline(compile_pipeline(env.pipeline()))


def task(pipeline: PipelineDescriptor, name: str) -> TaskDeploymentDescriptor:
    (found,) = [one for one in pipeline.regions if one.region_id.startswith(name)]
    return TaskDeploymentDescriptor(
        version=VERSION,
        identity=RunIdentity.own(found.pipeline, "r"),
        region=found,
        attempt=ExecutionAttempt(execution_id="now", attempt_number=0),
        staging_root="/root",
        parameters=(),
        logical_date="2013-01-01T00:00:00+00:00",
    )


@pytest.fixture
def log(tmp_path: Path) -> ManifestLog:
    layout = StagingLayout(root=str(tmp_path), identity=RunIdentity.own("p", "r"))
    return ManifestLog(store=LocalStore(), layout=layout)


def run_producer(pipeline: PipelineDescriptor, log: ManifestLog) -> None:
    record_plan(log.store, log.layout, pipeline.plan)
    (producer,) = [one for one in pipeline.regions if one.results]
    (result,) = producer.results
    attempt = ExecutionAttempt(execution_id="e", attempt_number=0)
    ran = replace(task(pipeline, producer.region_id), attempt=attempt)
    key = log.layout.descriptor(producer.region_id, attempt.execution_id)
    log.store.put_if_absent(key, ran.to_json().encode())
    log.commit(
        Manifest(
            version=MANIFEST_VERSION,
            result_id=result.id,
            epoch=0,
            parent_epoch=None,
            attempt=attempt,
            plan_id=pipeline.plan.plan_id,
            fingerprint=result.fingerprint,
            location="/nowhere",
            schema="{}",
            partitions=(),
            checksum=None,
            contracts=(),
        )
    )


def test_a_plan_is_recorded_once_and_found_again(log: ManifestLog) -> None:
    plan = described().plan
    record_plan(log.store, log.layout, plan)
    record_plan(log.store, log.layout, plan)
    assert find_plan(log.store, log.layout, plan.plan_id) == plan
    assert find_plan(log.store, log.layout, "another") is None


def test_a_task_continues_if_its_inputs_are_unchanged(log: ManifestLog) -> None:
    run_producer(described(), log)
    edited = described(counted="count(v)")
    check_inputs(log, task(edited, "out"), edited.plan, own={OUT})


def test_changed_inputs_are_refused_with_plans_operators_and_fixes(log: ManifestLog) -> None:
    before, now = described(), described(kept="v > 2")
    run_producer(before, log)
    with pytest.raises(StaleResultError) as stale:
        check_inputs(log, task(now, "out"), now.plan, own={OUT})
    message = str(stale.value)
    assert f"ran plan {before.plan.plan_id} (attempt 1), this one is of plan {now.plan.plan_id}" in message
    assert "\n  changed: kept\n" in message
    assert "either run what has changed again: in Airflow's UI, clear kept of run" in message
    assert f"or deploy the version of plan {before.plan.plan_id} again" in message


def test_only_added_and_removed_operators_are_named() -> None:
    before, now = described(), described(counted="count(v)", extra="k <> 'x'")
    (old, _), (new, _) = before.plan.results[0], now.plan.results[0]
    assert what_changed(before.plan, now.plan, [old], new) == ("added: extra",)
    assert what_changed(now.plan, before.plan, [new], old) == ("removed: extra",)
    assert what_changed(now.plan, now.plan, [new], new) == ()


def test_an_added_operator_is_named_though_it_changes_ids(log: ManifestLog) -> None:
    before, now = described(), described(extra="k <> 'x'")
    run_producer(before, log)
    with pytest.raises(StaleResultError, match="added: extra"):
        check_inputs(log, task(now, "out"), now.plan, own={OUT})


def test_uncommitted_results_are_not_compared(log: ManifestLog) -> None:
    now = described()
    check_inputs(log, task(now, "out"), now.plan, own={OUT})


def test_results_a_task_stages_for_itself_are_not_compared(log: ManifestLog) -> None:
    """Otherwise no edit of it could ever run, since the task to clear would be this one."""
    before, now = described(), described(kept="v > 2")
    run_producer(before, log)
    reader = task(now, "out")
    check_inputs(log, reader, now.plan, own={OUT, producer_of(reader)})


def producer_of(reader: TaskDeploymentDescriptor) -> RegionId:
    (producer,) = {staged.producer for staged in values_within(reader.region, StagedInput)}
    return producer


def with_values() -> PipelineDescriptor:
    """in ║ out, whose staged rows depend on two parameters."""
    env = StreamExecutionEnvironment("p", params={"late": 1, "folder": "x", "unit": "km"})
    rows = env.from_source(Csv("/in/{{ params.folder }}"), "in").filter("v > :late").name("kept").stage("dear")
    rows.with_columns(unit=":unit").sink_to(Parquet("/out")).name("out")
    return describe_pipeline(compile_pipeline(env.pipeline()))


def in_run(pipeline: PipelineDescriptor, name: str, **values: ParameterValue) -> TaskDeploymentDescriptor:
    run = DeskRun(day="2024-01-01", params=values, run_id="r", staging_root="/root")
    (region,) = [one for one in pipeline.regions if one.region_id.startswith(name)]
    return desk_task(region, run, execution_id="e")


def commit(log: ManifestLog, task: TaskDeploymentDescriptor, **more: object) -> None:
    (result,) = task.region.results
    values = {"values": result.values.digests(task.parameters)} | more
    log.commit(
        Manifest(
            version=MANIFEST_VERSION,
            result_id=result.id,
            epoch=log.next_epoch(result.id),
            parent_epoch=None,
            attempt=task.attempt,
            plan_id=task.region.plan_id,
            fingerprint=result.fingerprint,
            location="/nowhere",
            schema="{}",
            partitions=(),
            checksum=None,
            contracts=(),
            **values,  # type: ignore[arg-type]
        )
    )


BEFORE: dict[str, ParameterValue] = {"late": 1, "folder": "x", "unit": "km"}


@pytest.mark.parametrize(
    ("now", "others"),
    [
        ({}, None),
        ({"unit": "mi"}, None),
        ({"late": 5}, ":late"),
        ({"folder": "y"}, ":folder"),
        ({"late": 5, "folder": "y"}, ":folder and :late"),
    ],
)
def test_a_result_that_was_computed_with_other_values_is_refused(
    log: ManifestLog, now: dict[str, ParameterValue], others: str | None
) -> None:
    pipeline = with_values()
    commit(log, in_run(pipeline, "kept", **BEFORE))
    reader = in_run(pipeline, "out", **{**BEFORE, **now})
    if others is None:
        check_inputs(log, reader, pipeline.plan, own={OUT})
        return
    with pytest.raises(StaleResultError, match=f"another value of {others}\n.* clear kept "):
        check_inputs(log, reader, pipeline.plan, own={OUT})


def test_values_of_a_result_without_a_commit_are_those_of_its_task(log: ManifestLog) -> None:
    pipeline = with_values()
    producer = in_run(pipeline, "kept", **BEFORE)
    key = log.layout.descriptor(producer.region.region_id, "e")
    log.store.put_if_absent(key, producer.to_json().encode())
    check_inputs(log, in_run(pipeline, "out", **BEFORE), pipeline.plan, own={OUT})
    with pytest.raises(StaleResultError, match="another value of :late\n"):
        check_inputs(log, in_run(pipeline, "out", **{**BEFORE, "late": 5}), pipeline.plan, own={OUT})


def test_a_commit_of_an_earlier_version_has_no_values(log: ManifestLog) -> None:
    pipeline = with_values()
    commit(log, in_run(pipeline, "kept", **BEFORE), values=())
    assert '"values"' not in to_json(log.latest(pipeline.regions[0].results[0].id))
    check_inputs(log, in_run(pipeline, "out", **{**BEFORE, "late": 5}), pipeline.plan, own={OUT})


@pytest.mark.parametrize(
    ("text", "parameters", "is_place"),
    [
        ("/in/{{ params.a }}/{{ params['b'] }}", ("a", "b"), False),
        ("/in/{{ params.a | upper }}/{{ ds }}", ("a",), False),
        ("/in/params.a/var.value.x", (), False),
        ("/in/{{ ti.try_number }}/{{ run_date }}", (), False),
        ("/in/{{ var.value.folder }}", (), True),
        ("/in/{{ ti.xcom_pull(task_ids='before') }}", (), True),
        ("/in/{{ dag_run.conf['x'] }}", (), True),
        ("/in/{{ ti.xcom_pull('x') }}", (), False),
        ("/in/{{ var.value.folder }}/{{ ti.try_number }}", (), False),
        ("/in/{{ var.value.folder }}/{{ macros.datetime.now() }}", (), False),
    ],
)
def test_places_depend_on_what_may_be_edited(text: str, parameters: tuple[str, ...], is_place: bool) -> None:
    env = StreamExecutionEnvironment("p", params={"a": 1, "b": 2})
    rows = env.from_source(Csv(text), "in").filter("v > 1").name("kept").stage("dear")
    counts = rows.filter("v > 2").name("more").stage("dear, too")
    counts.sink_to(Parquet("/out")).name("out")
    kept, more, out = describe_pipeline(compile_pipeline(env.pipeline())).regions
    (result,) = kept.results
    assert result.values.parameters == parameters
    assert result.values.places == ((("in.path", text),) if is_place else ())
    assert {staged.values for staged in values_within(out, StagedInput)} == {result.values}
    assert more.results[0].values == result.values
    filled = fill_places([out], {key: f"/rendered/{key}" for key in find_places([out])})
    (staged,) = values_within(filled, StagedInput)
    assert staged.values.places == ((("in.path", "/rendered/in.path (staged)"),) if is_place else ())
    assert staged.values.digests(()) != result.values.digests(()) or not is_place
