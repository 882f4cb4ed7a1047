"""Sources of several paths, as values."""

import pytest

from graph_compiler import Csv, Json, Parquet, StreamExecutionEnvironment
from graph_compiler.compiler.pipeline_compiler import compile_pipeline
from graph_compiler.deployment.describe.region_descriptors import describe_regions
from graph_compiler.deployment.describe.templates import asset_uri, parameters_in
from graph_compiler.explain.plan.plan_writer import plan_of
from graph_compiler.staging.attempts.attempt_lineage import RegionPlaces, declared_lineage

PATHS = ["/in/{{ params.shop }}", "s3a://lake/in/{{ ds }}"]


def test_a_list_of_one_is_its_path() -> None:
    assert Csv(["/in"]) == Csv("/in")
    assert Csv(["/in"]).texts() == {"path": "/in"}
    assert Csv("/in/a,/in/b").paths == ("/in/a,/in/b",)


def test_templates_of_each_path_are_rendered() -> None:
    source = Json(PATHS, options={"multiLine": True})
    assert source.texts() == {"path.1": PATHS[0], "path.2": PATHS[1], "options.multiLine": "true"}
    filled = source.with_texts({"path.1": "/in/a", "path.2": "s3a://lake/in/1", "options.multiLine": "false"})
    assert filled == Json(["/in/a", "s3a://lake/in/1"], options={"multiLine": False})
    assert parameters_in(source) == {"shop"}


def test_each_path_is_a_place_of_its_own() -> None:
    source = Json(PATHS, schema="id INT")
    assert [each.path for each in source.each_place()] == PATHS
    assert {each.schema for each in source.each_place()} == {"id INT"}
    assert [asset_uri(each, {"shop": "a"}) for each in source.each_place()] == ["file:///in/a", "s3://lake/in"]
    with pytest.raises(AssertionError, match="several paths"):
        source.place_key()


def test_lineage_and_plan_have_each_path() -> None:
    env = StreamExecutionEnvironment("p", params={"shop": "a"})
    env.from_source(Json(PATHS, schema="id INT"), "in").sink_to(Parquet("/out")).name("out")
    compiled = compile_pipeline(env.pipeline())
    (region,) = describe_regions(compiled)
    inputs = declared_lineage([RegionPlaces(region=region, values={"shop": "a"})]).inputs
    assert [(each.place.namespace, each.place.name) for each in inputs] == [("file", "/in/a"), ("s3://lake", "in")]
    (source,) = [one for one in plan_of(compiled).operators if one.name == "in"]
    assert f"path: {', '.join(PATHS)}" in source.details
