"""`run --in-process` and `--until` as a user sees them: in a separate process, without Airflow."""

import json
import signal
import subprocess
import sys
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest

from tests.end_to_end.conftest import ROOT, Home
from tests.harness.reference import assert_same_rows, expected, published, reports

pytestmark = pytest.mark.e2e
RUN = "in_process__2013-01-01"


def call(home: Home, *arguments: str, **params: str) -> list[str]:
    given = {**home.params, **params}
    words = [word for name, value in given.items() for word in ("--param", f"{name}={value}")]
    return ["run", "flights", "--date", "2013-01-01", *words, *arguments]


@pytest.mark.ci
def test_all_tasks_run_in_one_session_and_are_recorded(home: Home, january: Path) -> None:
    home = replace(home, data=january)
    wanted = {name: expected(query) for name, query in reports(january).items()}
    done = home.cli(*call(home, "--in-process", "--json"))
    assert done.returncode == 0, done.stdout + done.stderr
    document = json.loads(done.stdout)
    assert (document["state"], document["run_id"]) == ("FINISHED", RUN)
    assert {sink["sink"]: sink["rows"] for sink in document["sinks"]} == {
        name: len(rows) for name, (_, rows) in wanted.items()
    }
    (contract,) = document["contracts"]
    assert {key: contract[key] for key in ("contract", "rows", "violations", "on_violation")} == {
        "contract": "arrival_is_known",
        "rows": 26_483,
        "violations": 85,
        "on_violation": "warn",
    }
    assert (contract["total"], contract["allowed"], contract["holds"]) == (None, None, False)
    assert (document["preview"]["of"], len(document["preview"]["rows"])) == ("late_routes", 5)
    assert [task["state"] for task in document["tasks"]] == ["FINISHED", "FINISHED"]
    for words in ("with_weather: running", "with_weather · with_weather: staging rows"):
        assert words in done.stderr
    for name, rows in wanted.items():
        assert_same_rows(published(home.output / name), rows)
    assert not (home.folder / "airflow.db").exists()
    history = home.cli("history", "flights", RUN, "--json")
    assert history.returncode == 0, history.stderr
    assert history.stdout.count('"FINISHED"') >= 2


@pytest.mark.ci
def test_running_up_to_an_operator_shows_its_rows_and_writes_no_sink(home: Home, january: Path) -> None:
    home = replace(home, data=january)
    done = home.cli(*call(home, "--until", "lateness_by_weather", "--limit", "3", "--count"))
    assert done.returncode == 0, done.stdout + done.stderr
    for words in ("lateness_by_weather: 3 of 5 rows", "weather", "STRING", "mean_delay", "DOUBLE"):
        assert words in done.stdout
    assert "lateness_by_month" not in done.stdout, "it is not needed"
    assert not home.output.exists()
    assert not (home.folder / "staging").exists()


@pytest.mark.ci
def test_failures_have_the_same_message_as_under_airflow(home: Home, tmp_path: Path) -> None:
    done = home.cli(*call(home, "--in-process", input=str(tmp_path / "nowhere")))
    assert done.returncode == 1
    assert "before any data moved, 2 problems were found\n  flights: its input file:" in done.stdout
    assert "region 'with_weather' failed after 1 attempt\n  log: " in done.stdout
    assert "Traceback" not in done.stdout + done.stderr
    assert not home.output.exists()


@pytest.mark.ci
@pytest.mark.parametrize(
    "how",
    [
        signal.SIGINT,
        pytest.param(signal.SIGTERM, marks=pytest.mark.long),
        pytest.param(signal.SIGHUP, marks=pytest.mark.long),
    ],
    ids=lambda how: how.name,
)
def test_ending_the_command_ends_spark_and_cancels_the_attempt(how: signal.Signals, home: Home) -> None:
    command = [sys.executable, "-m", "graph_compiler", *call(home, "--in-process")]
    with subprocess.Popen(
        command,
        cwd=ROOT,
        env=home.environment(),
        stdout=subprocess.PIPE,
        text=True,
        # Whoever runs the tests may ignore it.
        preexec_fn=partial(signal.signal, how, signal.SIG_DFL),  # noqa: PLW1509  # there are no threads
    ) as process:
        assert process.stdout is not None
        for line in process.stdout:
            if "staging rows" in line:
                twice = home.cli(*call(home, "--in-process"))
                assert twice.returncode == 2
                assert "is being run in process for the same day" in twice.stderr
                process.send_signal(how)
                break
        process.stdout.read()
    assert process.returncode == 130
    (outcome,) = home.folder.glob(f"staging/flights/{RUN}/tasks/with_weather/*/outcome.json")
    assert json.loads(outcome.read_text())["state"] == "CANCELED"
    (driver,) = home.folder.glob(f"staging/flights/{RUN}/tasks/with_weather/*/driver.json")
    assert not Path(f"/proc/{json.loads(driver.read_text())['process_id']}").exists()
    assert not home.output.exists()
    history = home.cli("history", "flights", RUN)
    assert "last seen in 'with_weather', stage, since" in history.stdout
