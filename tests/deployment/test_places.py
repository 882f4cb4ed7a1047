"""What must hold between the places of a region, once they are rendered; and what is found inside one."""

import pytest

from graph_compiler import Jdbc, Parquet, Range, Secret, StreamExecutionEnvironment, Table
from graph_compiler.compiler.pipeline_compiler import compile_pipeline
from graph_compiler.declaration import Connector
from graph_compiler.deployment.describe import describe_regions
from graph_compiler.deployment.descriptor import RegionDescriptor
from graph_compiler.deployment.places import find_place_problems
from graph_compiler.deployment.templates import fill_places, find_places
from graph_compiler.deployment.values_within import values_within

PARAMS = {"a": "a", "b": "b"}


def region(source: Connector, sink: Connector, mode: str = "overwrite") -> RegionDescriptor:
    env = StreamExecutionEnvironment("p", params=PARAMS)
    env.from_source(source, "in").sink_to(sink, mode=mode).name("out")  # type: ignore[arg-type]
    (found,) = describe_regions(compile_pipeline(env.pipeline()))
    return found


def rendered(region: RegionDescriptor, **values: str) -> RegionDescriptor:
    places = find_places(region)
    for name, value in values.items():
        places = {k: v.replace(f"{{{{ params.{name} }}}}", value) for k, v in places.items()}
    return fill_places(region, places)


@pytest.mark.parametrize(
    ("mode", "verb"),
    [("append", "adds to"), ("overwrite", "replaces"), ("error-if-exists", "creates")],
)
def test_folders_that_meet_once_rendered_are_refused_in_every_mode(mode: str, verb: str) -> None:
    found = region(Parquet("/{{ params.a }}"), Parquet("/{{ params.b }}"), mode)
    (problem,) = find_place_problems(rendered(found, a="x/y", b="x"))
    assert problem.message == f"it {verb} /x, and 'in' reads /x/y"
    assert find_place_problems(rendered(found, a="x", b="y")) == ()


@pytest.mark.parametrize("kind", [lambda name: Jdbc("jdbc:x", table=name), Table])
def test_tables_that_meet_once_rendered_are_refused(kind: type[Table]) -> None:
    found = region(kind("{{ params.a }}"), kind("{{ params.b }}"))
    (problem,) = find_place_problems(rendered(found, a="t", b="t"))
    assert problem.operator == "out"
    assert "'in' reads" in problem.message
    assert find_place_problems(rendered(found, a="t", b="u")) == ()


def test_bounds_that_turn_out_to_be_none_are_told_before_spark_starts() -> None:
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
    assert (problem.operator, problem.message) == (
        "in",
        "its bounds are wrong: lower '9', upper '1'",
    )


def test_a_password_that_comes_by_a_template_is_refused_all_the_same() -> None:
    found = region(Jdbc("{{ var.value.a }}", table="t"), Parquet("/out"))
    url = {"in.url": "jdbc:x://etl:pw@db/x"}
    (problem,) = find_place_problems(fill_places(found, find_places(found) | url))
    assert problem.message == "its url holds a password"
    assert "pw" not in str(problem)


def test_secrets_are_found_wherever_they_are_in_the_order_of_the_declaration() -> None:
    source = Jdbc(Secret("c", "url"), table="t", password=Secret("c"))
    sink = Parquet("/out", options={"key": Secret("d", "k")})
    secrets = list(values_within(region(source, sink), Secret))
    assert secrets == [Secret("c", "url"), Secret("c"), Secret("d", "k")]


def test_a_region_without_places_has_none() -> None:
    assert find_places(region(Range(0, 9), Table("t"))) == {"out.name": "t"}
