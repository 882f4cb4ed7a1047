"""How a try is submitted, from facts alone: no hook, no connection, no process."""

import json
import sys
import zipfile
from collections.abc import Mapping
from dataclasses import replace
from itertools import permutations
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from graph_compiler import Csv, Jdbc, Parquet, Secret, StreamExecutionEnvironment
from graph_compiler.compiler.pipeline_compiler import compile_pipeline
from graph_compiler.deployment.describe.local_task import DeskRun, desk_task
from graph_compiler.deployment.describe.region_descriptors import describe_regions
from graph_compiler.deployment.documents.descriptor import TaskDeploymentDescriptor
from graph_compiler.deployment.targets.execution_target import DriverPlace, ExecutionTarget
from graph_compiler.deployment.targets.known_targets import KUBERNETES, LOCAL, STANDALONE, YARN
from graph_compiler.deployment.targets.submit_settings import UNDECLARED
from graph_compiler.errors import SecretError
from graph_compiler.object_stores.s3_access import S3Access
from graph_compiler.projects.code_archive import CodeArchive
from graph_compiler.webhdfs.webhdfs_access import HdfsAccess
from tests.browser import functions

if TYPE_CHECKING:
    from graph_compiler.airflow_backend.provider.preparation import SubmitFacts, SubmitPlan

pytestmark = [pytest.mark.airflow, pytest.mark.filterwarnings("default")]
MASTERS = {"local": "local[2]", "standalone": "spark://h:7077", "yarn": "yarn"}
OPTIONS, UMASK = "spark.driver.defaultJavaOptions", "spark.hadoop.fs.permissions.umask-mode"
JARS, ARCHIVES = ("one.jar", "two.jar"), ("environment.tar.gz", "model.zip")
IN_THE_POD = {"spark.kubernetes.container.image": "image"}
OF_A_HOST = {"PYTHONPATH": "/here", "PYSPARK_PYTHON": "/here/python", "HOME": "/home/of/a/worker"}
ADDED = {"PYSPARK_DRIVER_PYTHON": "/here/driver/python", "PYTHONPATH": "/here:/code"}
CODE = CodeArchive(digest="d", content=b"code")


@pytest.fixture
def task(tmp_path: Path) -> TaskDeploymentDescriptor:
    """Return a task with files, jars and archives, whose run id has a colon, as all of Airflow's have."""
    for name in ("rates.csv", *JARS, *ARCHIVES):
        (tmp_path / name).write_text("1")
    env = StreamExecutionEnvironment("p")
    env.add_files(tmp_path / "rates.csv")
    env.add_jars(*(tmp_path / name for name in JARS))
    for name in ARCHIVES:
        env.add_python_archive(tmp_path / name, name.partition(".")[0])
    env.from_source(Csv("/in", schema="x INT"), "in").sink_to(Parquet("/out")).name("out")
    return task_of(env, str(tmp_path / "root"))


def task_of(env: StreamExecutionEnvironment, root: str) -> TaskDeploymentDescriptor:
    (region,) = describe_regions(compile_pipeline(env.pipeline()))
    run = DeskRun(day="2013-01-01", params={}, run_id="r:1", staging_root=root)
    return desk_task(region, run, execution_id="e")


def facts(
    task: TaskDeploymentDescriptor,
    target: ExecutionTarget = LOCAL,
    mode: str | None = None,
    spark: Mapping[str, Any] = {},
    **more: Any,
) -> "SubmitFacts":
    """Return what is known of a try whose connection has a master of the target."""
    from graph_compiler.airflow_backend.provider.preparation import SubmitFacts
    from graph_compiler.airflow_backend.provider.submit_target import SparkArguments

    arguments = {
        "conn_id": "spark_default",
        "master": MASTERS.get(target.name, "k8s://https://h:443"),
        "deploy_mode": mode,
        "is_kubernetes": target is KUBERNETES,
        "namespace": "jobs" if target is KUBERNETES else None,
        "conf": IN_THE_POD if target is KUBERNETES else {},
    }
    known = {"executions": [task], "environment": OF_A_HOST, "variables": ADDED}
    given = SparkArguments(**{**arguments, **spark})
    return SubmitFacts(spark=given, target=target, **{**known, **more})


def prepared(*arguments: Any, **named: Any) -> "SubmitPlan":
    from graph_compiler.airflow_backend.provider.preparation import prepare

    return prepare(facts(*arguments, **named))


PLACES = [
    (LOCAL, None),
    (LOCAL, "client"),
    (STANDALONE, None),
    (YARN, "client"),
    (YARN, "cluster"),
    (KUBERNETES, "client"),
    (KUBERNETES, "cluster"),
]


@pytest.mark.parametrize(("target", "mode"), PLACES)
def test_the_same_facts_make_the_same_plan_and_stay_as_they_are(
    target: ExecutionTarget, mode: str | None, task: TaskDeploymentDescriptor
) -> None:
    from graph_compiler.airflow_backend.provider.preparation import prepare

    known = facts(task, target, mode, code=CODE, root_is_open=True)
    before = replace(known, spark=replace(known.spark, conf=dict(known.spark.conf)))
    assert prepare(known) == prepare(known)
    assert known == before, "the operator may prepare another execution, too"


@pytest.mark.parametrize(("target", "mode"), PLACES)
def test_a_driver_has_this_host_s_environment_only_if_it_runs_here(
    target: ExecutionTarget, mode: str | None, task: TaskDeploymentDescriptor
) -> None:
    plan = prepared(task, target, mode, code=CODE)
    is_here = mode != "cluster"
    assert plan.environment == ({**OF_A_HOST, **ADDED} if is_here else {"HOME": OF_A_HOST["HOME"]})
    assert plan.added == (ADDED if is_here else {})
    assert plan.application.endswith("/spark_runtime/main.py") == is_here
    assert (OPTIONS in plan.conf) == (not is_here)
    assert (b"code" in plan.documents.values(), len(plan.documents)) == (True, 1 if is_here else 2)
    assert "/home/of/a/worker" not in repr(plan)


@pytest.mark.parametrize(("target", "mode"), PLACES)
def test_a_setting_of_the_task_wins_over_each_default(
    target: ExecutionTarget, mode: str | None, task: TaskDeploymentDescriptor
) -> None:
    endpoint = "spark.hadoop.fs.s3a.endpoint"
    access = S3Access(endpoint="http://ours")
    conf = {
        **IN_THE_POD,
        **{key: "theirs" for key, _ in target.place(YARN.deploy_modes[-1]).conf},
        UMASK: "theirs",
        endpoint: "theirs",
    }
    plan = prepared(task, target, mode, {"conf": conf}, access=access, root_is_open=True)
    assert {key: plan.conf[key] for key in conf} == conf
    plan = prepared(task, target, mode, access=access, root_is_open=True)
    assert (plan.conf[UMASK], plan.conf[endpoint]) == ("002", "http://ours")
    assert UMASK not in prepared(task, target, mode).conf


@pytest.mark.parametrize("mode", [0o700, 0o2775, 0o2770])
def test_a_root_is_open_if_its_group_and_nobody_else_may_write(mode: int, task: TaskDeploymentDescriptor) -> None:
    from graph_compiler.airflow_backend.task.submitting import submit_facts
    from graph_compiler.airflow_backend.task.task_try import TaskTry

    root = Path(task.staging_root)
    root.mkdir()
    root.chmod(mode)
    known = submit_facts(facts(task).spark, TaskTry([task]), (), UNDECLARED, None)
    assert known.root_is_open == (mode == 0o2770)


@pytest.mark.parametrize(
    ("conf", "added"),
    [
        ({}, None),
        ({"spark.pyspark.python": "/executors/python"}, ADDED["PYSPARK_DRIVER_PYTHON"]),
        ({"spark.pyspark.python": "/a", "spark.pyspark.driver.python": "/b"}, "/b"),
    ],
)
def test_a_python_for_executors_is_not_taken_for_a_drivers_on_this_host(
    conf: dict[str, str], added: str | None, task: TaskDeploymentDescriptor
) -> None:
    plan = prepared(task, YARN, "client", {"conf": conf})
    assert plan.conf.get("spark.pyspark.driver.python") == added
    far = prepared(task, YARN, "cluster", {"conf": conf})
    assert far.conf.get("spark.pyspark.driver.python") == conf.get("spark.pyspark.driver.python")


@pytest.mark.parametrize(
    ("target", "python", "is_passed"),
    [
        (STANDALONE, "environment/bin/python", True),
        (LOCAL, "environment/bin/python", False),
        (LOCAL, "/opt/bin/python", True),
    ],
)
def test_a_python_of_an_archive_runs_where_it_is_unpacked(
    target: ExecutionTarget, python: str, is_passed: bool, task: TaskDeploymentDescriptor
) -> None:
    """The driver's own is kept in any case: the setting for executors was there before."""
    plan = prepared(task, target, None, {"conf": {"spark.pyspark.python": python}})
    assert plan.conf.get("spark.pyspark.python") == (python if is_passed else None)
    assert plan.conf["spark.pyspark.driver.python"] == ADDED["PYSPARK_DRIVER_PYTHON"]


@pytest.mark.parametrize(("target", "mode"), [it for it in PLACES if it != (KUBERNETES, "cluster")])
@pytest.mark.parametrize(
    ("spark", "first"),
    [
        ({}, ()),
        ({"jars": "/a", "archives": "/a", "py_files": "/a"}, ("/a",)),
        ({"conf": dict.fromkeys(("spark.jars", "spark.archives", "spark.submit.pyFiles"), "/b")}, ("/b",)),
        ({"jars": "/a", "archives": "/a", "py_files": "/a", "conf": {"spark.jars": "/b"}}, ("/a",)),
    ],
)  # fmt: skip
def test_arguments_for_files_keep_what_is_named(
    target: ExecutionTarget,
    mode: str | None,
    spark: dict[str, Any],
    first: tuple[str, ...],
    task: TaskDeploymentDescriptor,
) -> None:
    conf = {**IN_THE_POD, **spark.get("conf", {})}
    plan = prepared(task, target, mode, {**spark, "conf": conf}, code=CODE)
    named = [task.layout.artifact(it) for it in task.region.artifacts]
    archives = [
        f"{Path(key).as_uri()}#{name.partition('.')[0]}" for key, name in zip(named[-2:], ARCHIVES, strict=True)
    ]
    assert str(plan.jars).split(",") == [*first, *named[1:3]]
    assert str(plan.archives).split(",") == [*first, *archives]
    assert str(plan.py_files).split(",") == [*first, task.layout.code("d")]


def test_without_files_no_argument_is_added(tmp_path: Path) -> None:
    env = StreamExecutionEnvironment("p")
    env.from_source(Csv("/in"), "in").sink_to(Parquet("/out"))
    settings = {"conf": {"spark.jars": "/b", "spark.archives": "/b", "spark.submit.pyFiles": "/b"}}
    plan = prepared(task_of(env, str(tmp_path)), LOCAL, None, settings)
    assert (plan.jars, plan.archives, plan.py_files) == (None, None, None)
    assert plan.documents == {}


def test_a_driver_that_sees_the_staging_root_by_itself_has_jars_on_class_paths(task: TaskDeploymentDescriptor) -> None:
    conf = {**IN_THE_POD, "spark.executor.extraClassPath": "/theirs.jar"}
    plan = prepared(task, KUBERNETES, "cluster", {"conf": conf}, code=CODE)
    keys = [task.layout.artifact(it) for it in task.region.artifacts[1:]]
    assert plan.jars is None
    assert plan.conf["spark.driver.extraClassPath"] == ":".join(keys[:2])
    assert plan.conf["spark.executor.extraClassPath"] == f"/theirs.jar:{':'.join(keys[:2])}"
    assert str(plan.archives).split(",")[0] == f"local://{keys[2].replace('%', '%25')}#environment"
    assert plan.conf["spark.kubernetes.driver.pod.name"] == plan.pod
    assert str(plan.application).startswith("local:///")


def test_options_of_a_java_elsewhere_are_added_once(task: TaskDeploymentDescriptor) -> None:
    plan = prepared(task, YARN, "cluster", {"conf": {OPTIONS: "-Da=b"}})
    again = prepared(task, YARN, "cluster", {"conf": {OPTIONS: plan.conf[OPTIONS]}})
    assert plan.conf[OPTIONS].startswith("-Da=b -XX:+ExitOnOutOfMemoryError")
    assert again.conf[OPTIONS] == plan.conf[OPTIONS]


@pytest.mark.parametrize("target", [YARN, KUBERNETES])
def test_keys_of_the_staging_root_do_not_reach_a_driver_elsewhere(
    target: ExecutionTarget, task: TaskDeploymentDescriptor
) -> None:
    access = S3Access(access_key="canary", secret_key="canary")
    known = {"access": access, "staging_conn_id": "lake"}
    with pytest.raises(SecretError, match="'lake' of the staging root has keys") as raised:
        prepared(task, target, "cluster", **known)
    assert "canary" not in str(raised.value)
    plan = prepared(task, target, "client", **known)
    assert "canary" not in f"{plan}{plan.environment}", "they are added when it is submitted"
    assert prepared(task, target, "cluster", access=HdfsAccess(user="etl")).conf


def test_a_target_with_no_way_for_secrets_refuses_them(tmp_path: Path) -> None:
    env = StreamExecutionEnvironment("p")
    env.from_source(Jdbc("jdbc:x://db/x", table="t", options={"o": Secret("db")}), "in").sink_to(Parquet("/out"))
    acme = ExecutionTarget(
        name="acme", masters="acme://.+", master_form="acme://HOST", client=DriverPlace(), cluster=DriverPlace()
    )  # fmt: skip
    spark = {"master": "acme://h"}
    with pytest.raises(SecretError, match="master 'acme://h' in deploy mode 'client'"):
        prepared(task_of(env, str(tmp_path)), acme, None, spark)
    env = StreamExecutionEnvironment("p")
    env.from_source(Csv("/in"), "in").sink_to(Parquet("/out"))
    assert prepared(task_of(env, str(tmp_path)), acme, None, spark)


def test_the_order_of_settings_does_not_matter(task: TaskDeploymentDescriptor) -> None:
    """Each step reads the settings by their names."""
    settings = [
        ("spark.pyspark.python", "environment/bin/python"),
        ("spark.jars", "/theirs.jar"),
        (OPTIONS, "-Da=b"),
        *IN_THE_POD.items(),
    ]
    for target, mode in PLACES:
        plans = [prepared(task, target, mode, {"conf": dict(order)}, code=CODE) for order in permutations(settings)]
        assert all(plan == plans[0] for plan in plans)


@pytest.mark.parametrize(("target", "count"), [(LOCAL, 0), (STANDALONE, 1), (YARN, 1)])
def test_code_is_packed_for_executors_that_do_not_see_this_host(
    target: ExecutionTarget, count: int, tmp_path: Path
) -> None:
    """It is the code of all functions of the pipeline, also of other tasks."""
    from graph_compiler.airflow_backend.provider.preparation import prepare
    from graph_compiler.airflow_backend.task.submitting import submit_facts
    from graph_compiler.airflow_backend.task.task_try import TaskTry

    env = StreamExecutionEnvironment("p")
    rows = env.from_source(Csv("/in", schema="x INT"), "in")
    once = rows.transform(functions.fails_once_and_loses_its_input).name("once")
    once.stage("two tasks").filter("x > 0").sink_to(Parquet("/out")).name("out")
    regions = list(describe_regions(compile_pipeline(env.pipeline())))
    run = DeskRun(day="2013-01-01", params={}, run_id="r", staging_root=str(tmp_path))
    last = TaskTry([desk_task(regions[-1], run, execution_id="e")])
    known = submit_facts(facts(last.first, target).spark, last, regions[:-1], UNDECLARED, None)
    documents = prepare(known).documents
    assert len(documents) == count
    for key, content in documents.items():
        (tmp_path / "code.zip").write_bytes(content)
        assert "tests/browser/functions.py" in zipfile.ZipFile(tmp_path / "code.zip").namelist()
        assert key.startswith(f"{tmp_path}/p/r/code/")


def test_the_door_passes_what_a_plan_says(task: TaskDeploymentDescriptor, monkeypatch: pytest.MonkeyPatch) -> None:
    from graph_compiler.airflow_backend.provider.submit_operator import SubmitOperator
    from graph_compiler.airflow_backend.task.submitting import prepare_try
    from graph_compiler.airflow_backend.task.task_try import TaskTry

    connection = json.dumps({"conn_type": "spark", "host": "spark://h:7077"})
    monkeypatch.setenv("AIRFLOW_CONN_SPARK_DEFAULT", connection)
    given = {"spark.jars": "/theirs.jar"}
    operator = SubmitOperator(task_id="t", conf=given, py_files="/mine.zip", application_args=["x"])
    found = prepare_try(operator, TaskTry([task]), (), UNDECLARED)
    words, plan = list(found.submission.command), found.plan
    pairs = list(zip(words[1:-2:2], words[2:-2:2], strict=True))
    settings = [word.partition("=") for option, word in pairs if option == "--conf"]
    assert {key: value for key, _, value in settings} == plan.conf
    for option, value in (("--jars", plan.jars), ("--archives", plan.archives), ("--py-files", plan.py_files)):
        assert (option, value) in pairs
    assert words[-2:] == [plan.application, "x"]
    assert given == {"spark.jars": "/theirs.jar"}, "the next try begins with them"
    assert sys.executable in plan.added["PYSPARK_DRIVER_PYTHON"]
