"""How `graph-compiler doctor` judges what it finds; neither Java nor Airflow is started."""

import json
import os
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from importlib.metadata import PackageNotFoundError
from pathlib import Path

import pytest

from graph_compiler import tested_versions
from graph_compiler.cli.diagnosis import question, table_questions
from graph_compiler.cli.diagnosis.airflow_questions import AIRFLOW_QUESTIONS, judge_airflow, judge_row
from graph_compiler.cli.diagnosis.host_questions import HOST_QUESTIONS, judge_jars, judge_java, judge_pyspark
from graph_compiler.cli.diagnosis.question import (
    AirflowReport,
    Finding,
    Host,
    Need,
    Question,
    State,
    ask,
    failed,
    host_of,
    ok,
)
from graph_compiler.cli.diagnosis.table_questions import TABLE_QUESTIONS
from graph_compiler.cli.running.airflow_answers import NoAnswerError
from graph_compiler.cli.running.embedded_airflow import EmbeddedAirflow
from graph_compiler.deployment.documents.jvm_settings import HOST_ZONE_VARIABLE
from graph_compiler.errors import StagingError
from graph_compiler.projects.airflow_configuration import variable_of
from graph_compiler.staging.store import stores
from graph_compiler.staging.store.in_memory_store import Answer, InMemoryStore
from graph_compiler.staging.store.local_store import LocalStore

ROOT = "/staging"
HEALTHY: dict[str, dict[str, object]] = {
    "Airflow": {"value": "3.3.2"},
    "plugin": {"value": {"loaded": ["graph_compiler"], "errors": {}}},
    "settings": {"value": {"staging_root": ROOT}},
    "Spark connection": {
        "value": {
            "conn_id": "spark_default",
            "problem": None,
            "type": "spark",
            "host": "spark://master",
            "port": 7077,
            "deploy_mode": None,
        }
    },
    "API connection": {"value": {"conn_id": None, "problem": None}},
    "pools": {"value": {"dags": 1, "named": ["big"], "missing": {}}},
    "triggerer": {"value": {"is_alive": False, "is_default": False, "waiting": 0}},
}


def host(environment: Mapping[str, str] = os.environ, root: object = None, report: AirflowReport | None = None) -> Host:
    """Return a host on which Airflow reports what is given, or does not answer."""
    silent = AirflowReport(facts={}, silence="No module named 'airflow'")
    return Host(
        airflow=EmbeddedAirflow(Path.cwd()),
        environment=environment,
        root=None if root is None else str(root),
        report=lambda: report or silent,
    )


def finding(name: str, asked: Host) -> Finding:
    """Return what the only question with a name finds on a host; other questions are not asked."""
    questions = [each for each in HOST_QUESTIONS if each.name == name]
    (answer,) = ask(questions, asked)
    return answer.finding


def with_cure(name: str, found: Finding) -> Finding:
    """Return what a question answers if its probe finds this."""
    (question,) = (each for each in HOST_QUESTIONS if each.name == name)
    (answer,) = ask([replace(question, probe=lambda _: found)], host())
    return answer.finding


def of_root(root: Path | str) -> Mapping[str, Finding]:
    """Return what is found of a staging root."""
    questions = [each for each in HOST_QUESTIONS if each.needs is not Need.NOTHING]
    return {answer.name: answer.finding for answer in ask(questions, host(root=root))}


def states(facts: dict[str, dict[str, object]]) -> dict[str, Finding]:
    asked = host(root=ROOT, report=AirflowReport(facts={**HEALTHY, **facts}))
    return {
        answer.name: answer.finding
        for answer in ask([each for each in AIRFLOW_QUESTIONS if each.needs is not Need.EXECUTORS], asked)
        if answer.name != "Spark provider"  # which is looked up where the tests run
    }


def test_a_check_that_crashes_hides_no_other() -> None:
    def crash(_: Host) -> Finding:
        raise ZeroDivisionError("by nought")

    first, second = ask([Question("one", crash), Question("two", lambda _: ok("fine"))], host())
    assert first.finding.state is State.FAILED
    assert "the check itself failed: ZeroDivisionError: by nought" in first.finding.found
    assert second.finding == ok("fine")


def test_an_answer_is_there_before_the_next_question_is_asked() -> None:
    asked: list[str] = []

    def slow(_: Host) -> Finding:
        asked.append("slow")
        return ok("at last")

    answers = ask([Question("quick", lambda _: ok("fine")), Question("slow", slow)], host())
    assert (next(answers).name, asked) == ("quick", [])
    assert (next(answers).name, asked) == ("slow", ["slow"])


def same(found: Finding, _: Host) -> Finding:
    return found


def test_a_cure_of_the_probe_wins_over_that_of_the_question() -> None:
    found = [failed("ill", "its own"), failed("ill"), failed("ill", ""), ok("fine")]
    questions = [Question(str(number), partial(same, one), "ours") for number, one in enumerate(found)]
    answers = ask(questions, host())
    assert [answer.finding.cure for answer in answers] == ["its own", "ours", "", None]


@pytest.mark.parametrize(
    ("error", "cure", "found"),
    [
        (OSError(13, "Permission denied"), "ask for it", failed("Permission denied", "ask for it")),
        (NoAnswerError("no database"), "make one", failed("no database", "make one")),
        (StagingError("no bucket"), "make one", failed("no bucket", "make one")),
    ],
)
def test_a_question_that_cannot_be_asked_has_the_cure_of_the_table(error: Exception, cure: str, found: Finding) -> None:
    def refuse(_: Host) -> Finding:
        raise error

    known, unknown = ask([Question("known", refuse, cure), Question("unknown", refuse)], host())
    assert known.finding == found
    assert unknown.finding.found.startswith("the check itself failed: ")


ON_DISK = ["staging root", "staging is private", "staging commits", "staging renames", "staging clock", "staging space"]
IN_STORE = ["staging root", "staging commits", "staging lists", "staging clock"]
OF_AIRFLOW = ["versions", "plugin", "settings", "Spark connection", "API connection", "pools", "triggerer"]


@pytest.mark.parametrize(
    ("root", "master", "mode", "asked"),
    [
        ("/staging", "local[2]", "client", [*ON_DISK, *OF_AIRFLOW]),
        ("file:///staging", "local[*]", None, [*ON_DISK, *OF_AIRFLOW]),
        ("/staging", "spark://m", None, [*ON_DISK, *OF_AIRFLOW, "executors"]),
        ("/staging", "spark://m", "", [*ON_DISK, *OF_AIRFLOW, "executors"]),
        ("/staging", "yarn", "cluster", [*ON_DISK, *OF_AIRFLOW]),
        ("/staging", "", "client", [*ON_DISK, *OF_AIRFLOW]),
        ("s3a://lake/staging", "local[2]", "client", [*IN_STORE, *OF_AIRFLOW, "executors"]),
        ("hdfs://lake:8020/staging", "yarn", "cluster", [*IN_STORE, *OF_AIRFLOW]),
        ("s3a://lake/staging", None, None, [*IN_STORE, *OF_AIRFLOW]),
        (None, "local[2]", "client", OF_AIRFLOW),
        (None, "spark://m", "client", OF_AIRFLOW),
        ("/staging", "silent", None, ON_DISK),
        (None, "silent", None, []),
    ],
)
def test_a_host_is_asked_what_it_has(root: str | None, master: str | None, mode: str | None, asked: list[str]) -> None:
    connection = {"error": "gone"} if master is None else {"value": {"host": master, "deploy_mode": mode}}
    report = None if master == "silent" else AirflowReport(facts={**HEALTHY, "Spark connection": connection})
    questions = [replace(each, probe=lambda _: ok("fine")) for each in (*HOST_QUESTIONS, *AIRFLOW_QUESTIONS)]
    every = [each.name for each in questions if each.needs is Need.NOTHING]
    found = [answer.name for answer in ask(questions, host(root=root, report=report))]
    assert [name for name in found if name not in every] == asked
    assert [name for name in found if name in every] == every


@pytest.mark.parametrize("has_home", [True, False])
@pytest.mark.parametrize("setting", [None, "/elsewhere", "s3://bucket"])
def test_airflow_is_asked_in_a_home_that_exists(
    setting: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, has_home: bool
) -> None:
    own = tmp_path / ".airflow"
    if has_home:
        own.mkdir()
    monkeypatch.delenv("AIRFLOW_HOME", raising=False)
    monkeypatch.delenv(variable_of("staging_root"), raising=False)
    if setting is not None:
        monkeypatch.setenv(variable_of("staging_root"), setting)
    program = "import json, os; print(json.dumps({name: {'value': value} for name, value in os.environ.items()}))"
    (tmp_path / "facts.py").write_text(program)
    monkeypatch.setattr(question, "_PROGRAM", "facts")
    with host_of(EmbeddedAirflow(tmp_path)) as found:
        home = found.fact("AIRFLOW_HOME")
        assert (home == str(own)) == has_home
        assert Path(home).is_dir()
        assert found.environment["AIRFLOW_HOME"] == home
        root = setting if has_home or setting else str(own / "staging")
        assert found.environment.get(variable_of("staging_root")) == root
    assert own.exists() == has_home
    assert Path(home).exists() == has_home


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
    found = with_cure("Java", judge_java(said, "/usr/bin/java"))
    assert found.state is state
    assert (found.cure is None) == (state is State.OK)
    assert "/usr/bin/java" in found.found


def test_a_missing_java_is_reported_with_the_searched_places(tmp_path: Path) -> None:
    found = finding("Java", host({"PATH": str(tmp_path)}))
    assert found.state is State.FAILED
    assert "on PATH, and JAVA_HOME is not set" in found.found
    found = finding("Java", host({"PATH": os.environ["PATH"], "JAVA_HOME": str(tmp_path)}))
    assert str(tmp_path) in found.found
    assert "apt-get install openjdk-17" in str(found.cure)


def test_spark_submit_is_found_like_a_task_finds_it(tmp_path: Path) -> None:
    assert finding("spark-submit", host({"PATH": str(tmp_path)})).state is State.FAILED
    (tmp_path / "bin").mkdir()
    program = tmp_path / "bin" / "spark-submit"
    program.touch(mode=0o700)
    found = finding("spark-submit", host({"PATH": "", "SPARK_HOME": str(tmp_path)}))
    assert (found.state, found.found) == (State.OK, str(program))


def test_driver_and_executors_must_use_this_python(tmp_path: Path) -> None:
    here = {"PYSPARK_PYTHON": sys.executable}
    assert finding("Python", host(here)).state is State.OK
    other = tmp_path / "python"
    other.write_text("#!/bin/sh\necho 2.7\n")
    other.chmod(0o700)
    found = finding("Python", host({"PYSPARK_DRIVER_PYTHON": str(other)}))
    assert found.state is State.FAILED
    assert f"PYSPARK_DRIVER_PYTHON={other} is 2.7" in found.found
    found = finding("Python", host({"PYSPARK_PYTHON": str(tmp_path / "none")}))
    assert "is not a working Python" in found.found


@pytest.mark.parametrize(
    ("version", "has_client", "state"),
    [
        ("4.3.0", False, State.OK),
        ("4.3.0", True, State.FAILED),
        ("3.5.1", False, State.FAILED),
        ("4.0.1", False, State.FAILED),
        ("4.4.0", False, State.WARNING),
        ("5.0.0", False, State.WARNING),
        (None, False, State.FAILED),
    ],
)
def test_the_full_pyspark_is_required(version: str | None, has_client: bool, state: State) -> None:
    found = with_cure("pyspark", judge_pyspark(version, has_client=has_client))
    assert found.state is state
    assert (found.cure is None) == (state is State.OK)


@pytest.mark.parametrize(
    ("found", "svcs", "state"),
    [
        ("3.2.2", "26.2.0", State.FAILED),
        ("3.2.2", "25.1.0", State.OK),
        ("3.2.2", None, State.OK),
        ("3.3.2", "26.2.0", State.OK),
        ("3.1.8", None, State.FAILED),
    ],
)
def test_an_airflow_that_can_run_no_dag_is_refused(found: str, svcs: str | None, state: State) -> None:
    assert judge_airflow(found, svcs).state is state


def test_versions_that_were_tested_together_are_told_from_others() -> None:
    tested = tested_versions.TOGETHER[1]
    assert judge_row(tested) == ok(
        f"Python {tested.python}, Spark {tested.spark} and Airflow {tested.airflow} were tested together"
    )
    other = tested_versions.Row.of("3.14.0", "4.3.0", "3.3.2")
    assert judge_row(other) == ok(
        "Python 3.14, Spark 4.3 and Airflow 3.3 were not tested together: docs/versions.md has what was"
    )


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
    answers = of_root(root)
    assert {finding.state for finding in answers.values()} == {State.OK}
    assert list(root.iterdir()) == []


def test_a_missing_staging_root_is_not_created(tmp_path: Path) -> None:
    answers = of_root(tmp_path / "a" / "b")
    assert {finding.state for finding in answers.values()} == {State.OK}
    assert list(tmp_path.iterdir()) == []


def test_an_unwritable_staging_root_is_one_finding(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    (found,) = of_root(tmp_path / "file" / "staging").values()
    assert found.state is State.FAILED
    assert found.found == f"{tmp_path / 'file'} is no folder"
    assert "STAGING_ROOT=" in str(found.cure)


def test_a_staging_root_that_is_open_to_others_is_a_warning(tmp_path: Path) -> None:
    root = tmp_path / "staging"
    root.mkdir()
    root.chmod(0o755)
    found = of_root(root)
    assert found["staging is private"].state is State.WARNING
    assert found["staging is private"].cure == f"chmod 700 {root}"


def test_a_file_system_that_gives_a_name_twice_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(LocalStore, "put_if_absent", lambda *_: True)
    found = of_root(tmp_path)
    assert found["staging commits"].state is State.FAILED
    assert found["staging renames"].state is State.OK


def test_a_clock_that_is_far_off_is_a_warning(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(time, "time", lambda: 1000.0)
    found = of_root(tmp_path)["staging clock"]
    assert (found.state, found.cure) == (
        State.WARNING,
        "sudo timedatectl set-ntp true, on this machine and on the file server",
    )


class Refusing(InMemoryStore):
    """A store that refuses some calls, and has another time."""

    def __init__(self, *refused: str, late: float | None = 0.0) -> None:
        super().__init__()
        self.refused, self.late = refused, late

    def _step(self, name: str, step: Callable[[], Answer]) -> Answer:
        if name.split(maxsplit=1)[0] in self.refused:
            raise OSError(13, f"{name.split(maxsplit=1)[0]} is forbidden")
        return step()

    def written(self, key: str) -> float | None:
        return None if self.late is None or key not in self.content else time.time() + self.late


class Forgetful(InMemoryStore):
    """A store that ignores conditions, and does not list what was just written."""

    def put_if_absent(self, key: str, content: bytes) -> bool:
        self.put(key, content)
        return True

    def keys(self, folder: str) -> list[str]:
        return [key for key in super().keys(folder) if not key.endswith("listed")]


@pytest.mark.parametrize(
    ("store", "ill"),
    [
        (InMemoryStore(), {}),
        (Refusing("list"), {"staging root": "list is forbidden"}),
        (Refusing("put"), dict.fromkeys(IN_STORE[1:], "put is forbidden")),
        (Refusing("delete"), dict.fromkeys(IN_STORE[1:], "delete is forbidden")),
        (Refusing(late=None), {}),
        (Refusing(late=-9.0), {"staging clock": "its clock is -9 s from this machine's"}),
        (
            Forgetful(),
            {
                "staging commits": "two writers of a document both succeeded, so two executions could commit the same "
                "epoch",
                "staging lists": "an object that was just written is not listed",
            },
        ),
    ],
)
def test_a_store_is_tried_and_left_as_it_was(
    store: InMemoryStore, ill: Mapping[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(stores._OPENING, None, lambda _: lambda _: store)
    found = of_root("s3a://lake/staging")
    assert {name: finding.found for name, finding in found.items() if finding.state is not State.OK} == ill
    assert all(finding.cure for name, finding in found.items() if name in ill)
    assert list(found) == (IN_STORE if "staging root" not in ill else ["staging root"])
    assert not store.content or ill == dict.fromkeys(IN_STORE[1:], "delete is forbidden")


def test_a_good_airflow_passes() -> None:
    assert {name: finding.state for name, finding in states({}).items()} == dict.fromkeys(
        (*("Airflow", "versions", "plugin", "settings", "Spark connection", "API connection"), *("pools", "triggerer")),
        State.OK,
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
        (
            "Airflow",
            {"value": "2.10.5"},
            "Airflow",
            State.FAILED,
            "Airflow 2.10.5 is too old; 3.2 to 3.3 are supported",
        ),
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
            "Spark connection",
            {"value": {"conn_id": "big", "problem": "The conn_id `big` isn't defined"}},
            "Spark connection",
            State.FAILED,
            "isn't defined",
        ),
        (
            "API connection",
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
        states({"Spark connection": {"value": {**value, "deploy_mode": None}}})["Spark connection"].found
        == "c names no master"
    )


def test_a_provider_that_a_master_needs_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    value = {"conn_id": "c", "problem": None, "type": "spark", "host": "k8s://https://h", "port": 6443}
    facts: dict[str, dict[str, object]] = {"Spark connection": {"value": {**value, "deploy_mode": "cluster"}}}
    installed: dict[str, str] = {}

    def version(package: str) -> str:
        if package not in installed:
            raise PackageNotFoundError(package)
        return installed[package]

    monkeypatch.setattr(tested_versions, "version", version)
    package = "apache-airflow-providers-cncf-kubernetes"
    found = states(facts)["Spark connection"]
    assert found == failed(
        f"c: k8s://https://h:6443, deploy mode cluster; {package} is not installed", f"pip install {package}"
    )
    installed[package] = "10"
    assert states(facts)["Spark connection"].state is State.OK


def test_an_unreachable_airflow_is_one_finding() -> None:
    answers = {answer.name: answer.finding for answer in ask(AIRFLOW_QUESTIONS, host())}
    assert set(answers) == {"Airflow", "Spark provider"}
    assert "No module named 'airflow'" in answers["Airflow"].found


def test_deployment_settings_are_named_with_their_place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("AIRFLOW_HOME", str(tmp_path))
    assert (finding("configuration", host()).state, finding("options", host()).state) == (State.OK, State.OK)
    monkeypatch.setenv("AIRFLOW__GRAPH_COMPILER__OPTIONS", '{"nothing": 1}')
    monkeypatch.setenv("AIRFLOW__GRAPH_COMPILER__STAGING_ROOT", "s3://bucket")
    found = finding("options", host())
    assert (found.state, found.found) == (
        State.FAILED,
        "AIRFLOW__GRAPH_COMPILER__OPTIONS: there is no option 'nothing'",
    )
    assert "set AIRFLOW__GRAPH_COMPILER__STAGING_ROOT" in str(finding("configuration", host()).cure)
    monkeypatch.delenv("AIRFLOW__GRAPH_COMPILER__STAGING_ROOT")
    (tmp_path / "airflow.cfg").write_text("nonsense")
    found = finding("configuration", host())
    assert found.state is State.FAILED
    assert "airflow.cfg" in found.found


def test_a_host_in_another_zone_is_a_warning_with_what_reads_differently() -> None:
    found = finding("Time zone", host({HOST_ZONE_VARIABLE: "Europe/Vienna"}))
    assert found.state is State.WARNING
    assert found.found.startswith("Europe/Vienna; drivers and executors have UTC. TIMESTAMP of ORC")
    assert "refused until spark.graph_compiler.confirmed_zone is UTC" in str(found.cure)
    assert finding("Time zone", host({HOST_ZONE_VARIABLE: ""})).state is State.OK


JARS = {"Iceberg": "iceberg-spark-runtime-4.1_2.13-1.12.0.jar", "Delta Lake": "delta-spark_4.1_2.13-4.4.0.jar"}


def of_tables(asked: Host) -> dict[str, Finding]:
    """Return what is found of formats of tables; pyspark itself is not asked."""
    return {answer.name: answer.finding for answer in ask(TABLE_QUESTIONS, asked)}


@pytest.fixture
def spark_41(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """Return the environment of a host with Spark 4.1 and without jars of formats."""
    monkeypatch.setattr(table_questions, "installed_version", {"pyspark": "4.1.4", "deltalake": "1.6.6"}.get)
    monkeypatch.setenv(variable_of("spark_conf"), "{}")
    (tmp_path / "spark" / "jars").mkdir(parents=True)
    return {"SPARK_HOME": str(tmp_path / "spark")}


def test_who_has_no_tables_is_not_warned(spark_41: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    found = of_tables(host(spark_41))
    assert found == {
        "Iceberg": ok(
            f"no jar of it is seen; only tables need one (docs/lake.md): {tested_versions.ICEBERG.artifact('4.1')}; "
            "no pyiceberg, which validate --live needs"
        ),
        "Delta Lake": ok(
            f"no jar of it is seen; only tables need one (docs/lake.md): {tested_versions.DELTA.artifact('4.1')}; "
            "deltalake 1.6.6"
        ),
    }
    monkeypatch.setattr(table_questions, "installed_version", {"pyspark": "4.3.0"}.get)
    found = of_tables(host(spark_41))
    assert [finding.state for finding in found.values()] == [State.OK, State.OK]
    assert found["Delta Lake"].found == (
        "no Delta Lake that is tested runs on Spark 4.3, but on 4.1 and 4.2; only tables need one (docs/lake.md); "
        "no deltalake, which validate --live needs"
    )


@pytest.mark.parametrize("place", ["jars", "folder", "file", "conf", "packages"])
def test_a_jar_of_a_format_is_found(
    place: str, spark_41: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "spark" / "jars" if place == "jars" else tmp_path / "lake"
    folder.mkdir(exist_ok=True)
    for name in JARS.values():
        (folder / name).touch()
    conf: dict[str, str] = {}
    if place == "folder":
        spark_41["SPARK_DIST_CLASSPATH"] = f"/none:{folder}/*"
    elif place == "file":
        spark_41["SPARK_DIST_CLASSPATH"] = ":".join(str(folder / name) for name in JARS.values())
    elif place == "conf":
        conf = {"spark.driver.extraClassPath": f"{folder}/*"}
    elif place == "packages":
        formats = (tested_versions.ICEBERG, tested_versions.DELTA)
        conf = {"spark.jars.packages": ",".join(format.artifact("4.1") for format in formats)}
    monkeypatch.setenv(variable_of("spark_conf"), json.dumps(conf))
    for name, finding in of_tables(host(spark_41)).items():
        assert finding.state is State.OK
        assert finding.found.startswith(JARS[name].removesuffix(".jar"))


def test_a_jar_that_drivers_would_refuse_is_a_warning(
    spark_41: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("iceberg-spark-runtime-3.5_2.13-1.12.0.jar", "delta-spark_4.2_2.13-4.4.0.jar"):
        (tmp_path / "spark" / "jars" / name).touch()
    found = of_tables(host(spark_41))
    assert {finding.state for finding in found.values()} == {State.WARNING}
    assert found["Iceberg"].found.startswith("iceberg-spark-runtime-3.5_2.13-1.12.0.jar was made for Spark 3.5, and")
    assert found["Delta Lake"].cure == f"use {tested_versions.DELTA.artifact('4.1')}"
    monkeypatch.setattr(table_questions, "installed_version", {"pyspark": "4.3.0"}.get)
    found = of_tables(host(spark_41))
    assert {finding.state for finding in found.values()} == {State.WARNING}
    assert found["Iceberg"].cure == tested_versions.ICEBERG.hint()


def test_formats_are_not_asked_without_pyspark() -> None:
    pyspark = Question("pyspark", lambda _: failed("it is not installed"))
    assert [answer.name for answer in ask((pyspark, *TABLE_QUESTIONS), host())] == ["pyspark"]
