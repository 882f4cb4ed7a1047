"""What `make run` does, as a person meets it."""

import json
import os
import subprocess
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import unquote

import pytest

from tests.end_to_end.conftest import Home
from tests.harness.reference import REPORTS, assert_same_rows, expected, published

pytestmark = pytest.mark.e2e


@dataclass(frozen=True)
class FlightsRun:
    """One run of the flights pipeline, which several tests look at."""

    home: Home
    done: subprocess.CompletedProcess[str]


@pytest.fixture(scope="module")
def flights_run(tmp_path_factory: pytest.TempPathFactory) -> FlightsRun:
    home = Home(tmp_path_factory.mktemp("flights") / "airflow")
    params = [
        word for name, value in home.params.items() for word in ("--param", f"{name}={value}")
    ]
    done = home.cli("run", "flights", "--date", "2013-01-01", "--sort", "late_flights", *params)
    assert done.returncode == 0, done.stdout + done.stderr
    return FlightsRun(home, done)


def test_run_shows_tasks_and_outputs_and_writes_the_right_rows(
    flights_run: FlightsRun,
) -> None:
    home, done = flights_run.home, flights_run.done
    for name, query in REPORTS.items():
        assert_same_rows(published(home.output / name), expected(query))
    assert {task: len(attempts) for task, attempts in home.executions().items()} == {
        "with_weather": 1,
        "late_routes": 1,
    }
    for words in (
        "with_weather: running",
        "late_routes: finished",
        "328,521",
        "8,255",
        "Delta Air Lines Inc.",
    ):
        assert words in done.stdout
    assert str(home.output / "late_routes") in done.stdout.replace("\n", "")
    assert "Traceback" not in done.stdout + done.stderr
    assert_private(home.folder / "staging")
    assert_listed_by_airflows_word(home)


@pytest.mark.usefixtures("migrated_home")
def test_a_run_without_any_task_is_a_failure(home: Home) -> None:
    done = home.cli("run", "flights", "--date", "2012-12-31")  # the Dag begins a day later
    assert done.returncode == 1, done.stdout + done.stderr
    assert "Airflow has not run with_weather and late_routes" in done.stdout
    assert "a Dag runs no task before its start_date; the run's date is 2012-12-31" in done.stdout


def assert_private(root: Path) -> None:
    """Everything is its owner's alone: by its own mode, or, where Spark made it, by that of a folder around it."""
    found = {path: path.stat().st_mode & 0o777 for path in root.rglob("*")}
    by_spark = {
        path for path in found if any(up.name.startswith("epoch-") for up in (path, *path.parents))
    }
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


@pytest.mark.usefixtures("migrated_home")
def test_missing_inputs_are_reported_together_and_nothing_is_written(
    home: Home,
) -> None:
    done = home.cli(
        "run", "flights", "--param", "input=/nowhere", "--param", f"output={home.output}"
    )
    assert done.returncode == 1
    failure = done.stdout[done.stdout.index("pipeline 'flights'") :].splitlines()
    assert (
        failure[0]
        == "pipeline 'flights', task 'with_weather': before any data moved, 2 problems were found"
    )
    assert failure[1] == "  flights: its input file:/nowhere/flights.csv does not exist"
    assert failure[2].startswith("    declared at ")
    assert "pipelines/flights.py" in failure[2]
    assert failure[3] == "  weather: its input file:/nowhere/weather.csv does not exist"
    assert "✗" in done.stdout
    assert failure[5] == "  task 'with_weather' failed after 1 attempt"
    log = Path(failure[6].removeprefix("  log: "))
    assert "InitializeOnMasterError" in log.read_text()
    assert not home.output.exists()
    assert list(home.folder.glob("staging/flights/*/manifests/*")) == []


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (
            ["explain", "fligths"],
            "there is neither pipelines/fligths.py nor pipelines/fligths.yaml",
        ),
        (["run", "fligths"], "hint: did you mean 'flights'?"),
        (["explain", "_nycflights13_data"], "has no StreamExecutionEnvironment called 'env'"),
        (["run", "flights", "--param", "late_aftr=9"], "hint: did you mean 'late_after'?"),
        (["run", "flights", "--param", "late_after=soon"], "parameter 'late_after' is 'soon'"),
        (["run", "flights", "--date", "2013-13-01"], "--date is '2013-13-01'"),
    ],
)
def test_an_invalid_call_is_reported(home: Home, arguments: list[str], words: str) -> None:
    done = home.cli(*arguments)
    assert done.returncode == 2
    assert words in done.stderr
    assert "Traceback" not in done.stderr


def test_explain_shows_the_plan(home: Home) -> None:
    golden = Path(__file__).parents[1] / "golden" / "pipelines" / "flights.AUTO.explain.txt"
    assert home.cli("explain", "flights").stdout == golden.read_text()


def test_a_dry_run_analyses_every_operator(home: Home) -> None:
    done = home.cli("dry-run", "flights")
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.startswith("flights: 24 operators ")


def test_env_prints_a_shell_script(home: Home) -> None:
    lines = home.cli("env").stdout.splitlines()
    assert all(line.startswith("export ") for line in lines)
    assert f"export AIRFLOW_HOME={home.folder}" in lines
    assert json.loads(
        next(line for line in lines if "SPARK_DEFAULT" in line).split("=", 1)[1].strip("'")
    )["host"]


def test_replay_reads_the_same_inputs_and_writes_no_target(
    flights_run: FlightsRun, tmp_path: Path
) -> None:
    home = flights_run.home
    (folder,) = (home.folder / "staging" / "flights").iterdir()
    run_id = unquote(folder.name)
    before = tree(home.folder)
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
    assert tree(home.folder) == before

    for arguments, words in (
        ((run_id, "nowhere"), "task 'nowhere' was not run in"),
        (("never", "late_routes"), "there is no run 'never' of 'flights'"),
        ((run_id, "late_routes", "--attempt", "7"), "has no attempt 7\n  found: 1"),
    ):
        refused = home.cli("replay", "flights", *arguments)
        assert refused.returncode == 2
        assert words in refused.stderr


def tree(folder: Path) -> dict[str, tuple[int, int]]:
    """Return every file below the staging root and the outputs, with size and time."""
    files = [path for name in ("staging", "output") for path in (folder / name).rglob("*")]
    return {
        str(path): (path.stat().st_size, path.stat().st_mtime_ns)
        for path in files
        if path.is_file()
    }
