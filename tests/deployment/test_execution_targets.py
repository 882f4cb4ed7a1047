"""Execution targets: which master is whose, what each can do, and those of other packages."""

import json
from importlib.metadata import EntryPoint
from pathlib import Path

import pytest

from graph_compiler import Csv, InvalidPipelineError, Parquet, SlotSharingGroup, extensions
from graph_compiler import StreamExecutionEnvironment as Environment
from graph_compiler.compiler.pipeline_compiler import compile_pipeline
from graph_compiler.declaration.resources.application import DeployMode
from graph_compiler.declaration.resources.slot_sharing_group import SPARK_SETTINGS
from graph_compiler.deployment.describe.region_descriptors import describe_pipeline
from graph_compiler.deployment.documents.wire import from_json, to_json
from graph_compiler.deployment.targets.execution_target import DriverPlace, ExecutionTarget, SecretWay
from graph_compiler.deployment.targets.known_targets import (
    BUILT_IN,
    ENTRY_POINTS,
    KUBERNETES,
    STANDALONE,
    YARN,
    target_named,
    target_names,
    target_of,
)
from graph_compiler.deployment.targets.submit_settings import SubmitSettings, submit_settings
from graph_compiler.errors import ExtensionError, Problem
from graph_compiler.options.modes import DeploymentOptions

LOCAL_CLUSTER = ExecutionTarget(
    name="local-cluster",
    masters=r"local-cluster\[.*\]",
    master_form="local-cluster[WORKERS,CORES,MEGABYTES]",
    client=DriverPlace(ignores=("driver_cores",), secrets=SecretWay.ENVIRONMENT),
    cluster=DriverPlace(refused="it is a test of one host"),
)
"""Spark's own test master, as another package could register it."""
NO_TARGET = "yarn"
MASTERS = {
    "local": "local",
    "local[2]": "local",
    "local[*, 3]": "local",
    "spark://host:7077": "standalone",
    "spark://one:7077,two:7077": "standalone",
    "yarn": "yarn",
    "k8s://https://host:6443": "kubernetes",
    "local-cluster[2,1,1024]": None,
    "mesos://host": None,
    "yarn-client": None,
}


@pytest.mark.parametrize(("master", "name"), MASTERS.items())
def test_a_target_is_found_by_its_master(master: str, name: str | None) -> None:
    found = target_of(master)
    assert (found.name if found else None) == name


def test_the_deploy_modes_of_each_target_and_why_the_others_are_refused() -> None:
    modes = {target.name: tuple(map(str, target.deploy_modes)) for target in BUILT_IN}
    assert modes == {
        "local": ("client",),
        "standalone": ("client",),
        "yarn": ("client", "cluster"),
        "kubernetes": ("client", "cluster"),
    }
    refused = {target.name: target.cluster.refused for target in BUILT_IN}
    assert refused["standalone"] == "Spark refuses Python applications there"


def test_secrets_reach_a_driver_without_being_arguments() -> None:
    ways = {
        (target.name, str(mode)): str(target.place(mode).secrets) for target in BUILT_IN for mode in target.deploy_modes
    }
    assert ways == {
        ("local", "client"): "environment",
        ("standalone", "client"): "environment",
        ("yarn", "client"): "environment",
        ("yarn", "cluster"): "file",
        ("kubernetes", "client"): "environment",
        ("kubernetes", "cluster"): "Kubernetes secret",
    }


def test_only_local_executors_see_the_drivers_files() -> None:
    assert [t.name for t in BUILT_IN if t.executors_see_driver_files] == ["local"]


def test_without_a_deploy_mode_only_settings_ignored_in_all_are_listed() -> None:
    group = SlotSharingGroup("g", driver_cores=2, executor_cores=2)
    assert YARN.ignored_settings(group.resources(), None) == ()
    assert YARN.ignored_settings(group.resources(), DeployMode.CLIENT) == ("driver_cores",)


def registered(monkeypatch: pytest.MonkeyPatch, name: str, value: str) -> None:
    entry = EntryPoint(name=name, value=f"{__name__}:{value}", group=ENTRY_POINTS)
    monkeypatch.setattr(extensions, "_registered", lambda group: (entry,) * (group == ENTRY_POINTS))


def test_another_package_adds_a_target(monkeypatch: pytest.MonkeyPatch) -> None:
    assert target_named("local-cluster") is None
    registered(monkeypatch, "local-cluster", "LOCAL_CLUSTER")
    assert target_names() == ("local", "standalone", "yarn", "kubernetes", "local-cluster")
    assert target_named("local-cluster") is LOCAL_CLUSTER
    assert target_of("local-cluster[2,1,1024]") is LOCAL_CLUSTER
    assert target_of("k8s://https://host") is KUBERNETES


@pytest.mark.parametrize(
    ("name", "value", "words"),
    [
        ("acme", "NO_TARGET", "NO_TARGET' is not of type ExecutionTarget"),
        ("acme", "LOCAL_CLUSTER", "the entry point 'acme' names target 'local-cluster'"),
        ("acme", "NOTHING", "NOTHING' cannot be imported: AttributeError"),
    ],
)
def test_a_wrong_entry_point_is_refused(name: str, value: str, words: str, monkeypatch: pytest.MonkeyPatch) -> None:
    registered(monkeypatch, name, value)
    assert target_of("yarn") is YARN  # ours do not need it
    with pytest.raises(ExtensionError, match=words):
        target_named(name)


BIG = SlotSharingGroup("big", target="yarn", deploy_mode="cluster", conn_id="yarn_big", conf={"spark.x": 1})


def declared(group: SlotSharingGroup | str, config: dict[str, str]) -> Environment:
    env = Environment("p", config=config)
    env.from_source(Csv("/in"), "in").slot_sharing_group(group).sink_to(Parquet("/out"))
    return env


def test_a_group_wins_over_the_pipeline_and_that_over_the_deployment() -> None:
    deployment = DeploymentOptions(
        values=(
            ("airflow.conn-id", "everyone"),
            ("execution.target", "local"),
            ("spark.x", "deployment"),
            ("spark.y", "deployment"),
        ),
        origin="the file",
    )
    config = {"execution.target": "kubernetes", "spark.x": "pipeline", "spark.z": "pipeline"}
    compiled = compile_pipeline(declared(BIG, config).pipeline(), deployment)
    conf = (("spark.x", "pipeline"), ("spark.y", "deployment"), ("spark.z", "pipeline"))
    assert submit_settings(compiled, BIG) == SubmitSettings(
        profile=BIG, target="yarn", deploy_mode=DeployMode.CLUSTER, conn_id="yarn_big", conf=conf
    )
    assert submit_settings(compiled, None) == SubmitSettings(
        target="kubernetes", deploy_mode=None, conn_id="everyone", conf=conf
    )


@pytest.mark.parametrize("place", [{"conn_id": "c"}, {"target": "yarn"}, {"deploy_mode": "client"}])
def test_a_group_that_only_says_where_is_more_than_a_name(place: dict[str, str]) -> None:
    group = SlotSharingGroup("g", **place)  # type: ignore[arg-type]  # places are texts
    (region,) = describe_pipeline(compile_pipeline(declared(group, {}).pipeline())).regions
    assert region.resource_profile == group
    assert from_json(SlotSharingGroup, to_json(group)) == group


def test_documents_of_groups_that_say_no_place_stay_as_they_were() -> None:
    assert set(json.loads(to_json(CORES))) == {"type", "name", "conf", *SPARK_SETTINGS}


def problems(group: SlotSharingGroup | str, config: dict[str, str], **deployment: str) -> tuple[Problem, ...]:
    inherited = DeploymentOptions(values=tuple(deployment.items()), origin="the file")
    compiled = compile_pipeline(declared(group, config).pipeline(), inherited)
    try:
        describe_pipeline(compiled)
    except InvalidPipelineError as error:
        return error.problems
    return ()


CORES = SlotSharingGroup("big", executor_cores=2)


def test_a_target_that_the_pipeline_declares_may_not_ignore_settings() -> None:
    (problem,) = problems(CORES, {"execution.target": "local"})
    assert problem.message.startswith(
        "slot sharing group 'big' sets executor_cores, which execution target 'local' ignores: "
    )


def test_a_target_that_only_the_deployment_declares_may() -> None:
    assert problems(CORES, {}, **{"execution.target": "local"}) == ()


def test_a_setting_ignored_in_one_deploy_mode_is_refused_only_there() -> None:
    group = SlotSharingGroup("big", driver_cores=2, target="yarn")
    assert problems(group, {}) == problems(group, {"execution.deploy-mode": "cluster"}) == ()
    (problem,) = problems(group, {"execution.deploy-mode": "client"})
    assert problem.message.endswith("which execution target 'yarn' ignores: in client mode")


def test_a_pinned_setting_is_refused_as_an_option_too() -> None:
    (problem,) = problems("big", {"spark.sql.ansi.enabled": "false"})
    assert problem.message == "option 'spark.sql.ansi.enabled' is 'false'"


def test_a_deployments_unknown_target_is_found() -> None:
    (problem,) = problems("big", {}, **{"execution.target": "yarm"})
    assert problem.message == "the file: there is no execution target 'yarm'"
    assert problem.hint == "did you mean 'yarn'?"


def test_where_a_task_runs_changes_neither_fingerprints_nor_the_plan() -> None:
    config = {"execution.target": "yarn", "airflow.conn-id": "c", "spark.sql.shuffle.partitions": "9"}
    here = describe_pipeline(compile_pipeline(declared("big", {}).pipeline()))
    there = describe_pipeline(compile_pipeline(declared("big", config).pipeline()))
    assert here == there


def test_a_uri_has_a_run_ids_percent_signs_encoded_again() -> None:
    assert STANDALONE.client.uri("/root/p/r%3A1/a.zip") == "/root/p/r%3A1/a.zip"
    uri = KUBERNETES.cluster.uri("/root/p/r%3A1/a.zip")
    assert uri == "local:///root/p/r%253A1/a.zip"  # Java's URI.getPath decodes it


def test_the_page_has_a_row_for_each_target() -> None:
    page = (Path(__file__).parents[2] / "docs" / "targets.md").read_text()
    table = page.partition("\n\n| target | masters |")[2].partition("\n\n")[0]
    rows = {row.split("`")[1]: row.strip("| ").split("|") for row in table.splitlines() if row[:3] == "| `"}
    for target in BUILT_IN:
        _, masters, modes, secrets, ignored = map(str.strip, rows[target.name])
        assert masters == target.master_form
        assert modes == ", ".join(target.deploy_modes)
        assert secrets == ", ".join(f"{mode}: {target.place(mode).secrets}" for mode in target.deploy_modes)
        named = {name for name in SPARK_SETTINGS if f"`{name}`" in ignored}
        needed = {name for pair in target.needed_with for name in pair}
        assert named == {*target.client.ignores, *target.cluster.ignores, *needed}
