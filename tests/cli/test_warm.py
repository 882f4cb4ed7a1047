"""How the class archive is made: what is run, with which environment, and what is noted. Spark is a script here."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from graph_compiler.cli.app import app
from graph_compiler.cli.commands.set_up import warm as command
from graph_compiler.cli.warming import archive_making
from graph_compiler.cli.warming.archive_making import SparkProgram, be_patient, make_wanted_archive
from graph_compiler.driver_jvm.class_archive import ArchiveCache, archive_cache
from graph_compiler.driver_jvm.installation import DriverStartError, class_path_key, find_installation
from tests.harness.fake_spark import write_java, write_spark

SUBMIT = f"""#!{sys.executable} -S
import json, os, re, sys
line = " ".join(sys.argv[1:])
said = {{"arguments": sys.argv[1:], "environment": dict(os.environ), "files": []}}
for each in os.listdir("/proc/self/fd"):
    try:
        said["files"].append(os.readlink("/proc/self/fd/" + each))
    except OSError:
        pass
with open(os.environ["SAID"], "a") as file:
    file.write(json.dumps(said) + "\\n")
import time
while (gate := os.environ.get("GATE")) and not os.path.exists(gate):
    time.sleep(0.01)
if draft := re.search(r"ArchiveClassesAtExit=(\\S+)", line):
    open(draft[1], "w").write("classes")
sys.exit(int(os.environ.get("ENDS_WITH", "0")))
"""


@pytest.fixture(autouse=True)
def other_work(monkeypatch: pytest.MonkeyPatch) -> list[str | None]:
    """Return what the maker finds at work on its host, in this order, and then nothing."""
    found: list[str | None] = []
    monkeypatch.setattr(archive_making, "why_not_alone", lambda **_: found.pop(0) if found else None)
    return found


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    write_java(tmp_path / "java")
    write_spark(tmp_path / "spark", SUBMIT)
    return {
        "JAVA_HOME": str(tmp_path / "java"),
        "PATH": str(tmp_path / "spark" / "bin"),
        "SAID": str(tmp_path / "said"),
        "XDG_CACHE_HOME": str(tmp_path),
    }


@pytest.fixture
def cache(environment: dict[str, str]) -> ArchiveCache:
    return archive_cache(environment)


@pytest.fixture
def key(environment: dict[str, str]) -> str:
    return class_path_key(find_installation(environment), environment)


def said(environment: dict[str, str]) -> list[dict[str, list[str]]]:
    return [json.loads(line) for line in Path(environment["SAID"]).read_text().splitlines()]


def test_an_archive_is_made_and_checked(environment: dict[str, str], cache: ArchiveCache, key: str) -> None:
    make_wanted_archive(key, "spark-submit", environment)
    assert cache.find(key) is not None
    made, checked = (" ".join(each["arguments"]) for each in said(environment))
    assert "-XX:ArchiveClassesAtExit" in made
    assert "-Xshare:on -Xlog:cds*=error" in checked


@pytest.mark.parametrize(("seen", "is_made"), [([None, "a driver", None], True), (["a driver", "a driver"], False)])
def test_the_maker_ends_when_other_work_stays(  # noqa: PLR0917  # fixtures
    seen: list[str | None],
    is_made: bool,
    environment: dict[str, str],
    cache: ArchiveCache,
    key: str,
    other_work: list[str | None],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # The script waits until the maker has looked that often, or is ended.
    gate = Path(environment["SAID"]).with_name("gate")

    def look(**_: object) -> str | None:
        found = other_work.pop(0) if other_work else None
        if not other_work:
            gate.touch()
        return found

    other_work += seen * 2 if not is_made else seen
    monkeypatch.setattr(archive_making, "_LOOKS_EVERY", 0.05)
    monkeypatch.setattr(archive_making, "why_not_alone", look)
    if is_made:
        make_wanted_archive(key, "spark-submit", environment | {"GATE": str(gate)})
    else:
        with pytest.raises(DriverStartError, match="a driver"):
            make_wanted_archive(key, "spark-submit", environment | {"GATE": f"{gate}-never"})
        assert cache.has_failed(key) == "a driver"
    assert (cache.find(key) is not None) is is_made


def test_its_driver_is_small_and_java_says_only_errors(environment: dict[str, str], key: str) -> None:
    make_wanted_archive(key, "spark-submit", environment | {"SPARK_DRIVER_MEMORY": "30g"})
    for each in said(environment):
        assert "spark.driver.memory=1g" in each["arguments"]
        assert "-Xlog:cds*=error" in " ".join(each["arguments"])


def test_the_driver_has_the_lock(environment: dict[str, str], cache: ArchiveCache, key: str) -> None:
    make_wanted_archive(key, "spark-submit", environment)
    for each in said(environment):
        assert str(cache.folder / "lock") in each["files"]


def test_relative_folders_mean_the_same_in_its_folder(
    environment: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    environment |= {
        "JAVA_HOME": "java",
        "SPARK_HOME": "spark",
        "SPARK_CONF_DIR": "none",
        "PATH": f"spark/bin:{os.environ['PATH']}",
    }
    key = class_path_key(find_installation(environment), environment)
    make_wanted_archive(key, "spark-submit", environment)
    given = json.loads(json.dumps(said(environment)[0]["environment"]))
    found = {name: given[name] for name in ("JAVA_HOME", "SPARK_HOME", "SPARK_CONF_DIR")}
    assert found == {
        "JAVA_HOME": str(tmp_path / "java"),
        "SPARK_HOME": str(tmp_path / "spark"),
        "SPARK_CONF_DIR": str(tmp_path / "none"),
    }
    assert given["PATH"].startswith(f"{tmp_path}/spark/bin:")


def test_the_program_is_the_task_s(environment: dict[str, str], tmp_path: Path, key: str) -> None:
    submit = tmp_path / "spark" / "bin" / "spark-submit"
    shutil.copy(submit, submit.with_name("spark3-submit"))
    environment["PATH"] = str(submit.parent)
    make_wanted_archive(key, "spark3-submit", environment)
    assert len(said(environment)) == 2


def test_another_archive_than_the_wanted_one_is_not_made(environment: dict[str, str], cache: ArchiveCache) -> None:
    wanted = "a" * 32
    with pytest.raises(DriverStartError):
        make_wanted_archive(wanted, "spark-submit", environment)
    assert "finds a different Java or Spark" in str(cache.has_failed(wanted))
    assert not Path(environment["SAID"]).exists()


def test_a_program_that_is_not_found_is_noted(environment: dict[str, str], cache: ArchiveCache, key: str) -> None:
    with pytest.raises(DriverStartError):
        make_wanted_archive(key, "spark2-submit", environment)
    assert cache.has_failed(key) == "spark2-submit is not on PATH"


def test_a_program_that_fails_is_noted(environment: dict[str, str], cache: ArchiveCache, key: str) -> None:
    with pytest.raises(DriverStartError):
        make_wanted_archive(key, "spark-submit", environment | {"ENDS_WITH": "3"})
    assert str(cache.has_failed(key)).startswith("spark-submit ended with 3")
    assert cache.find(key) is None


def test_a_full_disk_is_noted(
    environment: dict[str, str], cache: ArchiveCache, key: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(_: Path) -> None:
        raise OSError(28, "No space left on device", "orders.csv")

    monkeypatch.setattr(archive_making, "write_input", full)
    with pytest.raises(DriverStartError):
        make_wanted_archive(key, "spark-submit", environment)
    assert cache.has_failed(key) == "orders.csv: No space left on device"


def test_in_the_background_the_environment_is_as_given(
    environment: dict[str, str], key: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in [*os.environ]:
        monkeypatch.delenv(name)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(command, "be_patient", lambda: None)
    monkeypatch.chdir(tmp_path)
    done = CliRunner().invoke(app, ["warm", "--background", key, "--program", "spark-submit"])
    assert done.exit_code == 0, done.output
    given = set(said(environment)[0]["environment"])
    assert given - {"LC_CTYPE"} == {*environment, "PYSPARK_DRIVER_PYTHON"}


def test_the_background_process_leaves_the_processor_to_others() -> None:
    program = f"""
import os
import shutil
from {be_patient.__module__} import be_patient
be_patient()
print(os.nice(0))
"""
    done = subprocess.run(
        [sys.executable, "-c", program],
        env={"PYTHONPATH": os.pathsep.join(sys.path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout.split() == ["19"], done.stderr


def test_a_program_in_spark_home_is_run_where_path_has_none(environment: dict[str, str], tmp_path: Path) -> None:
    environment |= {"SPARK_HOME": str(tmp_path / "spark"), "PATH": "/nowhere"}
    found = SparkProgram.of(find_installation(environment), environment, "spark-submit")
    assert found.path == str(tmp_path / "spark" / "bin" / "spark-submit")
