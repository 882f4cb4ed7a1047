"""The settings of a profile that a master uses, and those that are pinned."""

import pytest

from graph_compiler import Csv, InvalidPipelineError, Parquet, SlotSharingGroup
from graph_compiler import StreamExecutionEnvironment as Environment
from graph_compiler.compiler.pipeline_compiler import compile_pipeline
from graph_compiler.declaration.resources.application import DeployMode
from graph_compiler.deployment.describe.region_descriptors import describe_regions
from graph_compiler.deployment.targets.execution_target import ExecutionTarget
from graph_compiler.deployment.targets.known_targets import target_of

ALL = SlotSharingGroup(
    "all", driver_memory="2g", driver_cores=2, executor_memory="4g", executor_cores=2, executor_instances=3
)


def of(master: str) -> ExecutionTarget:
    found = target_of(master)
    assert found is not None
    return found


EXECUTOR = ("executor_memory", "executor_cores", "executor_instances")


@pytest.mark.parametrize(
    ("master", "mode", "ignored"),
    [
        ("local", "client", ("driver_cores", *EXECUTOR)),
        ("local[4]", "client", ("driver_cores", *EXECUTOR)),
        ("spark://host:7077", "client", ("driver_cores",)),
        ("yarn", "client", ("driver_cores",)),
        ("yarn", "cluster", ()),
        ("k8s://https://host:6443", "cluster", ()),
    ],
)
def test_settings_that_a_master_ignores_are_listed(master: str, mode: str, ignored: tuple[str, ...]) -> None:
    target, deploy_mode = of(master), DeployMode(mode)
    assert target.ignored_settings(ALL.resources(), deploy_mode) == ignored
    assert (target.ignored_words(ALL.resources(), master, deploy_mode) is None) == (not ignored)


def test_a_standalone_master_counts_cores_and_not_executors() -> None:
    group = SlotSharingGroup("some", executor_instances=3)
    master = "spark://h:7077"
    assert of(master).ignored_words(group.resources(), master, DeployMode.CLIENT) == (
        "spark://h:7077 ignores executor_instances in client mode"
    )
    assert of("yarn").ignored_words(group.resources(), "yarn", DeployMode.CLIENT) is None


def test_unset_settings_are_not_listed() -> None:
    group = SlotSharingGroup("g", driver_memory="2g")
    assert of("local[2]").ignored_words(group.resources(), "local[2]", DeployMode.CLIENT) is None


def test_a_setting_we_pin_cannot_be_set_by_a_group(env: Environment) -> None:
    group = SlotSharingGroup(
        "odd", conf={"spark.sql.ansi.enabled": False, "spark.sql.session.timeZone": "CET", "spark.x": 1}
    )
    env.from_source(Csv("/in"), "in").slot_sharing_group(group).sink_to(Parquet("/out"))
    with pytest.raises(InvalidPipelineError) as refusal:
        describe_regions(compile_pipeline(env.pipeline()))
    assert [problem.message for problem in refusal.value.problems] == [
        "slot sharing group 'odd' sets spark.sql.ansi.enabled to 'false'",
        "slot sharing group 'odd' sets spark.sql.session.timeZone to 'CET'",
    ]


def test_a_region_has_the_profile_of_its_group_and_the_plan_does_not_depend_on_it() -> None:
    def regions(group: str | SlotSharingGroup) -> list[tuple[SlotSharingGroup | None, str]]:
        env = Environment("p")
        rows = env.from_source(Csv("/in"), "in").slot_sharing_group(group)
        rows.filter("x").name("f").slot_sharing_group("other").sink_to(Parquet("/out")).name("out")
        described = describe_regions(compile_pipeline(env.pipeline()))
        return [(region.resource_profile, region.plan_id) for region in described]

    (named, plan_id), (other, _) = regions("all")
    assert (named, other) == (None, None)
    assert regions(ALL) == [(ALL, plan_id), (None, plan_id)]
