"""The guide's quickstart, command by command, in a copy of the project."""

import json
import os
import re
import shutil
import signal
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from urllib.parse import unquote

import pytest

from tests.end_to_end.conftest import ROOT, Home
from tests.harness.flights_data import DATA
from tests.harness.reference import REPORTS, assert_same_rows, expected, published
from tests.harness.standalone import Api, until

pytestmark = [pytest.mark.e2e, pytest.mark.ci]
LEFT_OUT = {".git", ".matrix", ".venv", ".venv-core", ".airflow", "data", "output", "__pycache__", ".mypy_cache"}
SERVER = "make ui"


def commands() -> list[str]:
    """Return the commands of the first block below the heading, without their comments."""
    text = (ROOT / "docs/guide.md").read_text()
    (block,) = re.findall(r"## Quickstart\n\n```\n(.*?)```", text, re.DOTALL)
    return [line.partition("#")[0].strip() for line in block.splitlines()]


@pytest.fixture(scope="module")
def copy(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Yield a copy of the project that shares the environment and the data."""
    project = tmp_path_factory.mktemp("project")
    for path in ROOT.iterdir():
        if path.name == "data":
            (project / path.name).symlink_to(path)
        elif path.name not in LEFT_OUT:
            copy_tree = partial(shutil.copytree, ignore=shutil.ignore_patterns("node_modules"))
            (copy_tree if path.is_dir() else shutil.copy2)(path, project / path.name)
    # Its own folder, and newer than the locks: nothing is installed here, and nothing there is made anew.
    (project / ".venv").mkdir()
    for path in (ROOT / ".venv").iterdir():
        if path.name != ".ready":
            (project / ".venv" / path.name).symlink_to(path)
    (project / ".venv" / ".ready").touch()
    yield project
    shutil.rmtree(project)


@dataclass(frozen=True)
class FlightsRun:
    """The files and the output of `make run`, which several tests use."""

    home: Home
    output: Path
    environment: dict[str, str]
    done: subprocess.CompletedProcess[str]


@pytest.fixture(scope="module")
def flights_run(copy: Path, no_cache: Path) -> FlightsRun:
    home = Home(copy / ".airflow")
    environment = home.environment()
    for name in ("PYTHONPATH", "AIRFLOW__CORE__DAGS_FOLDER", "AIRFLOW__CORE__PLUGINS_FOLDER"):
        environment.pop(name, None)
    # No class archive is made of jars that are in this copy's folder: that takes longer than it would save here.
    environment["XDG_CACHE_HOME"] = str(no_cache)
    done = called("make run", copy, environment)
    return FlightsRun(home, copy / "output/flights", environment, done)


def called(command: str, project: Path, environment: dict[str, str]) -> subprocess.CompletedProcess[str]:
    """Call a command in the project; it must succeed."""
    done = subprocess.run(command.split(), cwd=project, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{command}\n{done.stdout}{done.stderr}"
    return done


def test_run_shows_tasks_and_outputs_and_writes_the_right_rows(flights_run: FlightsRun) -> None:
    home, output, done = flights_run.home, flights_run.output, flights_run.done
    for name, query in REPORTS.items():
        assert_same_rows(published(output / name), expected(query))
    assert {task: len(attempts) for task, attempts in home.executions().items()} == {
        "with_weather": 1,
        "late_routes": 1,
    }
    for words in ("with_weather: running", "late_routes: finished", "328,521", "8,255", "Delta Air Lines Inc."):
        assert words in done.stdout
    assert str(output / "late_routes") in done.stdout.replace("\n", "")
    assert "Traceback" not in done.stdout + done.stderr
    assert_private(home.folder / "staging")
    assert_listed_by_airflows_word(home)


def assert_private(root: Path) -> None:
    """Assert that only the owner has access: by a file's mode, or for Spark's files by that of a folder around them."""
    found = {path: path.stat().st_mode & 0o777 for path in root.rglob("*")}
    by_spark = {path for path in found if any(up.name.startswith("epoch-") for up in (path, *path.parents))}
    assert by_spark
    ours = {path: mode for path, mode in found.items() if path not in by_spark}
    assert {mode for path, mode in ours.items() if path.is_dir()} == {0o700}
    assert {mode for path, mode in ours.items() if path.is_file()} == {0o600}
    assert {path.name for path in ours} >= {"run.json", "descriptor.json", "report.json", "0.json"}


def assert_listed_by_airflows_word(home: Home) -> None:
    (run,) = json.loads(home.cli("staging", "list", "--json").stdout)
    assert (run["state"], run["reason"]) == ("FINISHED", "Airflow: success")
    assert (run["attempts"], len(run["results_kept"])) == (2, 1)
    shown = home.cli("staging", "show", "flights", run["run_id"]).stdout
    assert "with_weather\n    for late_routes; was read by late_routes\n" in shown
    dry = json.loads(home.cli("staging", "gc", "--older-than", "0 s", "--dry-run", "--json").stdout)
    assert [removed["waste"] for removed in dry["removed"]] == ["RUN"]
    assert (home.folder / "staging" / "flights").is_dir()


def test_replay_reads_the_same_inputs_and_writes_no_target(flights_run: FlightsRun, tmp_path: Path) -> None:
    home = flights_run.home
    (folder,) = (home.folder / "staging" / "flights").iterdir()
    run_id = unquote(folder.name)
    before = tree(flights_run)
    scratch = tmp_path / "scratch"
    done = home.cli(
        *("replay", "flights", run_id, "late_routes", "--into", str(scratch), "--json"),
        environment=home.environment(PATH=os.environ["PATH"]),  # no environment is activated
    )
    assert done.returncode == 0, done.stdout + done.stderr
    document = json.loads(done.stdout)
    assert (document["exit_code"], document["scratch"]) == (0, str(scratch))
    assert "spark-submit" in document["command"]
    assert document["report"]["failure"] is None
    for name, query in REPORTS.items():
        if name != "cancelled":  # the other task's
            (folder,) = (scratch / "sinks").glob(f"{name}-*")
            assert_same_rows(published(folder), expected(query))
    counted = home.cli(
        *("replay", "flights", run_id, "late_routes", "--count-by", "planes:manufacturer", "--limit", "2", "--json"),
        environment=home.environment(PATH=os.environ["PATH"]),
    )
    assert counted.returncode == 0, counted.stdout + counted.stderr
    planes = f"read_csv('{DATA}/planes.csv', nullstr='NA')"
    _, makers = expected(f"SELECT manufacturer, count(*) FROM {planes} GROUP BY 1 ORDER BY 2 DESC, 1")
    document = json.loads(counted.stdout)["counted"]
    assert [tuple(row) for row in document["rows"]] == makers[:2]
    assert document["total"] == len(makers)
    assert tree(flights_run) == before

    for arguments, words in (
        ((run_id, "nowhere"), "task 'nowhere' was not run in"),
        (("never", "late_routes"), "there is no run 'never' of 'flights'"),
        ((run_id, "late_routes", "--attempt", "7"), "has no attempt 7\n  found: 1"),
        ((run_id, "late_routes", "--count-by", "planes"), "OPERATOR:COLUMN"),
    ):
        refused = home.cli("replay", "flights", *arguments)
        assert refused.returncode == 2
        assert words in refused.stderr


def tree(run: FlightsRun) -> dict[str, tuple[int, int]]:
    """Return every file below the staging root and the outputs, with size and time."""
    files = [path for root in (run.home.folder / "staging", run.output) for path in root.rglob("*")]
    return {str(path): (path.stat().st_size, path.stat().st_mtime_ns) for path in files if path.is_file()}


def test_every_quickstart_command_works(copy: Path, flights_run: FlightsRun) -> None:
    said: dict[str, str] = {}
    for command in commands():
        if command == SERVER:
            starts(command, copy, flights_run.environment)
        elif command == "make run":
            said[command] = flights_run.done.stdout
        else:
            said[command] = called(command, copy, flights_run.environment).stdout
    assert list(said) == [command for command in commands() if command != SERVER]
    assert "late_routes: 5 of 438 rows" in said["make run"]
    assert "6 pipelines checked, nothing wrong" in said[".venv/bin/graph-compiler validate"]
    assert "task totals_by_customer" in said[".venv/bin/graph-compiler explain sales"]
    assert "2 passed" in said[".venv/bin/python -m pytest tests/test_sales.py"]
    assert "ann" in said[".venv/bin/graph-compiler run sales --until totals"]
    assert list((copy / "output/sales/totals").glob("*.parquet"))


def test_quick_make_targets_work(copy: Path, home: Home) -> None:
    environment = home.environment()
    (copy / "output").mkdir(exist_ok=True)

    def said(command: str) -> str:
        return called(command, copy, environment).stdout

    assert "measure everything" in said("make help")
    assert said("make explain").startswith("flights · 24 operators")
    assert "export AIRFLOW_HOME=" in said("make -s env")  # as `make env`, without make's own words
    assert "left unchanged" in said("make format")
    said("make clean")
    assert not (copy / "output").exists()


def starts(command: str, project: Path, environment: dict[str, str]) -> None:
    """Start it, check that it answers, and end it."""
    port = "8080"
    log = project / "ui.log"
    with log.open("w") as output:
        process = subprocess.Popen(
            command.split(), cwd=project, env=environment, stdout=output, stderr=output, start_new_session=True
        )
    api = Api(f"http://127.0.0.1:{port}")
    try:
        until(lambda: "user admin, password admin" in log.read_text(), "the UI to start")
        assert api.call("GET", "/api/v2/version")["version"].startswith("3.")
    finally:
        os.killpg(process.pid, signal.SIGTERM)
        process.wait(timeout=60)
