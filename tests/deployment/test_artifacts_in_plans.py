"""A file that a pipeline names is in the fingerprints of what code computes, and in no others."""

import os
from pathlib import Path

import pytest

from graph_compiler import Csv, Parquet, StreamExecutionEnvironment
from graph_compiler.compiler.pipeline_compiler import compile_pipeline
from graph_compiler.deployment.describe.local_task import DeskRun, desk_task
from graph_compiler.deployment.describe.region_descriptors import describe_regions
from graph_compiler.deployment.documents.descriptor import RegionDescriptor, TaskDeploymentDescriptor
from graph_compiler.deployment.documents.wire import to_wire
from graph_compiler.staging.attempts.artifact_copies import put_artifacts
from graph_compiler.staging.store.in_memory_store import InMemoryStore


def same(rows: object) -> object:
    return rows


def regions(folder: Path, *, uses: str = "") -> tuple[RegionDescriptor, ...]:
    """Return three tasks: one filters, one calls a function, one is after it."""
    env = StreamExecutionEnvironment("p")
    for method, name in {
        "files": ("add_files", "rates.csv"),
        "jars": ("add_jars", "one.jar"),
        "archives": ("add_python_archive", "env.zip"),
    }.items():
        if method in uses:
            getattr(env, name[0])(folder / name[1])
    rows = env.from_source(Csv("/in", schema="x INT"), "in").filter("x > 0").name("kept")
    called = rows.stage("1").transform(same).name("called")
    called.stage("2").filter("x > 1").sink_to(Parquet("/out")).name("out")
    return describe_regions(compile_pipeline(env.pipeline()))


def prints(found: tuple[RegionDescriptor, ...]) -> list[str]:
    return [result.fingerprint for region in found for result in region.results]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name in ("rates.csv", "one.jar", "env.zip"):
        (tmp_path / name).write_text("1")
    return tmp_path


def test_a_changed_file_changes_what_functions_compute_and_all_that_reads_it(folder: Path) -> None:
    """As a change of the function's code does: a result that was staged before is not read."""
    before = regions(folder, uses="files")
    (folder / "rates.csv").write_text("2")
    after = regions(folder, uses="files")
    assert prints(before)[0] == prints(after)[0] == prints(regions(folder))[0]
    assert prints(before)[1] != prints(after)[1]
    assert before[0].plan_id != after[0].plan_id


def test_a_changed_jar_changes_everything(folder: Path) -> None:
    before = prints(regions(folder, uses="jars"))
    (folder / "one.jar").write_text("2")
    assert not set(before) & set(prints(regions(folder, uses="jars")))


def test_a_python_environment_and_a_class_path_change_nothing(folder: Path) -> None:
    assert prints(regions(folder, uses="archives")) == prints(regions(folder))
    assert regions(folder, uses="archives")[0].plan_id == regions(folder)[0].plan_id


def test_a_file_of_the_same_content_elsewhere_is_the_same(folder: Path) -> None:
    other = folder / "other"
    other.mkdir()
    (other / "rates.csv").write_text("1")
    os.utime(other / "rates.csv", (0, 0))
    assert prints(regions(folder, uses="files")) == prints(regions(other, uses="files"))


def test_a_pipeline_without_files_has_the_document_that_it_had(folder: Path) -> None:
    document = to_wire(regions(folder)[0])
    assert isinstance(document, dict)
    assert "artifacts" not in document


def task(found: tuple[RegionDescriptor, ...]) -> TaskDeploymentDescriptor:
    run = DeskRun(day="2013-01-01", params={}, run_id="r:1", staging_root="/root")
    return desk_task(found[0], run, execution_id="e")


def test_the_first_task_keeps_copies_and_later_ones_find_them(folder: Path) -> None:
    found = task(regions(folder, uses="files jars archives"))
    store = InMemoryStore()
    put_artifacts(store, found)
    names = [key.rpartition("/")[2] for key in store.content]
    assert names == ["rates.csv", "one.jar", "env.zip.zip"]
    assert all(key.startswith("/root/p/r%3A1/files/") for key in store.content)
    for artifact in found.region.artifacts:
        Path(artifact.path).unlink()
    put_artifacts(store, TaskDeploymentDescriptor.from_json(found.to_json()))


def test_a_file_of_two_versions_has_two_copies(folder: Path) -> None:
    store = InMemoryStore()
    put_artifacts(store, task(regions(folder, uses="files")))
    (folder / "rates.csv").write_text("2")
    put_artifacts(store, task(regions(folder, uses="files")))
    assert sorted(store.content.values()) == [b"1", b"2"]
