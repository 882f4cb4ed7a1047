"""How `graph-compiler doctor` judges what it finds; neither Java nor Airflow is started."""

import os
import sys
from importlib.metadata import PackageNotFoundError
from pathlib import Path

import pytest

from graph_compiler.cli.diagnosis import airflow_health
from graph_compiler.cli.diagnosis.airflow_health import AirflowHealth, judge_airflow
from graph_compiler.cli.diagnosis.check import Check, Finding, State, carry_out_checks, failed, ok
from graph_compiler.cli.diagnosis.deployment import configuration, deployment_findings
from graph_compiler.cli.diagnosis.programs import (
    Programs,
    driver_python,
    java,
    judge_jars,
    judge_java,
    judge_pyspark,
    spark_submit,
    time_zone,
)
from graph_compiler.cli.diagnosis.staging_root import StagingRoot, judge_staging_root
from graph_compiler.cli.running.embedded_airflow import EmbeddedAirflow
from graph_compiler.deployment.documents.jvm_settings import HOST_ZONE_VARIABLE
from graph_compiler.staging.store.local_store import LocalStore

ROOT = "/staging"
HEALTHY: dict[str, dict[str, object]] = {
    "airflow": {"value": "3.3.2"},
    "plugin": {"value": {"loaded": ["graph_compiler"], "errors": {}}},
    "settings": {"value": {"staging_root": ROOT}},
    "spark_connection": {
        "value": {
            "conn_id": "spark_default",
            "problem": None,
            "type": "spark",
            "host": "spark://master",
            "port": 7077,
            "deploy_mode": None,
        }
    },
    "api_connection": {"value": {"conn_id": None, "problem": None}},
    "pools": {"value": {"dags": 1, "named": ["big"], "missing": {}}},
    "triggerer": {"value": {"is_alive": False, "is_default": False, "waiting": 0}},
}


def states(facts: dict[str, dict[str, object]]) -> dict[str, Finding]:
    health = AirflowHealth(facts={**HEALTHY, **facts}, staging_root=ROOT)
    return {
        answer.name: answer.finding
        for answer in judge_airflow(health)
        if answer.name != "Spark provider"  # which is looked up where the tests run
    }


def test_a_check_that_crashes_hides_no_other() -> None:
    def crash(_: str) -> Finding:
        raise ZeroDivisionError("by nought")

    checks = [Check("one", crash), Check("two", ok)]
    first, second = carry_out_checks(checks, "fine")
    assert first.finding.state is State.FAILED
    assert "the check itself failed: ZeroDivisionError: by nought" in first.finding.found
    assert second.finding == ok("fine")


@pytest.mark.parametrize(
    ("said", "state"),
    [
        ('openjdk version "17.0.15" 2025-04-15\nOpenJDK …', State.OK),
        ('openjdk version "21" 2023-09-19', State.OK),
        ('java version "1.8.0_402"', State.FAILED),
        ('openjdk version "25.0.3" 2026-04-21', State.FAILED),
        ("Unable to locate a Java Runtime.", State.FAILED),
    ],
)
def test_java_17_and_21_are_accepted(said: str, state: State) -> None:
    found = judge_java(said, "/usr/bin/java")
    assert found.state is state
    assert (found.cure is None) == (state is State.OK)
    assert "/usr/bin/java" in found.found


def test_a_missing_java_is_reported_with_the_searched_places(tmp_path: Path) -> None:
    found = java(Programs(environment={"PATH": str(tmp_path)}))
    assert found.state is State.FAILED
    assert "on PATH, and JAVA_HOME is not set" in found.found
    found = java(Programs(environment={"PATH": os.environ["PATH"], "JAVA_HOME": str(tmp_path)}))
    assert str(tmp_path) in found.found
    assert "apt-get install openjdk-17" in str(found.cure)


def test_spark_submit_is_found_like_a_task_finds_it(tmp_path: Path) -> None:
    assert spark_submit(Programs(environment={"PATH": str(tmp_path)})).state is State.FAILED
    (tmp_path / "bin").mkdir()
    program = tmp_path / "bin" / "spark-submit"
    program.touch(mode=0o700)
    found = spark_submit(Programs(environment={"PATH": "", "SPARK_HOME": str(tmp_path)}))
    assert (found.state, found.found) == (State.OK, str(program))


def test_driver_and_executors_must_use_this_python(tmp_path: Path) -> None:
    here = {"PYSPARK_PYTHON": sys.executable}
    assert driver_python(Programs(environment=here)).state is State.OK
    other = tmp_path / "python"
    other.write_text("#!/bin/sh\necho 2.7\n")
    other.chmod(0o700)
    found = driver_python(Programs(environment={"PYSPARK_DRIVER_PYTHON": str(other)}))
    assert found.state is State.FAILED
    assert f"PYSPARK_DRIVER_PYTHON={other} is 2.7" in found.found
    found = driver_python(Programs(environment={"PYSPARK_PYTHON": str(tmp_path / "none")}))
    assert "is not a working Python" in found.found


@pytest.mark.parametrize(
    ("version", "has_client", "state"),
    [
        ("4.1.0", False, State.FAILED),
        ("4.4.0", False, State.FAILED),
        ("4.3.0", False, State.OK),
        ("4.3.0", True, State.FAILED),
        ("3.5.1", False, State.FAILED),
        ("4.0.1", False, State.FAILED),
        ("5.0.0", False, State.FAILED),
        (None, False, State.FAILED),
    ],
)
def test_the_full_pyspark_is_required(version: str | None, has_client: bool, state: State) -> None:
    found = judge_pyspark(version, has_client=has_client)
    assert found.state is state
    assert (found.cure is None) == (state is State.OK)


def test_the_jars_must_be_those_of_the_package() -> None:
    jar = "spark-core_2.13-{}.jar".format
    assert judge_jars([jar("4.3.0")], "4.3.0", "/s/jars", has_home=False).state is State.OK
    older = judge_jars([jar("4.0.0")], "4.3.0", "/s/jars", has_home=True)
    assert (older.found, older.cure) == ("4.0.0 in /s/jars, and pyspark is 4.3.0", "unset SPARK_HOME")
    two = judge_jars([jar("4.0.0"), jar("4.3.0")], "4.3.0", "/s/jars", has_home=False)
    assert two.state is State.FAILED
    assert judge_jars([], "4.3.0", "/s/jars", has_home=False).found.startswith("none in")


def test_a_good_staging_root_is_left_unchanged(tmp_path: Path) -> None:
    root = tmp_path / "staging"
    root.mkdir(mode=0o700)
    answers = judge_staging_root(StagingRoot(folder=root))
    assert {answer.finding.state for answer in answers} == {State.OK}
    assert list(root.iterdir()) == []


def test_a_missing_staging_root_is_not_created(tmp_path: Path) -> None:
    answers = judge_staging_root(StagingRoot(folder=tmp_path / "a" / "b"))
    assert {answer.finding.state for answer in answers} == {State.OK}
    assert list(tmp_path.iterdir()) == []


def test_an_unwritable_staging_root_is_one_finding(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    (answer,) = judge_staging_root(StagingRoot(folder=tmp_path / "file" / "staging"))
    assert answer.finding.state is State.FAILED
    assert answer.finding.found == f"{tmp_path / 'file'} is no folder"
    assert "STAGING_ROOT=" in str(answer.finding.cure)


def test_a_staging_root_that_is_open_to_others_is_a_warning(tmp_path: Path) -> None:
    root = tmp_path / "staging"
    root.mkdir()
    root.chmod(0o755)
    found = {answer.name: answer.finding for answer in judge_staging_root(StagingRoot(folder=root))}
    assert found["staging is private"].state is State.WARNING
    assert found["staging is private"].cure == f"chmod 700 {root}"


def test_a_file_system_that_gives_a_name_twice_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(LocalStore, "put_if_absent", lambda *_: True)
    found = {answer.name: answer.finding for answer in judge_staging_root(StagingRoot(folder=tmp_path))}
    assert found["staging commits"].state is State.FAILED
    assert found["staging renames"].state is State.OK


def test_a_good_airflow_passes() -> None:
    assert {name: finding.state for name, finding in states({}).items()} == dict.fromkeys(
        (*("Airflow", "plugin", "settings", "Spark connection", "API connection"), *("pools", "triggerer")), State.OK
    )
    assert states({})["Spark connection"].found == ("spark_default: spark://master:7077, deploy mode client")


def test_pools_are_unknown_until_a_pipeline_is_parsed() -> None:
    nothing = {"dags": 0, "named": [], "missing": {}}
    found = states({"pools": {"value": nothing}})["pools"]
    assert found.state is State.OK
    assert "has parsed no pipeline yet" in found.found


def test_a_triggerer_that_runs_is_enough() -> None:
    waits = {"is_alive": True, "is_default": True, "waiting": 2}
    found = states({"triggerer": {"value": waits}})["triggerer"]
    assert (found.state, found.found) == (State.OK, "one runs")


@pytest.mark.parametrize(
    ("name", "fact", "check", "state", "words"),
    [
        ("airflow", {"value": "2.10.5"}, "Airflow", State.FAILED, "3.3 is supported"),
        (
            "plugin",
            {"value": {"loaded": [], "errors": {"/p/io.py": "no such module"}}},
            "plugin",
            State.FAILED,
            "io.py: no such module",
        ),
        ("plugin", {"value": {"loaded": [], "errors": {}}}, "plugin", State.WARNING, "not load it"),
        ("plugin", {"error": "boom"}, "plugin", State.FAILED, "boom"),
        ("settings", {"error": "no JSON"}, "settings", State.FAILED, "no JSON"),
        (
            "settings",
            {"value": {"staging_root": "/other"}},
            "settings",
            State.WARNING,
            "Airflow stages in /other, but the command line looks in /staging",
        ),
        (
            "spark_connection",
            {"value": {"conn_id": "big", "problem": "The conn_id `big` isn't defined"}},
            "Spark connection",
            State.FAILED,
            "isn't defined",
        ),
        (
            "api_connection",
            {"value": {"conn_id": "api", "problem": "http://a: refused"}},
            "API connection",
            State.FAILED,
            "api: http://a: refused",
        ),
        (
            "pools",
            {"value": {"dags": 1, "named": ["a", "b"], "missing": {"b": ["d.1", "d.2", "d.3", "d.4", "d.5"]}}},
            "pools",
            State.FAILED,
            "there is no pool 'b', so d.1, d.2, d.3 and 2 others will never be scheduled",
        ),
        (
            "triggerer",
            {"value": {"is_alive": False, "is_default": False, "waiting": 2}},
            "triggerer",
            State.FAILED,
            "none runs, and 2 tasks wait for one",
        ),
        (
            "triggerer",
            {"value": {"is_alive": False, "is_default": True, "waiting": 0}},
            "triggerer",
            State.WARNING,
            "will wait for one",
        ),
        ("triggerer", {"error": "no database"}, "triggerer", State.FAILED, "no database"),
    ],
)
def test_each_fact_about_airflow_is_checked(
    name: str, fact: dict[str, object], check: str, state: State, words: str
) -> None:
    found = states({name: fact})
    assert found[check].state is state
    assert words in found[check].found
    assert found[check].cure
    assert {other.state for other_name, other in found.items() if other_name != check} == {State.OK}


def test_a_connection_without_a_master_is_reported() -> None:
    value = {"conn_id": "c", "problem": None, "type": "spark", "host": "", "port": None}
    assert (
        states({"spark_connection": {"value": {**value, "deploy_mode": None}}})["Spark connection"].found
        == "c names no master"
    )


def test_a_provider_that_a_master_needs_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    value = {"conn_id": "c", "problem": None, "type": "spark", "host": "k8s://https://h", "port": 6443}
    facts: dict[str, dict[str, object]] = {"spark_connection": {"value": {**value, "deploy_mode": "cluster"}}}
    installed: dict[str, str] = {}

    def version(package: str) -> str:
        if package not in installed:
            raise PackageNotFoundError(package)
        return installed[package]

    monkeypatch.setattr(airflow_health, "version", version)
    package = "apache-airflow-providers-cncf-kubernetes"
    found = states(facts)["Spark connection"]
    assert found == failed(
        f"c: k8s://https://h:6443, deploy mode cluster; {package} is not installed", f"pip install {package}"
    )
    installed[package] = "10"
    assert states(facts)["Spark connection"].state is State.OK


def test_an_unreachable_airflow_is_one_finding() -> None:
    health = AirflowHealth(facts={}, staging_root=ROOT, silence="No module named 'airflow'")
    answers = {answer.name: answer.finding for answer in judge_airflow(health)}
    assert set(answers) == {"Airflow", "Spark provider"}
    assert "No module named 'airflow'" in answers["Airflow"].found


def test_deployment_settings_are_named_with_their_place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    airflow = EmbeddedAirflow(tmp_path)
    monkeypatch.setenv("AIRFLOW_HOME", str(tmp_path))
    assert (configuration(airflow).state, deployment_findings(airflow).state) == (State.OK, State.OK)
    monkeypatch.setenv("AIRFLOW__GRAPH_COMPILER__OPTIONS", '{"nothing": 1}')
    monkeypatch.setenv("AIRFLOW__GRAPH_COMPILER__STAGING_ROOT", "s3://bucket")
    found = deployment_findings(airflow)
    assert (found.state, found.found) == (
        State.FAILED,
        "AIRFLOW__GRAPH_COMPILER__OPTIONS: there is no option 'nothing'",
    )
    assert "set AIRFLOW__GRAPH_COMPILER__STAGING_ROOT" in str(configuration(airflow).cure)
    monkeypatch.delenv("AIRFLOW__GRAPH_COMPILER__STAGING_ROOT")
    (tmp_path / "airflow.cfg").write_text("nonsense")
    found = configuration(airflow)
    assert found.state is State.FAILED
    assert "airflow.cfg" in found.found


def test_a_host_in_another_zone_is_a_warning_with_what_reads_differently() -> None:
    found = time_zone(Programs(environment={HOST_ZONE_VARIABLE: "Europe/Vienna"}))
    assert found.state is State.WARNING
    assert found.found.startswith("Europe/Vienna; drivers and executors have UTC. TIMESTAMP of ORC")
    assert "refused until spark.graph_compiler.confirmed_zone is UTC" in str(found.cure)
    assert time_zone(Programs(environment={HOST_ZONE_VARIABLE: ""})).state is State.OK
