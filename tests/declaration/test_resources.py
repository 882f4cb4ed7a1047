"""The needs of operators and the resources of groups, as values: sums, limits, texts."""

from dataclasses import FrozenInstanceError, replace

import pytest

from graph_compiler import InvalidPipelineError, ResourceSpec, SlotSharingGroup
from graph_compiler import StreamExecutionEnvironment as Environment
from graph_compiler.declaration.connectors import Csv
from graph_compiler.declaration.resources.resource_spec import exceeding, memory_text, merge_resources, parse_memory
from graph_compiler.declaration.transformations import PhysicalTransformation
from graph_compiler.deployment.documents.wire import from_json, to_json

SMALL = ResourceSpec(cpu_cores=0.1, memory="512m", extended_resources={"gpu": 1})
OTHER = ResourceSpec(cpu_cores=0.2, memory="2g", off_heap_memory="1g", extended_resources={"fpga": 2, "gpu": 1})


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("2g", 2 << 30),
        ("1536M", 1536 << 20),
        ("1t", 1 << 40),
        ("8k", 8 << 10),
        ("2gb", None),  # a JVM does not start with -Xmx2gb
        ("1024", None),  # Spark reads mebibytes, the JVM bytes
        ("1.5g", None),
        (" 2g", None),
        ("-2g", None),
        (2, None),
    ],
)
def test_memory_is_a_whole_number_and_one_letter(text: object, size: int | None) -> None:
    assert parse_memory(text) == size


@pytest.mark.parametrize("text", ["2560m", "3g", "1t", "7k", "0m"])
def test_memory_is_written_in_the_largest_unit_that_fits(text: str) -> None:
    assert memory_text(parse_memory(text) or 0) == text


def test_merging_adds_every_field_and_extended_resources_by_name() -> None:
    merged = SMALL.merge(OTHER)
    assert merged == ResourceSpec(
        cpu_cores=0.3,  # as Flink's decimals add up; 0.1 + 0.2 is 0.30000000000000004
        memory="2560m",
        off_heap_memory="1g",
        extended_resources={"gpu": 2, "fpga": 2},
    )
    assert str(merged) == "0.3 cores, 2560m, 1g off-heap, 2 fpga and 2 gpu"
    assert OTHER.merge(SMALL) == merged


def test_a_sum_with_an_unknown_part_is_unknown() -> None:
    assert merge_resources([SMALL]) == SMALL
    assert merge_resources([SMALL, OTHER, SMALL]) == SMALL.merge(OTHER).merge(SMALL)
    assert merge_resources([SMALL, None, OTHER]) is None
    assert merge_resources([None]) is None


def test_exceeded_limits_are_named_and_missing_extended_resources_are_none() -> None:
    assert list(exceeding(OTHER, SMALL.amounts())) == ["cores", "memory", "off-heap memory", "fpga"]
    assert not exceeding(SMALL, SMALL.amounts())
    assert not exceeding(replace(SMALL, extended_resources={"gpu": 0}), OTHER.amounts())


def test_executor_resources_that_a_group_does_not_set_are_unknown() -> None:
    group = SlotSharingGroup(
        "big",
        executor_memory="8g",
        conf={
            "spark.memory.offHeap.enabled": True,
            "spark.memory.offHeap.size": "1g",
            "spark.executor.resource.gpu.amount": 2,
        },
    )
    assert group.executor() == {"cores": None, "memory": 8 << 30, "off-heap memory": 1 << 30, "gpu": 2}
    assert replace(group, conf={**group.conf, "spark.memory.offHeap.enabled": "True"}).executor() == group.executor()
    without = replace(group, conf={"spark.memory.offHeap.size": "1g"})
    assert without.executor()["off-heap memory"] == 0


def test_groups_are_values_that_cross_the_wire_and_keep_their_own_conf() -> None:
    conf = {"spark.b": 1, "spark.a": True}
    group = SlotSharingGroup("big", driver_memory="2g", conf=conf)
    conf["spark.c"] = 2
    assert group == SlotSharingGroup("big", driver_memory="2g", conf={"spark.a": "true", "spark.b": "1"})
    assert group.settings() == {"spark.driver.memory": "2g", "spark.a": "true", "spark.b": "1"}
    assert from_json(SlotSharingGroup, to_json(group)) == group
    assert len({group, replace(group)}) == 1
    with pytest.raises(FrozenInstanceError):
        group.name = "small"  # type: ignore[misc]


@pytest.mark.parametrize(
    ("group", "words"),
    [
        (SlotSharingGroup("g", driver_memory="4g"), "g: driver 4g"),
        (SlotSharingGroup("g", driver_memory="4g", driver_cores=1), "g: driver 4g and 1 core"),
        (SlotSharingGroup("g", executor_memory="8g"), "g: executors with 8g"),
        (SlotSharingGroup("g", executor_instances=1), "g: 1 executor"),
        (
            SlotSharingGroup("g", executor_instances=3, executor_cores=4, conf={"spark.x": 1}),
            "g: 3 executors with 4 cores, spark.x=1",
        ),
    ],
)
def test_a_group_lists_what_it_sets(group: SlotSharingGroup, words: str) -> None:
    assert str(group) == words


def test_a_group_by_name_replaces_an_earlier_declaration(env: Environment) -> None:
    stream = env.from_source(Csv("/in"), "in")
    stream.slot_sharing_group(SlotSharingGroup("big", driver_memory="4g")).slot_sharing_group("small")
    source = env.transformation(stream.id)
    assert isinstance(source, PhysicalTransformation)
    assert source.settings.slot_sharing_group == SlotSharingGroup("small")


def test_preferred_resources_default_to_the_minimum(env: Environment) -> None:
    stream = env.from_source(Csv("/in"), "in").set_resources(SMALL)
    source = env.transformation(stream.id)
    assert isinstance(source, PhysicalTransformation)
    settings = source.settings
    assert (settings.min_resources, settings.preferred_resources) == (SMALL, SMALL)


def test_resources_are_set_on_operators_only(env: Environment) -> None:
    with pytest.raises(InvalidPipelineError, match="can be set on an operator only; rebalance adds none"):
        env.from_source(Csv("/in"), "in").rebalance().set_resources(SMALL)


def test_invalid_groups_and_resources_are_refused_at_their_call(env: Environment) -> None:
    stream = env.from_source(Csv("/in"), "in")
    with pytest.raises(InvalidPipelineError, match="slot_sharing_group was given 5"):
        stream.slot_sharing_group(5)  # type: ignore[arg-type]
    with pytest.raises(InvalidPipelineError, match="set_resources was given '1g' and 2"):
        stream.set_resources("1g", 2)  # type: ignore[arg-type]
