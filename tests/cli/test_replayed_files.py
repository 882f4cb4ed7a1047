"""A replay has the files that its execution had, though they have changed since."""

from pathlib import Path

from graph_compiler import Csv, Parquet, StreamExecutionEnvironment
from graph_compiler.cli.commands.replay import prepare_scratch
from graph_compiler.compiler.pipeline_compiler import compile_pipeline
from graph_compiler.deployment.describe.local_task import DeskRun, desk_task
from graph_compiler.deployment.describe.region_descriptors import describe_regions
from graph_compiler.staging.attempts.artifact_copies import put_artifacts
from graph_compiler.staging.attempts.attempt_documents import AttemptDocuments
from graph_compiler.staging.store.stores import store_of


def test_files_are_those_of_the_execution(tmp_path: Path) -> None:
    rates = tmp_path / "rates.csv"
    rates.write_text("1.5")
    env = StreamExecutionEnvironment("p")
    env.add_files(rates)
    env.from_source(Csv("/in", schema="x INT"), "in").sink_to(Parquet("/out"))
    (region,) = describe_regions(compile_pipeline(env.pipeline()))
    root = str(tmp_path / "root")
    run = DeskRun(day="2013-01-01", params={}, run_id="r", staging_root=root)
    task = desk_task(region, run, execution_id="e")
    store, descriptor = store_of(root), task.layout.descriptor(region.region_id, "e")
    store.put_if_absent(descriptor, task.to_json().encode())
    put_artifacts(store, task)
    rates.unlink()
    prepare_scratch(AttemptDocuments.beside(descriptor), task.layout, tmp_path / "scratch")
    (copy,) = (tmp_path / "scratch").glob("**/rates.csv")
    assert copy.read_text() == "1.5"
