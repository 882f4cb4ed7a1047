"""Settings of Spark for `parallelism.default` and `pipeline.max-parallelism`, and who wins (decision 8)."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graph_compiler import Csv, InvalidPipelineError, Parquet, SlotSharingGroup, StreamExecutionEnvironment
from graph_compiler.compiler.pipeline_compiler import compile_pipeline
from graph_compiler.deployment.describe.region_descriptors import describe_pipeline
from graph_compiler.deployment.documents.jvm_settings import (
    INITIAL_PARTITIONS,
    MAX_PARALLELISM,
    SHUFFLE_PARTITIONS,
    capped_partitions,
)
from graph_compiler.deployment.targets.submit_settings import pipeline_settings, submit_settings
from graph_compiler.graphs.compiled_pipeline import CompiledPipeline
from graph_compiler.options.modes import NO_DEPLOYMENT_OPTIONS
from graph_compiler.options.reader import parse_deployment_options

DEFAULT, MOST = "parallelism.default", "pipeline.max-parallelism"
Options = dict[str, int]
TABLE: dict[str, tuple[Options, Options, Options]] = {
    "nothing set": ({}, {}, {}),
    "set": ({DEFAULT: 4}, {}, {SHUFFLE_PARTITIONS: 4}),
    "set to the default of the model": ({DEFAULT: 1}, {}, {SHUFFLE_PARTITIONS: 1}),
    "set for the deployment": ({}, {DEFAULT: 4}, {SHUFFLE_PARTITIONS: 4}),
    "the pipeline before the deployment": ({DEFAULT: 4}, {DEFAULT: 8}, {SHUFFLE_PARTITIONS: 4}),
    "Spark's own beside it": ({DEFAULT: 4, SHUFFLE_PARTITIONS: 64}, {}, {SHUFFLE_PARTITIONS: 64}),
    "Spark's own initial number beside it": ({DEFAULT: 4, INITIAL_PARTITIONS: 64}, {}, {INITIAL_PARTITIONS: 64}),
    "before Spark's own of the deployment": ({DEFAULT: 4}, {SHUFFLE_PARTITIONS: 64}, {SHUFFLE_PARTITIONS: 4}),
    "before both of the deployment": (
        {DEFAULT: 4},
        {SHUFFLE_PARTITIONS: 64, INITIAL_PARTITIONS: 99},
        {SHUFFLE_PARTITIONS: 4, INITIAL_PARTITIONS: 4},
    ),
    "the pipeline's own of Spark": ({SHUFFLE_PARTITIONS: 64}, {DEFAULT: 4}, {SHUFFLE_PARTITIONS: 64}),
    "beside Spark's own of the deployment": ({}, {DEFAULT: 4, SHUFFLE_PARTITIONS: 64}, {SHUFFLE_PARTITIONS: 64}),
    "a maximum": ({MOST: 128}, {}, {MAX_PARALLELISM: 128}),
    "a maximum of the deployment": ({DEFAULT: 4}, {MOST: 128}, {SHUFFLE_PARTITIONS: 4, MAX_PARALLELISM: 128}),
}


def compiled(
    own: Options, deployment: Options | None = None, group: SlotSharingGroup | None = None
) -> CompiledPipeline:
    env = StreamExecutionEnvironment("p", config={key: str(value) for key, value in own.items()})
    rows = env.from_source(Csv("/in", schema="x INT"), "in").key_by("x").aggregate(n="count(*)").name("counts")
    if group is not None:
        rows.slot_sharing_group(group)
    rows.sink_to(Parquet("/out"))
    options = parse_deployment_options(json.dumps(deployment), "the file") if deployment else NO_DEPLOYMENT_OPTIONS
    return compile_pipeline(env.pipeline(), options)


@pytest.mark.parametrize(("own", "deployment", "wanted"), TABLE.values(), ids=TABLE)
def test_spark_gets_what_is_set(own: Options, deployment: Options, wanted: Options) -> None:
    found = compiled(own, deployment)
    settings = {key: str(value) for key, value in wanted.items()}
    assert pipeline_settings(found) == settings
    assert dict(submit_settings(found, None).conf) == settings


def test_a_group_overrides_the_pipelines_number() -> None:
    group = SlotSharingGroup("big", conf={SHUFFLE_PARTITIONS: 64})
    found = compiled({DEFAULT: 4}, group=group)
    assert {**dict(submit_settings(found, group).conf), **group.conf} == {SHUFFLE_PARTITIONS: "64"}


@pytest.mark.parametrize(
    ("submitted", "wanted"),
    [
        ({}, {}),
        ({SHUFFLE_PARTITIONS: "500"}, {}),
        ({MAX_PARALLELISM: "128"}, {SHUFFLE_PARTITIONS: "128"}),
        ({MAX_PARALLELISM: "200"}, {}),
        ({MAX_PARALLELISM: "128", SHUFFLE_PARTITIONS: "8"}, {}),
        ({MAX_PARALLELISM: "128", SHUFFLE_PARTITIONS: "8", INITIAL_PARTITIONS: "400"}, {INITIAL_PARTITIONS: "128"}),
        ({MAX_PARALLELISM: "4", SHUFFLE_PARTITIONS: " 8 "}, {SHUFFLE_PARTITIONS: "4"}),
        ({MAX_PARALLELISM: "4", SHUFFLE_PARTITIONS: "many"}, {}),
        ({MAX_PARALLELISM: "4", SHUFFLE_PARTITIONS: ""}, {}),
        ({MAX_PARALLELISM: "many"}, {}),
    ],
)
def test_the_driver_lowers_numbers_above_the_maximum(submitted: dict[str, str], wanted: dict[str, str]) -> None:
    assert capped_partitions(submitted) == wanted


@given(st.integers(1, 40000), st.none() | st.integers(1, 40000), st.none() | st.integers(1, 40000))
def test_no_exchange_begins_above_the_maximum_and_none_is_raised(
    most: int, number: int | None, initial: int | None
) -> None:
    given_ = {MAX_PARALLELISM: most, SHUFFLE_PARTITIONS: number, INITIAL_PARTITIONS: initial}
    submitted = {key: str(value) for key, value in given_.items() if value is not None}
    settings = {SHUFFLE_PARTITIONS: "200", **submitted, **capped_partitions(submitted)}
    begins = int(settings.get(INITIAL_PARTITIONS, settings[SHUFFLE_PARTITIONS]))
    assert begins == min(most, initial or number or 200)
    assert int(settings[SHUFFLE_PARTITIONS]) == min(most, number or 200)


@pytest.mark.parametrize("key", [SHUFFLE_PARTITIONS, INITIAL_PARTITIONS])
@pytest.mark.parametrize("place", ["option", "slot sharing group"])
def test_a_number_above_the_maximum_is_refused_where_the_pipeline_says_both(key: str, place: str) -> None:
    group = SlotSharingGroup("big", conf={key: 129}) if place != "option" else None
    own = {MOST: 128} if group else {MOST: 128, key: 129}
    with pytest.raises(InvalidPipelineError) as caught:
        describe_pipeline(compiled(own, group=group))
    (problem,) = caught.value.problems
    assert key in problem.message
    assert problem.message.startswith(place)
    assert problem.message.endswith("'129'")
    assert problem.allowed == "at most 128: pipeline.max-parallelism"
    assert problem.hint


def test_a_number_of_the_deployment_above_the_maximum_is_lowered() -> None:
    found = compiled({MOST: 128}, {SHUFFLE_PARTITIONS: 400})
    describe_pipeline(found)
    assert capped_partitions(pipeline_settings(found)) == {SHUFFLE_PARTITIONS: "128"}


def test_neither_option_changes_a_plan_or_a_fingerprint() -> None:
    plain, given_both = describe_pipeline(compiled({})), describe_pipeline(compiled({DEFAULT: 4, MOST: 128}))
    assert [region.plan_id for region in plain.regions] == [region.plan_id for region in given_both.regions]
    assert plain.plan == given_both.plan
