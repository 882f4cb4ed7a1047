"""A worker that does not share the staging root notices it by missing documents."""

import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from graph_compiler import Csv, Parquet, StreamExecutionEnvironment
from graph_compiler.compiler.pipeline_compiler import compile_pipeline
from graph_compiler.deployment.describe.region_descriptors import describe_regions
from graph_compiler.deployment.documents.descriptor import RegionDescriptor
from graph_compiler.deployment.documents.run_identity import RunIdentity
from graph_compiler.deployment.documents.staging_layout import StagingLayout
from graph_compiler.errors import StagingRootNotSharedError, StaleResultError
from graph_compiler.staging.attempts.run_marker import (
    VERSION,
    RunMarker,
    check_marker,
    find_marker,
    producers,
    see_marker,
)
from graph_compiler.staging.store.local_store import LocalStore

STORE = LocalStore()


def regions() -> tuple[RegionDescriptor, ...]:
    env = StreamExecutionEnvironment("p")
    env.from_source(Csv("/in"), "in").stage("dear").sink_to(Parquet("/out")).name("out")
    return describe_regions(compile_pipeline(env.pipeline()))


def marker(root: Path, host: str) -> RunMarker:
    return RunMarker(
        version=VERSION,
        root=str(root),
        identity=RunIdentity.own("p", "run 1"),
        host=host,
        time=7,
        plan_id="plan",
        ttl=60,
    )


def layout(root: Path) -> StagingLayout:
    return StagingLayout(root=str(root), identity=RunIdentity.own("p", "run 1"))


def begin(root: Path, region: RegionDescriptor) -> None:
    descriptor = Path(layout(root).descriptor(region.region_id, "e1"))
    descriptor.parent.mkdir(parents=True)
    descriptor.write_text("{}")


def test_the_first_task_writes_the_marker_and_later_ones_see_it(tmp_path: Path) -> None:
    first, second = regions()
    assert (producers([first]), producers([second])) == ((), (first.region_id,))
    see_marker(STORE, [first], marker(tmp_path, "a"))
    begin(tmp_path, first)
    see_marker(STORE, [second], marker(tmp_path, "b"))
    found = find_marker(STORE, layout(tmp_path))
    assert found is not None
    assert found.host == "a", "the first one's stays"


def test_a_task_that_reads_from_others_is_never_the_first(tmp_path: Path) -> None:
    _, second = regions()
    with pytest.raises(StagingRootNotSharedError) as error:
        see_marker(STORE, [second], marker(tmp_path, "b"))
    assert f"staging root {tmp_path} is not shared with this worker (b)" in str(error.value)
    assert f"found: no {layout(tmp_path).marker}" in str(error.value)
    assert "staging_root" in str(error.value)
    assert not list(tmp_path.iterdir()), "nothing is left where nobody else looks"


def test_a_task_that_reads_only_from_its_own_regions_may_be_the_first(tmp_path: Path) -> None:
    assert producers(regions()) == ()
    see_marker(STORE, regions(), marker(tmp_path, "a"))
    assert find_marker(STORE, layout(tmp_path)) is not None


def test_a_mark_of_another_worker_is_not_enough(tmp_path: Path) -> None:
    """Two workers with separate disks: both ran a task that may be the first."""
    first, second = regions()
    see_marker(STORE, [first], marker(tmp_path, "b"))
    with pytest.raises(StagingRootNotSharedError, match=f"no documents of {first.region_id}"):
        see_marker(STORE, [second], marker(tmp_path, "b"))


def test_one_folder_under_two_paths_is_not_shared(tmp_path: Path) -> None:
    """Manifests name their data by its whole path."""
    first, _ = regions()
    see_marker(STORE, [first], marker(tmp_path / "here", "a"))
    shutil.copytree(tmp_path / "here", tmp_path / "there")
    with pytest.raises(StagingRootNotSharedError, match=f"where the root is {tmp_path}/here"):
        check_marker(STORE, layout(tmp_path / "there"), "b")


def test_a_run_started_with_another_version_is_reported(tmp_path: Path) -> None:
    """Its first task was renamed meanwhile, so its documents are missing although the root is shared."""
    first, second = regions()
    see_marker(STORE, [first], marker(tmp_path, "a"))
    now = replace(marker(tmp_path, "a"), plan_id="another plan")
    with pytest.raises(StaleResultError) as stale:
        see_marker(STORE, [second], now)
    message = str(stale.value)
    assert "it began with plan plan, 'out' is of plan another plan" in message
    assert f"reads from {first.region_id}, which has not run" in message
