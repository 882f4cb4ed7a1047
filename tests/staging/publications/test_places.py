"""The rules for the rendered places of a region, and what is found inside one."""

import sys
from dataclasses import replace
from pathlib import Path

import pytest

import graph_compiler
from graph_compiler import Csv, Jdbc, Json, Parquet, Range, Secret, StreamExecutionEnvironment, Table
from graph_compiler.compiler.pipeline_compiler import compile_pipeline
from graph_compiler.declaration.connectors import Connector
from graph_compiler.deployment.describe.region_descriptors import describe_regions
from graph_compiler.deployment.describe.templates import fill_places, find_places
from graph_compiler.deployment.documents.descriptor import (
    VERSION,
    ExecutionAttempt,
    RegionDescriptor,
    TaskDeploymentDescriptor,
)
from graph_compiler.deployment.documents.run_identity import RunIdentity
from graph_compiler.deployment.documents.staging_layout import StagingLayout
from graph_compiler.deployment.documents.wire import values_within
from graph_compiler.errors import SourceLocation
from graph_compiler.staging.attempts.execution_order import begin
from graph_compiler.staging.publications.places import (
    Endpoint,
    endpoints_of,
    find_place_problems,
    own_folders,
    recorded_endpoints,
    sources_of,
    task_problems,
)
from graph_compiler.staging.store.local_store import LocalStore

PARAMS = {"a": "a", "b": "b"}


def region(source: Connector, sink: Connector, mode: str = "overwrite") -> RegionDescriptor:
    env = StreamExecutionEnvironment("p", params=PARAMS)
    env.from_source(source, "in").sink_to(sink, mode=mode).name("out")  # type: ignore[arg-type]
    (found,) = describe_regions(compile_pipeline(env.pipeline()))
    return found


def rendered(region: RegionDescriptor, **values: str) -> RegionDescriptor:
    places = find_places([region])
    for name, value in values.items():
        places = {k: v.replace(f"{{{{ params.{name} }}}}", value) for k, v in places.items()}
    (filled,) = fill_places([region], places)
    return filled


@pytest.mark.parametrize(
    ("mode", "verb"), [("append", "adds to"), ("overwrite", "replaces"), ("error-if-exists", "creates")]
)
def test_folders_that_meet_once_rendered_are_refused_in_every_mode(mode: str, verb: str) -> None:
    found = region(Parquet("/{{ params.a }}"), Parquet("/{{ params.b }}"), mode)
    (problem,) = find_place_problems(rendered(found, a="x/y", b="x"))
    assert problem.message == f"it {verb} /x, and 'in' reads /x/y"
    assert find_place_problems(rendered(found, a="x", b="y")) == ()


@pytest.mark.parametrize(
    ("one", "other", "count"),
    [
        ("/in/x", "/in/x", 1),
        ("/in/x", "/in/x/y", 1),
        ("/in/x", "/in/y", 0),
        ("/in/x,/in/y", "/in/y", 0),
        ("s3a://lake/x", "s3a://lake/x/", 1),
        ("s3a://lake/x/*", "s3a://lake/x/y", 1),
        ("s3a://lake/x", "hdfs://lake/x", 0),
        ("hdfs://nn/x", "hdfs://nn:8020/x", 1),
    ],
)
def test_paths_of_one_source_that_meet_once_rendered_are_refused(one: str, other: str, count: int) -> None:
    found = region(Parquet(["{{ params.a }}", "/fixed", "{{ params.b }}"]), Parquet("/out"))
    assert set(find_places([found])) == {"in.path.1", "in.path.2", "in.path.3", "out.path"}
    problems = find_place_problems(rendered(found, a=one, b=other))
    assert [problem.operator for problem in problems] == ["in"] * count
    assert all("rows would be read twice" in problem.message for problem in problems)


def test_paths_of_one_source_that_meet_by_a_link_are_refused(tmp_path: Path) -> None:
    (tmp_path / "a" / "day=1").mkdir(parents=True)
    (tmp_path / "b").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "a", target_is_directory=True)
    found = region(Parquet([f"{tmp_path}/{{{{ params.a }}}}", f"{tmp_path}/{{{{ params.b }}}}"]), Parquet("/out"))
    assert find_place_problems(rendered(found, a="a", b="b")) == ()
    for other in ("link", "link/day=1"):
        (problem,) = find_place_problems(rendered(found, a="a", b=other))
        assert "are one folder, or one is in the other" in problem.message


def test_a_target_that_meets_one_of_several_paths_is_refused() -> None:
    found = region(Parquet(["/in/a", "{{ params.a }}"]), Parquet("/{{ params.b }}"))
    (problem,) = find_place_problems(rendered(found, a="/x/y", b="x"))
    assert problem.message == "it replaces /x, and 'in' reads /x/y"
    assert [place.operator.operator.connector.place for place in sources_of(found)] == ["/in/a", "{{ params.a }}"]  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("read", "written", "count"),
    [
        ("s3a://lake/x/*.parquet", "s3a://lake/x", 1),
        ("s3a://lake/x", "s3a://lake/y", 0),
        ("hdfs://nn/x/*.parquet", "hdfs://nn/x", 1),
        ("hdfs://nn/x", "hdfs://nn:8020/x/y", 1),
        ("hdfs://nn/x", "hdfs://nn:9000/x", 0),
        ("hdfs://lake/x", "s3a://lake/x", 0),
    ],
)
def test_folders_in_stores_that_meet_once_rendered_are_refused(read: str, written: str, count: int) -> None:
    found = region(Parquet("/{{ params.a }}"), Parquet("/{{ params.b }}"))
    (filled,) = fill_places([found], {"in.path": read, "out.path": written})
    assert len(find_place_problems(filled)) == count


@pytest.mark.parametrize("kind", [lambda name: Jdbc("jdbc:x", table=name), Table])
def test_tables_that_meet_once_rendered_are_refused(kind: type[Table]) -> None:
    found = region(kind("{{ params.a }}"), kind("{{ params.b }}"))
    (problem,) = find_place_problems(rendered(found, a="t", b="t"))
    assert problem.operator == "out"
    assert "'in' reads" in problem.message
    assert find_place_problems(rendered(found, a="t", b="u")) == ()


def test_a_name_of_a_file_that_only_a_run_knows_is_refused_by_its_task() -> None:
    found = region(Range(0, 1), Csv("/out/{{ params.a }}"))
    assert find_place_problems(rendered(found, a="report")) == ()
    (problem,) = find_place_problems(rendered(found, a="report.csv"))
    assert problem.message == "its target '/out/report.csv' has the name of a file, and would become a folder"
    assert problem.allowed == "single_file=True for one file; single_file=False for a folder of this name"
    assert find_place_problems(rendered(region(Range(0, 1), Parquet("/out/{{ params.a }}")), a="report.csv")) == ()


@pytest.mark.parametrize(
    ("single_file", "name", "words"),
    [
        (False, "report.csv", None),
        (True, "report.csv", None),
        (True, "report", None),
        (True, "report.csv.gz", "its rows are not compressed, and readers expect a file that is compressed (.gz)"),
    ],
)
def test_what_is_said_of_a_rendered_name_counts(single_file: bool, name: str, words: str | None) -> None:
    env = StreamExecutionEnvironment("p", params=PARAMS)
    sink = env.from_source(Range(0, 1), "in").sink_to(Csv("/out/{{ params.a }}"), single_file=single_file)
    sink.name("out")
    (found,) = describe_regions(compile_pipeline(env.pipeline()))
    problems = find_place_problems(rendered(found, a=name))
    assert [words in problem.message for problem in problems if words is not None] == ([True] if words else [])
    assert len(problems) == (0 if words is None else 1)


def test_files_of_one_folder_do_not_meet_and_a_folder_around_them_does(tmp_path: Path) -> None:
    def problems(*sinks: tuple[Connector, bool | None]) -> list[str]:
        env = StreamExecutionEnvironment("p", params=PARAMS)
        rows = env.from_source(Range(0, 1), "in")
        for number, (connector, single_file) in enumerate(sinks):
            rows.sink_to(connector, single_file=single_file).name(f"out{number}")
        (found,) = describe_regions(compile_pipeline(env.pipeline()))
        return [problem.message for problem in find_place_problems(rendered(found, a="report.csv"))]

    one, other = Csv(f"{tmp_path}/{{{{ params.a }}}}"), Json(f"{tmp_path}/report.json")
    assert problems((one, True), (other, True)) == []
    (tmp_path / "report.csv").write_text("old")
    (tmp_path / "link").symlink_to(tmp_path)
    plain, linked = f"{tmp_path}/report.csv", f"{tmp_path}/link/report.csv"
    assert sorted(problems((one, True), (Csv(linked), True))) == [
        f"it replaces {linked}, and 'out0' writes {plain}",
        f"it replaces {plain}, and 'out1' writes {linked}",
    ]
    assert problems((one, True), (Parquet(f"{tmp_path}/link"), None))


def test_invalid_rendered_bounds_are_reported_before_spark_starts() -> None:
    source = Jdbc(
        "jdbc:x",
        table="t",
        partition_column="id",
        lower_bound="{{ params.a }}",
        upper_bound="{{ params.b }}",
        num_partitions=2,
    )
    found = region(source, Parquet("/out"))
    assert find_place_problems(rendered(found, a="1", b="9")) == ()
    (problem,) = find_place_problems(rendered(found, a="9", b="1"))
    assert (problem.operator, problem.message) == ("in", "its bounds are wrong: lower '9', upper '1'")


def test_a_templated_password_is_refused() -> None:
    found = region(Jdbc("{{ var.value.a }}", table="t"), Parquet("/out"))
    url = {"in.url": "jdbc:x://etl:pw@db/x"}
    (filled,) = fill_places([found], find_places([found]) | url)
    (problem,) = find_place_problems(filled)
    assert problem.message == "its url holds a password"
    assert "pw" not in str(problem)


def test_secrets_are_found_wherever_they_are_in_the_order_of_the_declaration() -> None:
    source = Jdbc(Secret("c", "url"), table="t", password=Secret("c"))
    sink = Parquet("/out", options={"parquet.encryption.key": Secret("d", "k")})
    secrets = list(values_within(region(source, sink), Secret))
    assert secrets == [Secret("c", "url"), Secret("c"), Secret("d", "k")]


def test_a_region_without_places_has_none() -> None:
    assert find_places([region(Range(0, 9), Table("t"))]) == {"out.name": "t"}


def of_task(connector: Connector, name: str = "other") -> tuple[Endpoint, ...]:
    """Return the endpoints of another task, which writes there."""
    env = StreamExecutionEnvironment("p")
    env.from_source(Range(0, 9), "numbers").sink_to(connector).name(name)
    (found,) = describe_regions(compile_pipeline(env.pipeline()))
    return endpoints_of(found)


@pytest.mark.parametrize("other", ["/out/a", "/out/a/b", "//out", "file:/out/a/", "/"])
def test_targets_of_two_tasks_that_meet_are_refused(other: str) -> None:
    own = region(Parquet("/in"), Parquet("/out/a"))
    (problem,) = find_place_problems(own, others=of_task(Parquet(other)))
    assert problem.message.startswith("it replaces /out/a, and 'other' of region 'other' writes /")
    assert find_place_problems(own, others=of_task(Parquet("/out/b"))) == ()


def test_targets_of_two_tasks_that_meet_by_a_link_are_refused(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "link-to-a").symlink_to("a")
    own = region(Parquet("/in"), Parquet(f"{tmp_path}/a"))
    (problem,) = find_place_problems(own, others=of_task(Parquet(f"{tmp_path}/link-to-a/x")))
    assert "writes" in problem.message


def begin_task(root: Path, found: RegionDescriptor, execution_id: str, plan_id: str) -> None:
    task = TaskDeploymentDescriptor(
        version=VERSION,
        identity=RunIdentity.own(replace(found, plan_id=plan_id).pipeline, "r"),
        region=replace(found, plan_id=plan_id),
        attempt=ExecutionAttempt(execution_id=execution_id, attempt_number=0),
        staging_root=str(root),
        parameters=(),
    )
    assert begin(LocalStore(), task)


def test_the_last_attempts_targets_of_other_tasks_are_compared(tmp_path: Path) -> None:
    env = StreamExecutionEnvironment("p")
    env.from_source(Range(0, 9), "in").sink_to(Parquet("/out/{{ ti.try_number }}")).name("other")
    (other,) = describe_regions(compile_pipeline(env.pipeline()))
    own = replace(region(Parquet("/in"), Parquet("/out/2/x")), plan_id="plan")
    layout = StagingLayout(root=str(tmp_path), identity=RunIdentity.own("p", "r"))

    def problems() -> int:
        ends = recorded_endpoints(layout, own, [other.region_id])
        return len(find_place_problems(own, others=ends))

    assert problems() == 0
    for execution, place, count in (("e1", "/out/1", 0), ("e2", "/out/2", 1), ("e3", "/out/3", 0)):
        (filled,) = fill_places([other], {"other.path": place})
        begin_task(tmp_path, filled, execution, "plan")
        assert problems() == count
    (filled,) = fill_places([other], {"other.path": "/out/2"})
    begin_task(tmp_path, filled, "e4", "another plan")
    assert problems() == 0, "it was deployed again since"


def test_an_unreadable_descriptor_of_another_task_is_ignored(tmp_path: Path) -> None:
    own = replace(region(Parquet("/in"), Parquet("/out")), plan_id="plan")
    layout = StagingLayout(root=str(tmp_path), identity=RunIdentity.own("p", "r"))
    begin_task(tmp_path, own, "e1", "plan")
    assert len(recorded_endpoints(layout, own, [own.region_id])) == 2
    Path(layout.descriptor(own.region_id, "e1")).write_text("{")
    assert recorded_endpoints(layout, own, [own.region_id]) == ()


def test_sources_of_a_task_are_those_it_reads() -> None:
    found = region(Parquet("/in"), Parquet("/out"))
    assert [end.operator.name for end in sources_of(found)] == ["in"]
    assert [end.words for end in endpoints_of(found)] == ["'in' of region 'out'", "'out' of region 'out'"]


@pytest.mark.parametrize(
    ("target", "words"),
    [
        ("s3://bucket/out", "Spark's name of this scheme is s3a:"),
        ("s3a://bucket", "a whole bucket"),
        ("s3a://bucket/run 1", "characters"),
        ("hdfs:///out", "names no NameNode"),
        ("hdfs://nn/", "a whole file system"),
        ("gs://bucket/out", "none has been tried"),
        ("out/x", "relative"),
        ("file://host/out", "host"),
    ],
)
def test_a_rendered_target_that_nothing_can_be_published_to_is_refused(target: str, words: str) -> None:
    found = region(Parquet("/in"), Parquet("/{{ params.a }}"))
    (filled,) = fill_places([found], find_places([found]) | {"out.path": target})
    (problem,) = find_place_problems(filled)
    assert problem.message.startswith(f"its target is '{target}': ")
    assert words in problem.message


def test_a_task_is_refused_a_target_over_its_own_staging_root(tmp_path: Path) -> None:
    task = TaskDeploymentDescriptor(
        version=VERSION,
        identity=RunIdentity.own("p", "r"),
        region=region(Parquet("/in"), Parquet(str(tmp_path / "staging/out"))),
        attempt=ExecutionAttempt(execution_id="e", attempt_number=0),
        staging_root=str(tmp_path / "staging"),
        parameters=(),
    )
    (problem,) = task_problems(task)
    assert "lies in the staging root" in problem.message
    assert task_problems(replace(task, staging_root=str(tmp_path / "beside"))) == ()


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "project/staging/.targets").mkdir(parents=True)
    (tmp_path / "link-to-staging").symlink_to("project/staging")
    return tmp_path / "project/staging"


@pytest.mark.parametrize(
    ("target", "words"),
    [
        ("project/staging", "is the staging root"),
        ("project/staging/flights/run", "lies in the staging root, "),
        ("project", "contains the staging root, "),
        ("link-to-staging/x", "lies in the staging root, "),
        ("/", "contains the staging root, "),
        (str(Path.home()), "is a home folder"),
        (str(Path(graph_compiler.__file__).parent / "x"), "lies in graph_compiler itself, "),
        (sys.prefix, "is Python's folder"),
    ],
)
def test_a_target_over_one_of_our_folders_is_refused(root: Path, tmp_path: Path, target: str, words: str) -> None:
    own = region(Range(0, 9), Parquet(str(tmp_path / target)))
    folders = own_folders(str(root))
    (problem,) = find_place_problems(own, folders=folders)
    assert words in problem.message


def test_a_target_beside_the_staging_root_is_accepted(root: Path) -> None:
    own = region(Range(0, 9), Parquet(f"{root}-out"))
    assert find_place_problems(own, folders=own_folders(str(root))) == ()


def test_the_pipelines_folder_is_protected_and_the_project_around_it_is_not(tmp_path: Path) -> None:
    file = tmp_path / "pipelines/flights.py"
    file.parent.mkdir()
    file.touch()
    folders = own_folders("/staging", [SourceLocation(str(file), 1)])

    def problems(target: Path) -> int:
        own = region(Range(0, 9), Parquet(str(target)))
        return len(find_place_problems(own, folders=folders))

    assert problems(tmp_path / "pipelines/out") == 1
    assert problems(tmp_path) == 1
    assert problems(tmp_path / "out") == 0


@pytest.mark.parametrize(("target", "count"), [("/x", 0), ("s3a://lake/x", 0), ("/x/y", 1)])
def test_a_sink_may_replace_only_the_target_whose_previous_version_is_read(target: str, count: int) -> None:
    env = StreamExecutionEnvironment("p", params={"a": "/x"})
    totals = Parquet("{{ params.a }}")
    env.from_target(totals, "before", schema="a INT").filter("a > 1").sink_to(totals).name("out")
    before, out = describe_regions(compile_pipeline(env.pipeline()))
    (read,) = fill_places([before], {"before.path": target if count == 0 else "/x"})
    (written,) = fill_places([out], {"out.path": target})
    assert len(find_place_problems(written, others=endpoints_of(read))) == count
