"""What is set for a driver's JVM, and what keeps it from being set."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from graph_compiler.driver_jvm import start_settings as module
from graph_compiler.driver_jvm.class_archive import archive_cache
from graph_compiler.driver_jvm.installation import class_path_key, find_installation
from graph_compiler.driver_jvm.start_settings import (
    SETTINGS,
    VARIABLES,
    DriverStart,
    available_cores,
    memory_bytes,
    option_word,
    start_settings,
)
from tests.harness.driver_options import SERIAL, SMALL
from tests.harness.fake_spark import write_java, write_spark

OPTIONS = "spark.driver.defaultJavaOptions"


@pytest.fixture(autouse=True)
def two_cores(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "available_cores", lambda: 2.0)


@pytest.fixture
def start(tmp_path: Path) -> DriverStart:
    """Return a driver of a Java and a Spark that consist of the files that are looked at."""
    environment = {
        "JAVA_HOME": str(write_java(tmp_path / "java")),
        "SPARK_HOME": str(write_spark(tmp_path / "spark")),
        "XDG_CACHE_HOME": str(tmp_path / "cache"),
    }
    (tmp_path / "cache").mkdir()
    return DriverStart(environment=environment, conf={})


def key_of(start: DriverStart) -> str:
    return class_path_key(find_installation(start.environment), start.environment)


def make_archive(start: DriverStart) -> str:
    cache = archive_cache(start.environment)
    with cache.new_archive(key_of(start)) as draft:
        assert draft is not None
        draft.file.write_text("classes")
    return f"-XX:SharedArchiveFile={cache.find(key_of(start))} -Xlog:cds*=off"


def with_conf(start: DriverStart, **conf: str) -> DriverStart:
    return replace(start, conf={f"spark.{key.replace('_', '.')}": it for key, it in conf.items()})


def with_variables(start: DriverStart, **variables: str) -> DriverStart:
    return replace(start, environment={**start.environment, **variables})


def defaults(start: DriverStart, line: str) -> DriverStart:
    """Return the driver with a line in spark-defaults.conf."""
    folder = Path(start.environment["SPARK_HOME"]) / "conf"
    folder.mkdir()
    (folder / "spark-defaults.conf").write_text(line)
    return start


def options_of(start: DriverStart) -> str | None:
    return dict(start_settings(start).conf).get(OPTIONS)


def test_without_an_archive_the_collector_is_set_and_the_archive_is_wanted(start: DriverStart) -> None:
    found = start_settings(start)
    assert found.conf == ((OPTIONS, SMALL),)
    assert found.left_out == (("class archive", "there is none yet"),)
    assert found.wanted == key_of(start)


def test_an_archive_is_used_without_warnings(start: DriverStart) -> None:
    words = make_archive(start)
    found = start_settings(start)
    assert found.conf == ((OPTIONS, f"{SMALL} {words}"),)
    assert (found.left_out, found.wanted) == ((), None)


def test_options_that_are_there_stay_before_ours(start: DriverStart) -> None:
    assert options_of(with_conf(start, driver_defaultJavaOptions="-Da=b")) == f"-Da=b {SMALL}"
    both = with_conf(defaults(start, f"{OPTIONS} -Dc=d"), driver_defaultJavaOptions="-Da=b")
    assert options_of(both) == f"-Da=b {SMALL}", "Spark would not read the file's, either"


@pytest.mark.parametrize("named_in", ["spark-defaults.conf", "my.conf"])
def test_options_that_are_in_a_file_only_are_not_repeated(start: DriverStart, tmp_path: Path, named_in: str) -> None:
    make_archive(start)
    file = tmp_path / "my.conf"
    file.write_text(f"{OPTIONS} -Dpassword=hidden")
    if named_in == file.name:
        start = replace(start, properties_file=str(file))
    else:
        defaults(start, f"{OPTIONS} -Dpassword=hidden")
    found = start_settings(replace(start, is_local=True))
    assert found.conf == (("spark.ui.enabled", "false"),)
    ((what, why),) = found.left_out
    assert what == "options of the JVM"
    assert why.startswith(f"{OPTIONS} is set in ")
    assert named_in in why
    assert (found.wanted, "hidden" in repr(found)) == (None, False)


@pytest.mark.parametrize("name", ["java-opts", "spark-env.sh"])
@pytest.mark.parametrize("place", ["conf", "SPARK_CONF_DIR"])
def test_a_file_that_may_set_options_and_is_not_read_keeps_ours_out(
    start: DriverStart, tmp_path: Path, name: str, place: str
) -> None:
    make_archive(start)
    folder = Path(start.environment["SPARK_HOME"], "conf")
    if place != "conf":
        folder = tmp_path / "settings"
        start = with_variables(start, SPARK_CONF_DIR=str(folder))
    folder.mkdir()
    (folder / name).write_text("-XX:+UseG1GC")
    found = start_settings(replace(start, is_local=True))  # it may ask for a UI, too
    assert (found.conf, found.wanted) == ((), None)
    why = f"{folder / name} may set any, and is not read"
    assert found.left_out == (("options of the JVM", why),)


@pytest.mark.parametrize("place", [*VARIABLES, *SETTINGS, "file spark.driver.extraJavaOptions"])
def test_a_collector_that_is_named_anywhere_keeps_ours_out(start: DriverStart, place: str) -> None:
    words = make_archive(start)
    if place in VARIABLES:
        named = with_variables(start, **{place: "-XX:+UseParallelGC"})
    elif place in SETTINGS:
        named = replace(start, conf={place: "-XX:+UseParallelGC"})
    else:
        named = defaults(start, f"{place.split()[1]} -XX:+UseParallelGC")
        words = ""  # the folder of the file is on the class path
    options = options_of(named) or ""
    assert SERIAL not in options
    assert options.endswith(words)
    left_out = dict(start_settings(named).left_out)
    assert left_out["serial collector"] == f"{place.rsplit(maxsplit=1)[-1]} may name a collector"


@pytest.mark.parametrize("place", [*VARIABLES, *SETTINGS])
@pytest.mark.parametrize("option", ["-XX:TieredStopAtLevel=1", "-Xint", "-XX:CICompilerCount=2"])
def test_a_compiler_that_is_named_anywhere_keeps_ours_out(start: DriverStart, place: str, option: str) -> None:
    named = replace(start, conf={place: option})
    if place in VARIABLES:
        named = with_variables(start, **{place: option})
    options = options_of(named) or ""
    assert "Tier4" not in options
    assert SERIAL in options
    why = dict(start_settings(named).left_out)["later compiling"]
    assert why == f"{place} may name a compiler, or when it compiles"


@pytest.mark.parametrize(("memory", "is_set"), [("4g", True), ("4096m", True), ("4097m", False), ("5g", False)])
def test_the_collector_is_for_small_heaps(start: DriverStart, memory: str, is_set: bool) -> None:
    for sized in (
        replace(start, memory=memory),
        with_conf(start, driver_memory=memory),
        with_variables(start, SPARK_DRIVER_MEMORY=memory),
    ):
        assert (options_of(sized) == SMALL) == is_set


def test_the_size_in_a_file_of_settings_counts(start: DriverStart, tmp_path: Path) -> None:
    file = tmp_path / "my.conf"
    file.write_text("spark.driver.memory=8g")
    assert options_of(replace(start, properties_file=str(file))) is None


def test_the_collector_is_for_few_cores(start: DriverStart, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "available_cores", lambda: 3.0)
    assert options_of(start) is None


def test_the_ui_is_off_where_executors_are_in_the_driver_unless_somebody_has_set_it(start: DriverStart) -> None:
    local = replace(start, is_local=True)
    assert dict(start_settings(local).conf)["spark.ui.enabled"] == "false"
    for named in (
        with_conf(local, ui_enabled="true"),
        with_conf(local, ui_port="4050"),
        with_variables(local, SPARK_SUBMIT_OPTS="-Dspark.ui.enabled=true"),
    ):
        assert "spark.ui.enabled" not in dict(start_settings(named).conf)
    in_file = defaults(local, "spark.ui.enabled true")
    assert "spark.ui.enabled" not in dict(start_settings(in_file).conf)


def test_the_ui_is_off_where_no_java_is_found(start: DriverStart) -> None:
    found = start_settings(with_variables(replace(start, is_local=True), JAVA_HOME="/nowhere"))
    assert found.conf == (("spark.ui.enabled", "false"),)
    assert dict(found.left_out) == {"options of the JVM": "there is no java in /nowhere/bin"}


def test_the_ui_is_off_where_no_spark_is_found_but_its_settings_are(start: DriverStart, tmp_path: Path) -> None:
    lost = with_variables(replace(start, is_local=True), SPARK_HOME="/nowhere")
    assert start_settings(lost).conf == (), "its settings may say that there is a UI"
    known = with_variables(lost, SPARK_CONF_DIR=str(tmp_path))
    assert start_settings(known).conf == (("spark.ui.enabled", "false"),)
    (tmp_path / "spark-defaults.conf").write_text("spark.ui.port 4050")
    assert start_settings(known).conf == ()


Change = Callable[[DriverStart], DriverStart | None]


def jars(start: DriverStart) -> Path:
    return Path(start.environment["SPARK_HOME"]) / "jars"


def a_newer_jar(start: DriverStart) -> None:
    os.utime(jars(start) / "spark-core_2.13-4.1.0.jar", (1, 1))


def another_jar(start: DriverStart) -> None:
    (jars(start) / "more.jar").write_text("more")


def another_java(start: DriverStart) -> None:
    (Path(start.environment["JAVA_HOME"]) / "release").write_text('JAVA_VERSION="17.0.99"')


def a_folder_that_is_empty(start: DriverStart) -> DriverStart:
    return with_variables(start, HADOOP_CONF_DIR=str(jars(start) / "none"))


@pytest.mark.parametrize("change", [a_newer_jar, another_jar, another_java, a_folder_that_is_empty])
def test_an_archive_of_another_class_path_is_not_used(start: DriverStart, change: Change) -> None:
    make_archive(start)
    before = key_of(start)
    changed = change(start) or start
    assert options_of(changed) == SMALL
    assert start_settings(changed).wanted not in (None, before)


def a_folder_with_files(start: DriverStart) -> DriverStart:
    return with_variables(start, HADOOP_CONF_DIR=str(jars(start)))


def settings_in_spark_home(start: DriverStart) -> DriverStart:
    return defaults(start, "spark.a b")


def a_setting_for_the_class_path(start: DriverStart) -> DriverStart:
    return with_conf(start, driver_extraClassPath="/a.jar")


def a_variable_for_the_class_path(start: DriverStart) -> DriverStart:
    return with_variables(start, SPARK_DIST_CLASSPATH="/a.jar")


def an_archive_of_the_users(start: DriverStart) -> DriverStart:
    return with_conf(start, driver_extraJavaOptions="-XX:SharedArchiveFile=/mine.jsa")


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (a_folder_with_files, "jars, which is on the class path, has files"),
        (settings_in_spark_home, "conf, which is on the class path, has files"),
        (a_setting_for_the_class_path, "spark.driver.extraClassPath is set"),
        (a_variable_for_the_class_path, "SPARK_DIST_CLASSPATH is set"),
        (an_archive_of_the_users, "spark.driver.extraJavaOptions may name one"),
    ],
)
def test_where_no_archive_can_be_used_none_is_wanted(start: DriverStart, change: Change, why: str) -> None:
    make_archive(start)
    found = start_settings(change(start) or start)
    assert dict(found.conf)[OPTIONS].startswith(SERIAL)
    assert "SharedArchiveFile" not in dict(found.conf)[OPTIONS]
    assert found.wanted is None
    assert dict(found.left_out)["class archive"].endswith(why)


@pytest.mark.parametrize(
    ("variables", "why"),
    [
        ({"JAVA_HOME": "/nowhere"}, "there is no java in /nowhere/bin"),
        ({"SPARK_HOME": "", "PATH": "/nowhere"}, "spark-submit is not on PATH"),
    ],
)
def test_what_cannot_be_found_is_left_to_spark(start: DriverStart, variables: dict[str, str], why: str) -> None:
    found = start_settings(with_variables(start, **variables))
    assert (found.conf, found.left_out) == ((), (("options of the JVM", why),))


@pytest.mark.parametrize(
    ("text", "size"), [("1g", 1 << 30), ("512", 512 << 20), ("2048m", 2 << 30), ("1 KB", 1024), ("a lot", None)]
)
def test_sizes_are_spark_s(text: str, size: int | None) -> None:
    assert memory_bytes(text) == size


@pytest.mark.parametrize(("quota", "cores"), [("max 100000", None), ("150000 100000", 1.5), ("", None)])
def test_the_quota_of_a_container_counts(tmp_path: Path, quota: str, cores: float | None) -> None:
    file = tmp_path / "cpu.max"
    file.write_text(quota)
    of_host = float(len(os.sched_getaffinity(0)))
    assert available_cores(file) == min(of_host, cores or of_host)
    assert available_cores(tmp_path / "none") == of_host


def test_where_there_is_no_affinity_all_cores_count(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(os, "sched_getaffinity")  # macOS
    monkeypatch.setattr(os, "cpu_count", lambda: 7)
    assert available_cores(tmp_path / "none") == 7


def test_a_reason_of_the_cache_leaves_the_collector(start: DriverStart) -> None:
    found = start_settings(with_variables(start, XDG_CACHE_HOME="/" + "x" * 300))
    assert found.conf == ((OPTIONS, SMALL),)
    assert "File name too long" in dict(found.left_out)["class archive"]


@pytest.mark.parametrize(
    ("option", "word"), [("-Xa", "-Xa"), ("-Xa=/my folder", '"-Xa=/my folder"'), ('-Xa="', r'"-Xa=\""')]
)
def test_an_option_is_quoted_as_spark_reads_it(option: str, word: str) -> None:
    assert option_word(option) == word
