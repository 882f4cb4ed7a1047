"""Which Spark and Java a program would start, and when that is not known."""

from __future__ import annotations

import os
import sys
from importlib.machinery import ModuleSpec
from pathlib import Path

import pytest

from graph_compiler.driver_jvm import installation as module
from graph_compiler.driver_jvm.installation import DriverStartError, class_path_key, find_installation
from tests.harness.fake_spark import write_java, write_spark


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    """Return variables with a Java, and a PATH with no program."""
    return {"JAVA_HOME": str(write_java(tmp_path / "java")), "PATH": "/nowhere"}


def script(file: Path, text: str = "#!/bin/sh\n") -> Path:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)
    file.chmod(0o755)
    return file


def test_a_spark_is_found_by_its_program(environment: dict[str, str], tmp_path: Path) -> None:
    spark = write_spark(tmp_path / "spark")
    environment["PATH"] = str(spark / "bin")
    assert find_installation(environment).spark_home == spark


def test_a_spark_of_spark_home_needs_no_program(environment: dict[str, str], tmp_path: Path) -> None:
    environment["SPARK_HOME"] = str(write_spark(tmp_path / "spark"))
    assert find_installation(environment).spark_home == tmp_path / "spark"


def test_a_link_to_the_program_is_spark_s_own(environment: dict[str, str], tmp_path: Path) -> None:
    spark = write_spark(tmp_path / "spark")
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "spark-submit").symlink_to(spark / "bin" / "spark-submit")
    environment |= {"SPARK_HOME": str(spark), "PATH": str(tmp_path / "bin")}
    assert find_installation(environment).spark_home == spark


def test_a_script_of_the_same_name_may_start_anything(environment: dict[str, str], tmp_path: Path) -> None:
    environment["PATH"] = str(script(tmp_path / "mine" / "bin" / "spark-submit").parent)
    with pytest.raises(DriverStartError, match="there is no Spark in .*/mine"):
        find_installation(environment)
    environment["SPARK_HOME"] = str(write_spark(tmp_path / "spark"))
    with pytest.raises(DriverStartError, match="bin/spark-submit is not Spark's own"):
        find_installation(environment)


def test_a_script_in_a_folder_with_a_spark_beside_it_may_start_anything(
    environment: dict[str, str], tmp_path: Path
) -> None:
    spark = write_spark(tmp_path / "spark")
    (spark / "bin" / "find-spark-home").unlink()
    environment["PATH"] = str(script(spark / "wrapped" / "spark-submit").parent)
    with pytest.raises(DriverStartError, match="is not Spark's own"):
        find_installation(environment)


@pytest.mark.parametrize("part", ["bin/spark-class", "jars/spark-core_2.13-4.1.0.jar"])
def test_a_folder_that_is_no_spark_is_refused(environment: dict[str, str], tmp_path: Path, part: str) -> None:
    spark = write_spark(tmp_path / "spark")
    (spark / part).unlink()
    environment["SPARK_HOME"] = str(spark)
    with pytest.raises(DriverStartError, match="there is no Spark in"):
        find_installation(environment)


@pytest.fixture
def pyspark(environment: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the package that pip has installed, with its programs on PATH."""
    package = write_spark(tmp_path / "site-packages" / "pyspark")
    programs = tmp_path / "venv" / "bin"
    for name in ("find-spark-home", "find_spark_home.py"):
        script(programs / name)
    script(programs / "spark-submit", (package / "bin" / "spark-submit").read_text())
    spec = ModuleSpec("pyspark", None, origin=str(package / "__init__.py"))
    monkeypatch.setattr(module, "find_spec", {"pyspark": spec}.get)
    environment |= {"PATH": str(programs), "PYSPARK_DRIVER_PYTHON": sys.executable}
    return package


def test_a_spark_of_pip_is_found(environment: dict[str, str], pyspark: Path) -> None:
    assert find_installation(environment).spark_home == pyspark


@pytest.mark.usefixtures("pyspark")
def test_a_script_in_place_of_the_program_that_pip_has_installed_may_start_anything(
    environment: dict[str, str],
) -> None:
    script(Path(environment["PATH"], "spark-submit"), "#!/bin/sh\nexport SPARK_SUBMIT_OPTS=-Da=b\n")
    with pytest.raises(DriverStartError, match="is not Spark's own"):
        find_installation(environment)


def test_a_spark_that_pip_has_put_into_pyspark_is_not_known(environment: dict[str, str], pyspark: Path) -> None:
    (pyspark / "spark-distribution").mkdir()
    with pytest.raises(DriverStartError, match="spark-distribution may be used"):
        find_installation(environment)


def test_a_program_that_chooses_a_java_is_not_known(environment: dict[str, str], tmp_path: Path) -> None:
    environment["SPARK_HOME"] = str(write_spark(tmp_path / "spark"))
    (tmp_path / "java" / "lib" / "server" / "libjvm.so").unlink()
    with pytest.raises(DriverStartError, match="is not the program of a JDK"):
        find_installation(environment)


@pytest.mark.parametrize("name", ["HADOOP_CONF_DIR", "YARN_CONF_DIR"])
def test_each_folder_of_a_list_is_looked_at(environment: dict[str, str], tmp_path: Path, name: str) -> None:
    environment["SPARK_HOME"] = str(write_spark(tmp_path / "spark"))
    for folder in ("hadoop", "hive"):
        (tmp_path / folder).mkdir()
    environment[name] = f"{tmp_path / 'hadoop'}:{tmp_path / 'hive'}"
    class_path_key(find_installation(environment), environment)
    (tmp_path / "hive" / "hive-site.xml").write_text("<configuration/>")
    with pytest.raises(DriverStartError, match="hive, which is on the class path, has files"):
        class_path_key(find_installation(environment), environment)


def test_an_archive_of_java_s_own_classes_changes_the_key(environment: dict[str, str], tmp_path: Path) -> None:
    environment["SPARK_HOME"] = str(write_spark(tmp_path / "spark"))
    keys = {class_path_key(find_installation(environment), environment)}
    shared = tmp_path / "java" / "lib" / "server" / "classes.jsa"
    for content in ("made", "made again"):
        shared.write_text(content)
        keys.add(class_path_key(find_installation(environment), environment))
    assert len(keys) == 3


@pytest.mark.parametrize("name", ["SPARK_HOME", "SPARK_CONF_DIR"])
def test_what_cannot_be_looked_at_is_a_reason(environment: dict[str, str], tmp_path: Path, name: str) -> None:
    environment["SPARK_HOME"] = str(write_spark(tmp_path / "spark"))
    environment[name] = "/" + "x" * 300
    with pytest.raises(DriverStartError):
        class_path_key(find_installation(environment), environment)


def test_a_relative_folder_has_the_key_of_the_whole_one(
    environment: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_spark(tmp_path / "spark")
    monkeypatch.chdir(tmp_path)
    keys = set()
    for folder in ("", str(tmp_path)):
        named = {"SPARK_HOME": "spark", "SPARK_CONF_DIR": "none", "HADOOP_CONF_DIR": "none"}
        whole = {key: os.path.join(folder, value) for key, value in named.items()}
        keys.add(class_path_key(find_installation(environment | whole), whole))
    assert len(keys) == 1
