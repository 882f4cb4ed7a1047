"""A run whose pipeline was edited meanwhile: a task's inputs are unchanged, or the changes are reported."""

from dataclasses import replace
from pathlib import Path

import pytest

from graph_compiler import Csv, Parquet, StreamExecutionEnvironment
from graph_compiler.compiler.pipeline_compiler import compile_pipeline
from graph_compiler.deployment.describe.region_descriptors import PipelineDescriptor, describe_pipeline
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
from graph_compiler.deployment.documents.wire import values_within
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
    date = "2013-01-01T00:00:00+00:00"
    assert f"airflow tasks clear -y -d -s {date} -e {date} -t '^(kept)$' p" in message
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
