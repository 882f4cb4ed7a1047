"""Real drivers with a class archive, in each state it can be in: the task's result and log are as without one."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from threading import Timer

import pyspark
import pytest

from graph_compiler.driver_jvm import start_settings as start_settings_module
from graph_compiler.driver_jvm.class_archive import archive_cache
from graph_compiler.driver_jvm.installation import class_path_key, find_installation
from graph_compiler.driver_jvm.start_settings import VARIABLES, DriverStart, start_settings
from tests.end_to_end.conftest import Home
from tests.harness.standalone import until

pytestmark = [pytest.mark.e2e, pytest.mark.ci]
PROGRAM = """
import sys, time
from pyspark.sql import SparkSession
spark = SparkSession.builder.getOrCreate()
time.sleep(float(sys.argv[1]))
beans = spark._jvm.java.lang.management.ManagementFactory.getGarbageCollectorMXBeans()
print("rows:", spark.range(10).count(), "collector:", beans[0].getName(), "ui:", spark.sparkContext.uiWebUrl)
"""
QUICK = """
from pyspark.java_gateway import launch_gateway
beans = launch_gateway().jvm.java.lang.management.ManagementFactory.getGarbageCollectorMXBeans()
print("collector:", beans[0].getName())
"""
"""Java has looked at the archive by then; a session would take ten seconds more."""
DRIVER = """
import sys
from graph_compiler.spark_runtime import main
from graph_compiler.spark_runtime.spark_internals.java import ease_java_calls
import pyspark
ease_java_calls()
spark = pyspark.sql.SparkSession.builder.getOrCreate()
spark.range(10).count()
print(pyspark.__file__, sorted({"pandas", "numpy"} & sys.modules.keys()))
"""
RESULT = "rows: 10 collector: Copy ui: None\n"  # `Copy` is the serial collector's
OTHER_USER = 12345


@pytest.fixture(autouse=True)
def two_cores(monkeypatch: pytest.MonkeyPatch) -> None:
    """Choose settings as for the host on which they were measured."""
    monkeypatch.setattr(start_settings_module, "available_cores", lambda: 2.0)


@pytest.fixture
def environment(home: Home) -> dict[str, str]:
    found = home.environment()
    for name in (*VARIABLES, "SPARK_LAUNCHER_OPTS"):
        found.pop(name, None)
    return found | {"PYSPARK_DRIVER_PYTHON": sys.executable, "PYTHONWARNINGS": "ignore"}


@pytest.fixture
def archive(environment: dict[str, str], tmp_path: Path) -> Iterator[Path]:
    """Return an archive of this test's own: a copy of the one that `graph-compiler warm` has made."""
    key = class_path_key(find_installation(environment), environment)
    cache = archive_cache(environment)
    made = until(lambda: cache.find(key), "the archive, which another process makes", seconds=600)
    yield put(environment, tmp_path, made.read_bytes())
    shutil.rmtree(tmp_path / "graph-compiler")  # it is large


@pytest.fixture
def unread_archive(environment: dict[str, str], tmp_path: Path) -> Path:
    """Return an archive that Java would refuse, for tests in which it gets none."""
    return put(environment, tmp_path, bytes(200))


def put(environment: dict[str, str], cache_home: Path, content: bytes) -> Path:
    """Let drivers of an environment use an archive with this content."""
    key = class_path_key(find_installation(environment), environment)
    environment["XDG_CACHE_HOME"] = str(cache_home)
    cache = archive_cache(environment)
    with cache.new_archive(key) as draft:
        assert draft is not None
        draft.file.write_bytes(content)
    found = cache.find(key)
    assert found is not None
    return found


def options(environment: dict[str, str]) -> dict[str, str]:
    return dict(start_settings(DriverStart(environment=environment, conf={}, is_local=True)).conf)


def run(
    environment: dict[str, str], conf: dict[str, str], tmp_path: Path, seconds: float = 0, text: str = PROGRAM
) -> str:
    """Return what a driver prints to standard output, where Java's warnings are."""
    program = tmp_path / "program.py"
    program.write_text(text)
    words = [word for pair in conf.items() for word in ("--conf", "=".join(pair))]
    command = ["spark-submit", "--master", "local[1]", *words, str(program), str(seconds)]
    done = subprocess.run(command, env=environment, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout


def test_the_archive_is_used(environment: dict[str, str], archive: Path, tmp_path: Path) -> None:
    conf = options(environment)
    key = "spark.driver.defaultJavaOptions"
    assert str(archive) in conf[key]
    strict = {**conf, key: f"{conf[key]} -Xshare:on"}  # it would not start without
    assert run(environment, strict, tmp_path) == RESULT


def test_a_driver_imports_pyspark_from_its_folder_and_neither_pandas_nor_numpy(
    environment: dict[str, str], archive: Path, tmp_path: Path
) -> None:
    folder, conf = Path(str(pyspark.__file__)).parent, options(environment)
    assert str(archive) in conf["spark.driver.defaultJavaOptions"]
    assert run(environment, conf, tmp_path, text=DRIVER) == f"{folder}/__init__.py []\n"


def absent(archive: Path) -> None:
    archive.unlink()


def of_another_java(archive: Path) -> None:
    replaced(archive, lambda content: content[:200] + bytes(100) + content[300:])


def of_other_jars(archive: Path) -> None:
    # The name of a jar, which Java compares with its class path.
    replaced(archive, lambda content: content.replace(b"slf4j-api", b"slf4j-old"))


def empty(archive: Path) -> None:
    replaced(archive, lambda content: bytes(len(content)))


def replaced(archive: Path, change: Callable[[bytes], bytes]) -> None:
    archive.chmod(0o600)
    archive.write_bytes(change(archive.read_bytes()))
    archive.chmod(0o400)


@pytest.mark.parametrize("damage", [absent, of_another_java, of_other_jars, empty])
def test_an_archive_that_does_not_fit_any_more_is_not_noticed(
    environment: dict[str, str], archive: Path, tmp_path: Path, damage: Callable[[Path], None]
) -> None:
    conf = options(environment)
    damage(archive)  # after the settings were chosen
    assert run(environment, conf, tmp_path, text=QUICK) == "collector: Copy\n"


def test_an_archive_that_is_replaced_while_a_driver_has_it(
    environment: dict[str, str], archive: Path, tmp_path: Path
) -> None:
    conf, content = options(environment), archive.read_bytes()

    def replace() -> None:
        draft = archive.with_name("another")
        draft.write_bytes(bytes(len(content)))
        draft.replace(archive)

    timer = Timer(4, replace)
    timer.start()
    assert run(environment, conf, tmp_path, seconds=6) == RESULT
    timer.join()
    assert archive.read_bytes() != content


def cut_off(archive: Path) -> None:
    archive.chmod(0o600)
    os.truncate(archive, 100)
    archive.chmod(0o400)


def writable_by_others(archive: Path) -> None:
    archive.chmod(0o666)


def anothers(archive: Path) -> None:
    os.chown(archive, OTHER_USER, OTHER_USER)


@pytest.mark.parametrize("change", [cut_off, writable_by_others, anothers])
def test_an_archive_that_is_not_safe_is_not_passed_to_java(
    environment: dict[str, str], unread_archive: Path, change: Callable[[Path], None]
) -> None:
    key = "spark.driver.defaultJavaOptions"
    assert str(unread_archive) in options(environment)[key]
    if change is anothers and os.geteuid() != 0:
        pytest.skip("only root gives files away")
    change(unread_archive)
    assert "SharedArchiveFile" not in options(environment)[key]


@pytest.mark.parametrize("place", ["JAVA_TOOL_OPTIONS", "spark.driver.extraJavaOptions"])
def test_a_driver_with_a_collector_of_the_users_starts(
    environment: dict[str, str], archive: Path, tmp_path: Path, place: str
) -> None:
    named: dict[str, str] = {}
    (named if place.startswith("spark") else environment)[place] = "-XX:+UseParallelGC"
    start = DriverStart(environment=environment, conf=named, is_local=True)
    conf = {**named, **dict(start_settings(start).conf)}
    assert str(archive) in conf["spark.driver.defaultJavaOptions"]
    assert "collector: PS" in run(environment, conf, tmp_path, text=QUICK)
