"""Hosts with another zone, locale or charset read and write the same rows: each is a driver's process of its own."""

import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession
from pyspark.sql.types import Row

import graph_compiler
from graph_compiler import Csv, Jdbc, Orc, Parquet, Secret, StreamExecutionEnvironment
from graph_compiler.compiler.pipeline_compiler import compile_pipeline
from graph_compiler.declaration.connectors import Connector
from graph_compiler.deployment.describe.local_task import DeskRun, desk_task
from graph_compiler.deployment.describe.region_descriptors import describe_regions
from graph_compiler.deployment.documents.jvm_settings import (
    CONFIRMED_ZONE,
    HOST_ZONE_VARIABLE,
    OPTIONS,
    driver_defaults,
)
from graph_compiler.driver_jvm.pinned_process import pinned_variables
from graph_compiler.errors import PublicationError
from graph_compiler.spark_runtime.pinned_jvm import JvmNotPinnedError, check_executor_jvms, check_jvm, executor_pins
from graph_compiler.testing.pytest_plugin import SHORT_LIVED
from tests.conftest import mark
from tests.harness.postgres import DRIVER, JAR, Postgres, running_postgres
from tests.harness.sinks import Sinks
from tests.spark.other_hosts_functions import with_hour_in_python

pytestmark = [pytest.mark.spark, pytest.mark.ci]
ROOT = Path(__file__).parents[2]
MAIN = Path(graph_compiler.__file__).parent / "spark_runtime" / "main.py"
PASSWORD = Secret("warehouse", "password")
TURKISH = "-Duser.language=tr -Duser.country=TR -Dfile.encoding=ISO-8859-9"
HOSTS = {
    "UTC": {"TZ": "UTC"},
    "Vienna": {"TZ": "Europe/Vienna"},
    "Turkish in Kathmandu": {"TZ": "Asia/Kathmandu", "LC_ALL": "tr_TR.UTF-8", "JAVA_TOOL_OPTIONS": TURKISH},
}
TIMES = "2024-03-31 02:30:00", "2024-03-31 01:30:00", "2024-10-27 00:30:00", "1970-01-01 00:00:00"
"""One hour of them does not exist in Vienna, one comes twice."""


@pytest.fixture(scope="module")
def postgres() -> Iterator[Postgres]:
    with running_postgres() as server:
        rows = ", ".join(f"({number}, '{at}', '{at}')" for number, at in enumerate(TIMES))
        server.sql(f"CREATE TABLE times (id INT, at TIMESTAMP, day DATE); INSERT INTO times VALUES {rows}")
        yield server


def write_inputs(folder: Path, spark: SparkSession) -> None:
    lines = [f"{number},{at},{at[:10]},IĞRİ" for number, at in enumerate(TIMES)]
    (folder / "in").mkdir()
    (folder / "in" / "times.csv").write_text("\n".join(["id,at,day,name", *lines]))
    times = ", ".join(f"({number}, TIMESTAMP '{at}')" for number, at in enumerate(TIMES))
    spark.sql(f"SELECT * FROM VALUES {times} AS (id, at)").coalesce(1).write.orc(f"{folder}/orc_in")


def pipeline(folder: Path, server: Postgres) -> StreamExecutionEnvironment:
    env = StreamExecutionEnvironment("p")
    text = Csv(f"{folder}/in", schema="id INT, at TIMESTAMP, day DATE, name STRING")
    rows = env.from_source(text, "text").select(
        "id", "at", "day", i="lower('I')", name="lower(name)", same="to_date(at) = day"
    )
    rows.sink_to(Orc(f"{folder}/merged"), mode="merge", keys=["id", "day"], partition_by="day").name("merged")
    table = Jdbc(server.url, table="times", user=server.user, password=PASSWORD, driver=DRIVER)
    for name, source in {"table": table, "orc": Orc(f"{folder}/orc_in")}.items():
        read = env.from_source(source, name).transform(with_hour_in_python).name(f"{name}_hours")
        read.sink_to(Parquet(f"{folder}/{name}")).name(f"from_{name}")
    return env


def run(
    folder: Path, env: StreamExecutionEnvironment, name: str, program: list[str], **variables: str
) -> tuple["subprocess.CompletedProcess[str]", list[str]]:
    """Run a pipeline's task in a process of its own; return it with the reports of its regions."""
    regions = describe_regions(compile_pipeline(env.pipeline()))
    desk = DeskRun(day="2024-03-31", params={}, run_id=name, staging_root=f"{folder}/staging")
    descriptors = []
    for region in regions:
        task = desk_task(region, desk, execution_id=f"e_{name}")
        mark(task)
        descriptor = Path(task.layout.descriptor(region.region_id, f"e_{name}"))
        descriptor.parent.mkdir(parents=True)
        descriptor.write_text(task.to_json())
        descriptors.append(descriptor)
    done = subprocess.run(
        [*program, str(MAIN), *map(str, descriptors)],
        env={**os.environ, "PYTHONPATH": f"{ROOT}:{ROOT}/plugins", "PYSPARK_PYTHON": sys.executable, **variables},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    reports = [path.with_name("report.json") for path in descriptors]
    return done, [path.read_text() for path in reports if path.exists()]


def settings(*more: str) -> list[str]:
    words = ["--master", "local[1]", "--conf", "spark.ui.enabled=false", "--jars", str(JAR)]
    return [*words, *more]


def unpinned(variables: Mapping[str, str]) -> dict[str, str]:
    """Return this process's options of a JVM without the pins, which the session of these tests has set."""
    return {"SPARK_SUBMIT_OPTS": SHORT_LIVED, "JAVA_TOOL_OPTIONS": "", **variables}


def rows_in(folder: Path, spark: SparkSession) -> dict[str, list[Row]]:
    merged = spark.read.orc(f"{folder}/merged")
    found = {"merged": merged.select(*sorted(merged.columns)).orderBy("id").collect()}
    for name in ("table", "orc"):
        found[name] = spark.read.parquet(f"{folder}/{name}").orderBy("id").collect()
    return found


def test_hosts_read_write_and_merge_the_same_rows(postgres: Postgres, tmp_path: Path, spark: SparkSession) -> None:
    write_inputs(tmp_path, spark)
    env, found = pipeline(tmp_path, postgres), {}
    for host, variables in HOSTS.items():
        arguments = " ".join([*settings(), "pyspark-shell"])
        secrets = {PASSWORD.variable: postgres.password, "PYSPARK_SUBMIT_ARGS": arguments}
        given = unpinned({**variables, **secrets})
        done, reports = run(tmp_path, env, host.replace(" ", "_"), [sys.executable], **given)
        assert done.returncode == 0, (host, done.stderr[-5000:], reports)
        found[host] = rows_in(tmp_path, spark)
    first = found["UTC"]
    assert [str(row["at"]) for row in first["table"]] == list(TIMES)
    assert [row["hour"] for row in first["table"]] == [2, 1, 0, 0]
    assert [row["hour"] for row in first["orc"]] == [2, 1, 0, 0]
    assert {row["i"] for row in first["merged"]} == {"i"}
    assert found == dict.fromkeys(HOSTS, first)


@pytest.mark.parametrize("kind", ["orc", "jdbc"])
@pytest.mark.parametrize("mode", ["append", "merge"])
def test_rows_are_added_to_what_another_zone_may_have_written_only_once_confirmed(
    kind: str, mode: str, postgres: Postgres, tmp_path: Path, spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    sinks = Sinks(spark, tmp_path / "staging")
    monkeypatch.setenv(PASSWORD.variable, postgres.password)
    spark.sql(f"ADD JAR {JAR}")
    orc, user = Orc(f"{tmp_path}/out"), postgres.user
    table = Jdbc(postgres.url, table=f"out_{mode}", user=user, password=PASSWORD, driver=DRIVER)
    to: Connector = orc if kind == "orc" else table
    rows = spark.sql("SELECT 1 AS id, TIMESTAMP '2024-03-31 02:30:00' AS at")
    settings: dict[str, Any] = {"mode": mode, "keys": ("id",) if mode == "merge" else ()}
    sinks.write(to, rows, run="old")
    (record,) = (tmp_path / "staging" / ".targets").rglob("*.intent.json")
    record.write_text(record.read_text().replace(' "zone": "UTC",\n', ""))
    monkeypatch.setenv(HOST_ZONE_VARIABLE, "")
    sinks.open(to, run="in_utc", **settings).check(rows)
    monkeypatch.setenv(HOST_ZONE_VARIABLE, "Europe/Vienna")
    with pytest.raises(PublicationError, match="this host has Europe/Vienna") as refusal:
        sinks.open(to, run="refused", **settings).check(rows)
    assert f"set the option {CONFIRMED_ZONE}: UTC" in str(refusal.value)
    spark.conf.set(CONFIRMED_ZONE, "UTC")
    try:
        sinks.write(to, rows, run="confirmed", **settings)
    finally:
        spark.conf.unset(CONFIRMED_ZONE)
    sinks.write(to, rows, run="later", **settings)


def test_targets_whose_times_do_not_depend_on_the_host_are_never_refused(
    tmp_path: Path, spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    sinks = Sinks(spark, tmp_path / "staging")
    monkeypatch.setenv(HOST_ZONE_VARIABLE, "Europe/Vienna")
    times = spark.sql("SELECT 1 AS id, TIMESTAMP '2024-03-31 02:30:00' AS at")
    cases = [
        (Parquet(f"{tmp_path}/parquet"), times),
        (Csv(f"{tmp_path}/csv"), times),
        (Orc(f"{tmp_path}/local"), times.selectExpr("id", "CAST(at AS TIMESTAMP_NTZ) AS at")),
        (Orc(f"{tmp_path}/no_times"), times.select("id")),
    ]
    for to, rows in cases:
        sinks.write(to, rows, run="old")
        for record in (tmp_path / "staging" / ".targets").rglob("*.intent.json"):
            record.write_text(record.read_text().replace(' "zone": "UTC",\n', ""))
        sinks.write(to, rows, run="new", mode="append")


@pytest.mark.parametrize("variables", [{"TZ": "Europe/Vienna"}, {"_JAVA_OPTIONS": TURKISH}])
def test_a_driver_that_was_not_pinned_fails_before_a_row_moves(variables: dict[str, str], tmp_path: Path) -> None:
    env = StreamExecutionEnvironment("p")
    env.from_source(Orc(f"{tmp_path}/in"), "in").sink_to(Parquet(f"{tmp_path}/out")).name("out")
    program = [f"{Path(sys.executable).parent}/spark-submit", *settings()]
    pins = pinned_variables({}) if "TZ" not in variables else {}
    done, reports = run(tmp_path, env, "run", program, **unpinned({**pins, **variables}))
    (report,) = reports
    assert done.returncode not in (0, 1)
    assert "the driver's JVM differs from those of other hosts" in report
    found = "time zone is 'Europe/Vienna'" if "TZ" in variables else "locale is 'tr_TR'"
    assert found in report
    assert "ENVIRONMENT_ERROR" in report


@pytest.mark.usefixtures("spark")
def test_settings_that_only_a_file_has_are_looked_at_when_the_driver_starts() -> None:
    check_jvm({"spark.driver.extraJavaOptions": f"-Xss4m {OPTIONS}"})
    with pytest.raises(JvmNotPinnedError) as refusal:
        check_jvm({"spark.executor.extraJavaOptions": "-Xss4m -Duser.timezone=CET"})
    assert "spark.executor.extraJavaOptions has '-Duser.timezone=CET'" in str(refusal.value)


def test_executors_get_what_was_submitted_and_the_pins() -> None:
    key = "spark.executor.extraJavaOptions"
    assert executor_pins({"spark.master": "local[2]", key: "-Xss4m"}) == {"spark.executorEnv.TZ": "UTC"}
    for master in ("spark://h:7077", "yarn", "k8s://https://h:6443"):
        pins = executor_pins({"spark.master": master, key: "-Xss4m"})
        assert pins == {"spark.executorEnv.TZ": "UTC", key: f"-Xss4m {OPTIONS}"}
        assert executor_pins({"spark.master": master})[key] == OPTIONS


def test_a_driver_with_its_executors_in_it_waits_for_no_host() -> None:
    """In HDFS, `tests/hdfs/test_streams_in_hdfs.py` would wait forever."""
    assert driver_defaults("local[2]", {})["spark.locality.wait"] == "0"
    assert "spark.locality.wait" not in driver_defaults("local[2]", {"spark.locality.wait.node": "1s"})
    assert "spark.locality.wait" not in driver_defaults("yarn", {})


def test_no_stage_runs_a_method_that_java_does_not_compile(spark: SparkSession) -> None:
    """`python -m benchmarks --only strict` has a source of many columns: its rows take twice the CPU without this."""
    key = "spark.sql.codegen.hugeMethodLimit"
    assert driver_defaults("yarn", {}) == {key: "8000"}
    assert driver_defaults("yarn", {key: "65535"}) == {}
    assert spark.conf.get(key) == "8000"


def test_executors_are_asked_for_their_properties(spark: SparkSession) -> None:
    assert spark._jvm is not None
    system = spark._jvm.java.lang.System
    check_executor_jvms(spark, 2)
    system.setProperty("user.language", "tr")
    try:
        with pytest.raises(JvmNotPinnedError, match="user.language is 'tr'; allowed: 'en'"):
            check_executor_jvms(spark, 2)
    finally:
        system.setProperty("user.language", "en")
