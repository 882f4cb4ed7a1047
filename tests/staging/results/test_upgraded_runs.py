"""Runs of earlier versions, which continue after an upgrade: `clean` and `by_region` finished, `large_orders` failed.

`tests/golden/staging_roots` has what each version left:
one_region_a_task    each region was a task; both reports are one task now
shared_task          both reports shared a task, before pipelines could be task groups in other Dags

Their fingerprints and ids of plans are those of now: theirs contained Spark's version, and such runs are refused
(`test_a_run_whose_fingerprints_had_the_version_of_spark_is_refused`).
"""

import json
import shutil
from dataclasses import replace
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

import pytest

from graph_compiler.cli.commands.history import run_history
from graph_compiler.compiler.pipeline_compiler import compile_pipeline
from graph_compiler.declaration.pipeline import Pipeline
from graph_compiler.deployment.describe.region_descriptors import PipelineDescriptor, describe_pipeline
from graph_compiler.deployment.describe.templates import fill_places, find_places
from graph_compiler.deployment.documents.computed_by import NOT_RECORDED, ComputedBy, why_other_code
from graph_compiler.deployment.documents.descriptor import ExecutionAttempt, TaskDeploymentDescriptor
from graph_compiler.deployment.documents.run_identity import RunIdentity
from graph_compiler.deployment.documents.staging_layout import StagingLayout
from graph_compiler.errors import StaleResultError
from graph_compiler.graphs.execution import ExecutionState
from graph_compiler.identifiers import RegionId, TaskName
from graph_compiler.staging.attempts.attempts import count_attempts, last_descriptor
from graph_compiler.staging.attempts.execution_order import begin
from graph_compiler.staging.gc.survey import survey_run
from graph_compiler.staging.results.kept_regions import kept_execution
from graph_compiler.staging.results.manifest_log import ManifestLog
from graph_compiler.staging.results.plan_log import check_inputs
from graph_compiler.staging.store.local_store import LocalStore

ROOTS = Path(__file__).parents[2] / "golden" / "staging_roots"
BEFORE = {"one_region_a_task": "in_process__2024-01-01", "shared_task": "manual__2026-11-25T09:11:01.210045+00:00"}
"""Each version, and the id of its run."""
CLEAN, BY_REGION, LARGE = map(RegionId, ("clean", "by_region", "large_orders"))
STORE = LocalStore()


@pytest.fixture(params=BEFORE)
def layout(tmp_path: Path, request: pytest.FixtureRequest) -> StagingLayout:
    root = tmp_path / "root"
    shutil.copytree(ROOTS / request.param / "root", root)
    for file in root.rglob("*.json"):
        text = file.read_text().replace("@ROOT@", str(root)).replace("@FOLDER@", str(tmp_path))
        file.write_text(text)
    layout = StagingLayout(root=str(root), identity=RunIdentity.own("reports", BEFORE[request.param]))
    (ledger,) = (root / ".targets").iterdir()  # its name follows from the path of the target
    ledger.rename(layout.publications(str(tmp_path / "out" / "by_region")))
    return layout


def pipeline() -> Pipeline:
    spec = spec_from_file_location("reports_before", ROOTS / "one_region_a_task" / "reports.py")
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    found = module.env.pipeline()
    assert isinstance(found, Pipeline)
    return found


@pytest.fixture
def described() -> PipelineDescriptor:
    """Return the pipeline as it is deployed now."""
    return describe_pipeline(compile_pipeline(pipeline()))


def published(layout: StagingLayout) -> Path:
    """Return the file of by_region's target, with its folder."""
    (intent,) = Path(layout.root, ".targets").glob("*/0.intent.json")
    found = json.loads(intent.read_text())
    (name,) = found["add"]
    file = Path(found["target"], name)
    file.parent.mkdir(parents=True, exist_ok=True)
    return file


def next_try(described: PipelineDescriptor, layout: StagingLayout, name: str) -> list[TaskDeploymentDescriptor]:
    before = last_descriptor(STORE, layout, CLEAN)
    assert before is not None
    regions = described.tasks()[TaskName(name)]
    folder = str(Path(layout.root).parent)
    places = {key: text.replace("{{ params.folder }}", folder) for key, text in find_places(regions).items()}
    return [
        replace(
            before,
            region=region,
            try_number=None if before.try_number is None else before.try_number + 1,
            attempt=ExecutionAttempt(
                execution_id="after", attempt_number=count_attempts(STORE, layout, region.region_id)
            ),
        )
        for region in fill_places(regions, places)
    ]


def test_both_reports_are_one_task_now_and_the_plan_is_the_same(
    described: PipelineDescriptor, layout: StagingLayout
) -> None:
    assert {name: [each.region_id for each in regions] for name, regions in described.tasks().items()} == {
        "clean": ["clean"],
        "by_region": ["by_region", "large_orders"],
    }
    before = last_descriptor(STORE, layout, BY_REGION)
    assert before is not None
    assert before.region.plan_id == described.plan.plan_id
    assert before.region.task_name == "by_region"


def test_attempts_of_before_are_read(layout: StagingLayout) -> None:
    states = {id: [one.state for one in found.attempts] for id, found in run_history(layout).items()}
    assert states == {
        CLEAN: [ExecutionState.FINISHED],
        BY_REGION: [ExecutionState.FINISHED],
        LARGE: [ExecutionState.FAILED],
    }
    run = survey_run(STORE, layout)
    assert run.facts.failed == (LARGE,)
    assert run.facts.unreadable is None


def test_the_task_finds_what_the_tasks_before_have_finished(
    described: PipelineDescriptor, layout: StagingLayout
) -> None:
    published(layout).write_bytes(b"rows")
    tasks = next_try(described, layout, "by_region")
    for task in tasks:
        assert begin(STORE, task)
    kept = [kept_execution(STORE, task, tasks) for task in tasks]
    assert [None if one is None else one.attempt_number for one in kept] == [0, None]
    assert [task.attempt.attempt_number for task in tasks] == [1, 1]


def test_its_driver_computes_it_again_because_another_version_has_computed_it(
    described: PipelineDescriptor, layout: StagingLayout
) -> None:
    """A record could not help: the upgrade has changed the code."""
    published(layout).write_bytes(b"rows")
    tasks = next_try(described, layout, "by_region")
    found = kept_execution(STORE, tasks[0], tasks)
    assert found is not None
    assert found.report is not None
    assert why_other_code(found.report.computed_by, ComputedBy(parts=())) == NOT_RECORDED


def test_its_inputs_are_those_of_the_plan(described: PipelineDescriptor, layout: StagingLayout) -> None:
    log = ManifestLog(store=STORE, layout=layout)
    for task in next_try(described, layout, "by_region"):
        check_inputs(log, task, described.plan, own={BY_REGION, LARGE})
        (read,) = (result for region in described.regions for result in region.results)
        assert log.latest(read.id) is not None


def test_what_somebody_has_removed_from_a_target_is_published_again(
    described: PipelineDescriptor, layout: StagingLayout
) -> None:
    tasks = next_try(described, layout, "by_region")
    published(layout).write_bytes(b"rows")
    assert kept_execution(STORE, tasks[0], tasks) is not None
    published(layout).unlink()
    assert kept_execution(STORE, tasks[0], tasks) is None


def test_a_run_whose_fingerprints_had_the_version_of_spark_is_refused(
    described: PipelineDescriptor, layout: StagingLayout
) -> None:
    """The plan as it was recorded then names what has changed."""
    (read,) = (result for region in described.regions for result in region.results)
    (record,) = Path(layout.run, "plans").iterdir()
    for file in (record, Path(layout.manifest(read.id, 0))):
        text = file.read_text().replace(read.fingerprint, "5745620926").replace(described.plan.plan_id, "be6c344bf1")
        document = json.loads(text)
        if file == record:
            document["session"].append(["spark.version", "4.3.0"])
            record.unlink()
        kept = record.with_name("be6c344bf1.json") if file == record else file
        kept.write_text(json.dumps(document))
    log = ManifestLog(store=STORE, layout=layout)
    (task, *_) = next_try(described, layout, "by_region")
    with pytest.raises(StaleResultError) as refusal:
        check_inputs(log, task, described.plan, own={BY_REGION, LARGE})
    _, _, changed, hint, _ = str(refusal.value).splitlines()
    assert changed == "  settings: spark.version"
    assert "clear" in hint
