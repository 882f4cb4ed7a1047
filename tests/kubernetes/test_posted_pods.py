"""What spark-submit posts for a task in cluster mode on Kubernetes, compared with golden files."""

import json
import os
import re
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from graph_compiler import (
    Csv,
    Jdbc,
    Parquet,
    Secret,
    SlotSharingGroup,
    StreamExecutionEnvironment,
)
from tests.browser import functions
from tests.kubernetes.conftest import submitted
from tests.kubernetes.recording_api import RecordingApi

if TYPE_CHECKING:
    from graph_compiler.airflow_backend.task.region_operator import RegionOperator

pytestmark = [pytest.mark.kubernetes, pytest.mark.filterwarnings("default")]
ROOT = Path(__file__).parents[2]
GOLDEN = Path(__file__).with_name("golden")
PASSWORD = "hunter2-is-in-no-pod"
DATABASE = Secret("shop")
REFERENCE = f"spark.kubernetes.driver.secretKeyRef.{DATABASE.variable}"
BIG = SlotSharingGroup(
    "big",
    driver_cores=2,
    driver_memory="4g",
    executor_cores=4,
    executor_memory="8g",
    executor_instances=3,
)


def plain() -> StreamExecutionEnvironment:
    return to_parquet(StreamExecutionEnvironment("sales"))


def with_function() -> StreamExecutionEnvironment:
    env = StreamExecutionEnvironment("sales")
    rows = env.from_source(Csv("/data/orders", schema="x INT"), "orders")
    changed = rows.transform(functions.fails_once_and_loses_its_input).name("changed")
    changed.sink_to(Parquet("/data/out")).name("out")
    return env


def with_resources() -> StreamExecutionEnvironment:
    return to_parquet(StreamExecutionEnvironment("sales"), group=BIG)


def with_secret() -> StreamExecutionEnvironment:
    env = StreamExecutionEnvironment("sales", config={REFERENCE: "shop-database:password"})
    table = Jdbc(
        "jdbc:postgresql://db/shop",
        table="orders",
        schema="x INT",
        user="shop",
        password=DATABASE,
    )
    env.from_source(table, "orders").sink_to(Parquet("/data/out")).name("out")
    return env


def to_parquet(
    env: StreamExecutionEnvironment, group: str | SlotSharingGroup = "default"
) -> StreamExecutionEnvironment:
    rows = env.from_source(Csv("/data/orders", schema="x INT"), "orders")
    rows.slot_sharing_group(group).sink_to(Parquet("/data/out")).name("out")
    return env


PIPELINES = (plain, with_function, with_resources, with_secret)


def operator_of(env: StreamExecutionEnvironment) -> "RegionOperator":
    from graph_compiler.airflow_backend import build_dag

    dag = build_dag(env, schedule=None, start_date=datetime(2013, 1, 1, tzinfo=UTC))
    (task,) = dag.tasks
    operator: Any = task
    found: RegionOperator = operator
    return found


@pytest.mark.parametrize("pipeline", PIPELINES, ids=lambda it: it.__name__)
def test_what_spark_posts(
    pipeline: Any,
    cluster: RecordingApi,
    root: Path,
    monkeypatch: pytest.MonkeyPatch,
    request: pytest.FixtureRequest,
) -> None:
    connection = {"conn_type": "postgres", "host": "db", "password": PASSWORD}
    monkeypatch.setenv("AIRFLOW_CONN_SHOP", json.dumps(connection))
    operator = operator_of(pipeline())
    id = submitted(operator, root)

    pod = cluster.pod()
    assert id == f"jobs:{pod['metadata']['name']}"
    record = "".join(path.read_text() for path in root.rglob("submission.json"))
    said = record + "".join(it.body for it in cluster.requests)
    assert PASSWORD not in said
    elsewhere = "".join(it.body for it in cluster.requests).replace(str(root), "")
    for of_this_host in (str(ROOT), sys.prefix, os.environ["HOME"] + "/", "PYTHONPATH"):
        assert of_this_host not in elsewhere
    program = pod["spec"]["containers"][0]["args"]
    assert [word for word in program if str(root) in word] == [
        str(path) if path.name == "descriptor.json" else f"local://{path}"
        for path in (*root.rglob("code/*.py"), *root.rglob("descriptor.json"))
    ]
    compare(golden_text(cluster, root), GOLDEN / f"{pipeline.__name__}.json", request)


def golden_text(api: RecordingApi, root: Path) -> str:
    """Return what there is in the end, with names, times and digests in place of those that differ."""
    kept = {
        f"{kind} {name}": resource | {"status": None}
        for (kind, name), resource in sorted(api.resources.items())
    }
    for resource in kept.values():
        if "spark.properties" in (data := resource.get("data") or {}):
            lines = data["spark.properties"].replace("\\", "").splitlines()
            resource["data"] = {
                "spark.properties": sorted(line for line in lines if line[0] != "#")
            }
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
