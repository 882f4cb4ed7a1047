"""Staging roots as runs leave them, built without Spark: first ║ second ║ out, `first` staged and then `second`."""

import json
import os
from dataclasses import dataclass
from pathlib import Path

from graph_compiler import Csv, Parquet, StreamExecutionEnvironment
from graph_compiler.compiler.pipeline_compiler import compile_pipeline
from graph_compiler.deployment.describe.region_descriptors import describe_regions
from graph_compiler.deployment.documents.descriptor import (
    VERSION,
    ExecutionAttempt,
    RegionDescriptor,
    TaskDeploymentDescriptor,
)
from graph_compiler.deployment.documents.manifest import VERSION as MANIFEST_VERSION
from graph_compiler.deployment.documents.manifest import DataFile, Manifest, ManifestPartition
from graph_compiler.deployment.documents.report import Outcome
from graph_compiler.deployment.documents.run_identity import RunIdentity
from graph_compiler.deployment.documents.staging_layout import INTENT, OUTCOME, REMOVED, StagingLayout
from graph_compiler.deployment.documents.wire import to_json
from graph_compiler.graphs.execution import ExecutionState
from graph_compiler.identifiers import IntermediateDataSetId, OperatorId, RegionId, path_segment
from graph_compiler.staging.publications.preparations import PlaceKind, Preparation, PreparedPlace, beside
from graph_compiler.staging.publications.publications import Publication
from graph_compiler.staging.results.release import ReleasedResult
from graph_compiler.staging.store.local_store import LocalStore
from tests.conftest import mark

SINK = OperatorId("ab" * 16)
STORE = LocalStore()


def three_regions() -> tuple[RegionDescriptor, ...]:
    env = StreamExecutionEnvironment("p")
    rows = env.from_source(Csv("/in"), "in").name("first").stage("dear")
    rows.filter("v > 0").name("second").stage("dear").filter("v > 1").name("kept").sink_to(Parquet("/out")).name("out")
    return describe_regions(compile_pipeline(env.pipeline()))


REGIONS = {str(region.region_id): region for region in three_regions()}
FIRST, SECOND, OUT = REGIONS


@dataclass(frozen=True)
class Run:
    """One run's folder."""

    root: Path
    run_id: str = "run 1"
    dag_id: str = "p"
    group_path: str = ""
    map_index: int = -1
    logical_date: str | None = None

    @property
    def identity(self) -> RunIdentity:
        return RunIdentity(
            dag_id=self.dag_id, group_path=self.group_path, pipeline="p", run_id=self.run_id, map_index=self.map_index
        )

    @property
    def layout(self) -> StagingLayout:
        return StagingLayout(root=str(self.root), identity=self.identity)

    @property
    def path(self) -> Path:
        return Path(self.layout.run)

    def result(self, region: str) -> IntermediateDataSetId:
        return REGIONS[region].results[0].id

    def begin(self, region: str, execution: str) -> Path:
        """Write the descriptor of an attempt, and the marker."""
        task = TaskDeploymentDescriptor(
            version=VERSION,
            identity=self.identity,
            region=REGIONS[region],
            attempt=ExecutionAttempt(execution_id=execution, attempt_number=0),
            staging_root=str(self.root),
            parameters=(),
            logical_date=self.logical_date,
        )
        path = Path(self.layout.descriptor(RegionId(region), execution))
        path.parent.mkdir(parents=True)
        path.write_text(task.to_json())
        mark(task)
        return path.parent

    def end(self, region: str, execution: str, state: ExecutionState = ExecutionState.FINISHED) -> None:
        reason = None if state is ExecutionState.FINISHED else "broken"
        self.begin(region, execution).joinpath(OUTCOME).write_text(
            to_json(Outcome(state=state, ended=1.0, reason=reason))
        )

    def data(self, owner: str, epoch: int, execution: str) -> Path:
        folder = Path(self.layout.data(IntermediateDataSetId(owner), epoch=epoch, execution_id=execution))
        folder.mkdir(parents=True)
        (folder / "part-0.parquet").write_text("rows")
        return folder

    def commit(self, owner: str, epoch: int, execution: str) -> Path:
        """Write data with its manifest; `owner` is a result's id."""
        folder = self.data(owner, epoch, execution)
        file = DataFile(name="part-0.parquet", rows=3, bytes=4)
        manifest = Manifest(
            version=MANIFEST_VERSION,
            result_id=IntermediateDataSetId(owner),
            epoch=epoch,
            parent_epoch=None,
            attempt=ExecutionAttempt(execution_id=execution, attempt_number=0),
            plan_id="plan",
            fingerprint="f",
            location=str(folder),
            schema="{}",
            partitions=(ManifestPartition(index=0, files=(file,)),),
            checksum=None,
            contracts=(),
        )
        key = self.layout.manifest(IntermediateDataSetId(owner), epoch)
        assert STORE.put_if_absent(key, to_json(manifest).encode())
        return folder

    def release(self, owner: str, epoch: int) -> None:
        record = ReleasedResult(
            result_id=IntermediateDataSetId(owner),
            epoch=epoch,
            region_id=RegionId(OUT),
            execution_id="e9",
            time=1.0,
            bytes=4,
        )
        key = self.layout.released(record.result_id, epoch)
        assert STORE.put_if_absent(key, to_json(record).encode())

    def prepare(self, execution: str, target: str, table: str | None = None) -> Path:
        """Write what a sink prepares: files beside a folder, or the record of a table."""
        folder = beside(Path(target)) / path_segment(execution)
        kind = PlaceKind.FOLDER if table is None else PlaceKind.TABLE
        place = PreparedPlace(kind=kind, place=table or str(folder), target=target)
        record = Preparation(operator_id=SINK, execution_id=execution, prepared=place)
        key = self.layout.preparation(RegionId(OUT), execution, SINK)
        assert STORE.put_if_absent(key, to_json(record).encode())
        if table is None:
            folder.mkdir(parents=True)
            (folder / "part-0.parquet").write_text("rows")
        return folder

    def nothing_left(self, execution: str) -> None:
        key = self.layout.preparation(RegionId(OUT), execution, SINK, REMOVED)
        assert STORE.put_if_absent(key, b"{}")

    def decide(self, execution: str, target: str, *, done: bytes | None = None) -> None:
        """Write an intent into a target's ledger."""
        number = decide(self.layout, target, execution)
        if done is not None:
            assert STORE.put_if_absent(self.layout.done(target, number), done)


def decide(layout: StagingLayout, target: str, execution: str = "e1", batch: str | None = None) -> int:
    """Write an intent of a run into a target's ledger; returns its number."""
    number = sum(key.endswith(INTENT) for key in STORE.keys(layout.publications(target)))
    intent = Publication(
        number=number,
        identity=layout.identity,
        plan_id="plan",
        operator_id=SINK,
        execution_id=execution,
        target=target,
        rows=3,
        bytes=4,
        batch=batch,
    )
    # A kind that only the sink knows, which has more fields.
    content = json.dumps({**json.loads(to_json(intent)), "type": "Intent", "add": ["part-0.parquet"]})
    assert STORE.put_if_absent(layout.intent(target, number), content.encode())
    return number


def age(folder: Path, now: float, seconds: float) -> None:
    """Set the age of everything below a folder."""
    for path in (folder, *folder.rglob("*")):
        os.utime(path, (now - seconds, now - seconds))
