"""What spark-submit posts for a task in cluster mode on Kubernetes, compared with golden files."""

import json
import os
import re
import sys
from pathlib import Path
from typing import Any
from urllib.parse import quote
from zipfile import ZipFile

import pytest

from graph_compiler import Csv, Jdbc, Parquet, Secret, SlotSharingGroup, StreamExecutionEnvironment
from tests.browser import functions
from tests.harness.executed_regions import Store, execute, folder_of, leave_report, outcome
from tests.kubernetes.conftest import operator_of, plain, settings_of_users
from tests.kubernetes.recording_api import RecordingApi, Resource

pytestmark = [pytest.mark.kubernetes, pytest.mark.filterwarnings("default")]
ROOT = Path(__file__).parents[2]
GOLDEN = Path(__file__).with_name("golden")
EXECUTION = "01a1"
PASSWORD = "hunter2-is-in-no-pod"
DATABASE = Secret("shop")
REFERENCE = f"spark.kubernetes.driver.secretKeyRef.{DATABASE.variable}"
BIG = SlotSharingGroup(
    "big", driver_cores=2, driver_memory="4g", executor_cores=4, executor_memory="8g", executor_instances=3
)


def with_function() -> StreamExecutionEnvironment:
    env = StreamExecutionEnvironment("sales")
    rows = env.from_source(Csv("/data/orders", schema="x INT"), "orders")
    changed = rows.transform(functions.fails_once_and_loses_its_input).name("changed")
    changed.sink_to(Parquet("/data/out")).name("out")
    return env


def with_resources() -> StreamExecutionEnvironment:
    return plain(BIG)


def with_secret() -> StreamExecutionEnvironment:
    env = StreamExecutionEnvironment("sales", config={REFERENCE: "shop-database:password"})
    table = Jdbc("jdbc:postgresql://db/shop", table="orders", schema="x INT", user="shop", password=DATABASE)
    env.from_source(table, "orders").sink_to(Parquet("/data/out")).name("out")
    return env


PIPELINES = (plain, with_function, with_resources, with_secret)


@pytest.mark.parametrize("pipeline", PIPELINES, ids=lambda it: it.__name__)
def test_what_spark_posts(
    pipeline: Any, cluster: RecordingApi, root: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> None:
    connection = {"conn_type": "postgres", "host": "db", "password": PASSWORD}
    monkeypatch.setenv("AIRFLOW_CONN_SHOP", json.dumps(connection))
    monkeypatch.setenv("OF_THIS_HOST", "canary-of-the-environment")
    operator = operator_of(pipeline())
    folder = folder_of(operator, EXECUTION)
    play(cluster, folder)
    execute(operator, Store(), EXECUTION)
    assert outcome(folder) == "FINISHED"

    posted = "".join(it.body for it in cluster.requests)
    record = (folder / "submission.json").read_text()
    assert PASSWORD not in posted + record
    elsewhere = posted.replace(str(root), "")
    host = (str(ROOT), sys.prefix, os.environ["HOME"] + "/", "PYTHONPATH", "OF_THIS_HOST", "canary")
    assert [word for word in host if word in elsewhere] == []
    (name,) = cluster.pods()
    pod = cluster.written["pods", name]
    program = pod["spec"]["containers"][0]["args"]
    assert [word for word in program if str(root) in word] == [
        str(path) if path.name == "descriptor.json" else f"local://{quote(str(path))}"
        for path in (*root.rglob("code/*.py"), *root.rglob("descriptor.json"))
    ]
    (archive,) = root.rglob("code/*.zip")
    with ZipFile(archive) as code:
        assert ("tests/browser/functions.py" in code.namelist()) == (pipeline is with_function)
    compare(golden_text(cluster, root), GOLDEN / f"{pipeline.__name__}.json", request)


def play(cluster: RecordingApi, folder: Path) -> None:
    """Let each pod succeed, with a report in a folder."""

    def run(pod: Resource) -> None:
        leave_report(folder)
        cluster.set_phase(pod["metadata"]["name"], "Succeeded")

    cluster.on_pod = run


def golden_text(api: RecordingApi, root: Path) -> str:
    """Return what there is in the end, with names, times and digests in place of those that differ."""
    kept = {f"{kind} {name}": resource | {"status": None} for (kind, name), resource in sorted(api.written.items())}
    for resource in kept.values():
        if "spark.properties" in (data := resource.get("data") or {}):
            lines = data["spark.properties"].replace("\\", "").splitlines()
            resource["data"] = {"spark.properties": sorted(line for line in lines if line[0] != "#")}
    text = json.dumps(kept, indent=1, sort_keys=True).replace(str(root), "/mnt/staging")
    for pattern, word in (
        (re.escape(api.address), "http://ADDRESS"),
        (r"\b[0-9a-f]{64}\b", "SHA256"),
        (r"\bspark-[0-9a-f]{32}\b", "spark-APPLICATION"),
        (r"-[0-9a-f]{16}-", "-SUBMISSION-"),
        (r"spark-exec-[0-9a-f]+|spark-drv-[0-9a-f]+", "spark-drv-SUBMISSION"),
        (r"spark-submission-[0-9a-f-]+|[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", "UUID"),
        (r'"resourceVersion": "\d+"', '"resourceVersion": "N"'),
        (r'("SPARK_USER",\s+"value": )"[^"]*"', r'\1"USER"'),
        (r"submitTime=\d+", "submitTime=TIME"),
        (r'"spark-version": "[\d.]+"', '"spark-version": "VERSION"'),
    ):
        text = re.sub(pattern, word, text)
    return text + "\n"


def compare(text: str, file: Path, request: pytest.FixtureRequest) -> None:
    if request.config.getoption("--update-golden"):
        file.write_text(text)
    assert text == file.read_text()


def test_the_example_of_the_page_is_what_is_tested() -> None:
    page = (ROOT / "docs" / "kubernetes.md").read_text()
    _, _, example = page.partition("spark_conf = ")
    found, _ = json.JSONDecoder().raw_decode(example)
    assert found == settings_of_users(Path("/mnt/staging"))


def test_the_configuration_of_this_host_is_posted(
    cluster: RecordingApi, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Spark does so: docs/kubernetes.md warns of it."""
    files = {"SPARK_CONF_DIR": "log4j2.properties", "HADOOP_CONF_DIR": "core-site.xml"}
    for variable, name in files.items():
        folder = tmp_path / variable
        folder.mkdir()
        (folder / name).write_text("<configuration/>" if name.endswith("xml") else "status = warn")
        monkeypatch.setenv(variable, str(folder))
    operator = operator_of(plain())
    play(cluster, folder_of(operator, EXECUTION))
    execute(operator, Store(), EXECUTION)
    posted = [name for it in cluster.written.values() for name in it.get("data") or {}]
    assert set(files.values()) <= set(posted)
