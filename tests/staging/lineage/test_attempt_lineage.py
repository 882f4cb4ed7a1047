"""The datasets of an attempt, from its region, its report and the manifests of its run."""

from dataclasses import replace
from pathlib import Path

import pytest

from graph_compiler import Parquet, StreamExecutionEnvironment, Values
from graph_compiler.compiler.pipeline_compiler import compile_pipeline
from graph_compiler.deployment.describe.region_descriptors import describe_regions
from graph_compiler.deployment.documents.descriptor import RegionDescriptor
from graph_compiler.deployment.documents.manifest import StagedRead
from graph_compiler.deployment.documents.report import (
    ExecutionReport,
    Failure,
    OperatorSchema,
    Output,
    PublishedCommit,
    Relisting,
    SourceFiles,
    ThrowableType,
)
from graph_compiler.staging.attempts.attempt_lineage import (
    AttemptLineage,
    Dataset,
    DatasetName,
    RegionPlaces,
    attempt_lineage,
    declared_lineage,
    task_lineage,
)
from graph_compiler.staging.results.manifest_log import ManifestLog
from graph_compiler.staging.store.local_store import LocalStore
from tests.harness.reports import bare_report
from tests.harness.staging_trees import FIRST, OUT, REGIONS, SECOND, Run

SOURCE = Dataset(place=DatasetName(namespace="file", name="/in"))
SINK = DatasetName(namespace="file", name="/out")


@pytest.fixture
def run(tmp_path: Path) -> Run:
    return Run(tmp_path)


def lineage(run: Run, region: str, report: ExecutionReport | None) -> AttemptLineage:
    log = ManifestLog(store=LocalStore(), layout=run.layout)
    return attempt_lineage(places(REGIONS[region]), report, log)


def places(region: RegionDescriptor) -> RegionPlaces:
    return RegionPlaces(region=region, values={})


def staged(run: Run, region: str) -> DatasetName:
    name = f"{run.root}/p/{region}/{run.result(region)}"
    return DatasetName(namespace="file", name=name)


def id_of(region: str, name: str) -> OperatorSchema:
    (operator,) = [each for each in REGIONS[region].operators if each.name == name]
    return OperatorSchema(operator_id=operator.operator_id, schema=f"columns of {name}")


def output(kind: str, location: str, name: str = "out", rows: int = 3) -> Output:
    return Output(kind=kind, name=name, location=location, rows=rows, bytes=4)


def test_a_source_is_read_and_a_result_is_staged(run: Run) -> None:
    location = str(run.commit(run.result(FIRST), 0, "e1"))
    report = replace(bare_report(), outputs=(output("staged", location),), schemas=(id_of(FIRST, "first"),))
    assert lineage(run, FIRST, report) == AttemptLineage(
        inputs=(replace(SOURCE, schema="columns of first"),),
        outputs=(Dataset(place=staged(run, FIRST), version="run 1/0", schema="{}", rows=3, bytes=4),),
    )


def test_of_several_epochs_an_attempt_has_its_own(run: Run) -> None:
    locations = [str(run.commit(run.result(FIRST), epoch, f"e{epoch}")) for epoch in (0, 1, 2)]
    report = replace(bare_report(), outputs=(output("staged", locations[1]),))
    (written,) = lineage(run, FIRST, report).outputs
    assert written.version == "run 1/1"


def test_a_reader_names_the_result_as_its_producer_does(run: Run) -> None:
    run.commit(run.result(SECOND), 0, "e1")
    read = StagedRead(result_id=run.result(SECOND), epoch=0)
    report = replace(bare_report(), reads=(read, read), outputs=(output("sink", "/out"),), schemas=(id_of(OUT, "out"),))
    assert lineage(run, OUT, report) == AttemptLineage(
        inputs=(Dataset(place=staged(run, SECOND), version="run 1/0", schema="{}", rows=3, bytes=4),),
        outputs=(Dataset(place=SINK, schema="columns of out", rows=3, bytes=4),),
    )


def test_without_its_manifest_a_result_has_no_schema(run: Run) -> None:
    report = replace(
        bare_report(), reads=(StagedRead(result_id=run.result(SECOND), epoch=0),), outputs=(output("sink", "/out"),)
    )
    (read,) = lineage(run, OUT, report).inputs
    assert read == Dataset(place=staged(run, SECOND), version="run 1/0")


@pytest.mark.parametrize("is_reported", [True, False])
def test_an_attempt_that_failed_has_written_nothing(run: Run, *, is_reported: bool) -> None:
    failure = Failure(throwable_type=ThrowableType.RECOVERABLE_ERROR, operator=None, declared_at=None, message="no")
    report = bare_report(failure) if is_reported else None
    assert lineage(run, FIRST, report) == AttemptLineage(inputs=(SOURCE,), outputs=())
    read = Dataset(place=staged(run, SECOND))
    assert lineage(run, OUT, report) == AttemptLineage(inputs=(read,), outputs=())


def test_a_sink_has_its_own_rows_and_a_declared_source_is_no_dataset(run: Run) -> None:
    env = StreamExecutionEnvironment("p")
    rows = env.from_source(Values([(1,)], "x INT"), "in")
    for place in ("/b", "/a"):
        rows.sink_to(Parquet(place)).name(f"to {place}")
    (region,) = describe_regions(compile_pipeline(env.pipeline()))
    outputs = (output("sink", "/b", name="to /b"), output("sink", "/a", name="to /a", rows=7))
    report = replace(bare_report(), outputs=outputs)
    log = ManifestLog(store=LocalStore(), layout=run.layout)
    found = attempt_lineage(places(region), report, log)
    assert {each.place.name: each.rows for each in found.outputs} == {"/b": 3, "/a": 7}
    assert found.inputs == ()


def test_a_table_has_the_version_of_its_commit(run: Run) -> None:
    written = replace(output("sink", "/out"), commit=PublishedCommit(kind="snapshot", id="812"))
    (found,) = lineage(run, OUT, replace(bare_report(), outputs=(written,))).outputs
    assert found.version == "812"


def test_before_it_runs_a_task_has_places_only() -> None:
    found = declared_lineage([places(region) for region in REGIONS.values()])
    assert found == AttemptLineage(inputs=(SOURCE,), outputs=(Dataset(place=SINK),))


def test_a_task_does_not_read_what_its_own_regions_stage() -> None:
    between = Dataset(place=DatasetName(namespace="file", name="/staging/p/x"), version="r/0")
    target = Dataset(place=SINK)
    first = AttemptLineage(inputs=(SOURCE,), outputs=(between,))
    second = AttemptLineage(inputs=(between, target), outputs=(target,))
    assert task_lineage([first, second]) == AttemptLineage(inputs=(SOURCE, target), outputs=(between, target))


def test_what_sql_text_and_functions_have_read_is_an_input(run: Run) -> None:
    table = Relisting(table="`spark_catalog`.`shop`.`rates`", columns="x", options=())
    path = Relisting(table=None, columns=None, options=())
    report = replace(
        bare_report(),
        sources=(
            SourceFiles(operator="rates", paths=("file:/wh/rates",), digest="1", again=table),
            SourceFiles(operator="rates", paths=("s3a://lake/days",), digest="2", again=path),
            SourceFiles(operator="rates", paths=("file:/in/a.csv",), digest="3"),
        ),
    )
    _, *read = lineage(run, FIRST, report).inputs
    assert [each.place for each in read] == [
        DatasetName(namespace="spark_catalog", name="shop.rates"),
        DatasetName(namespace="s3://lake", name="days"),
    ]
