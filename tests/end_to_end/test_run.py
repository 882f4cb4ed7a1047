"""Commands around a run, as a user sees them; a run itself is in `test_quickstart.py`."""

import json
from pathlib import Path

import pytest

from graph_compiler.identifiers import name_of_segment
from tests.end_to_end.conftest import Home

pytestmark = pytest.mark.e2e


@pytest.mark.ci
@pytest.mark.usefixtures("migrated_home")
def test_a_run_without_any_task_is_a_failure(home: Home) -> None:
    done = home.cli("run", "flights", "--date", "2012-12-31")  # the Dag begins a day later
    assert done.returncode == 1, done.stdout + done.stderr
    assert "Airflow has not run with_weather and late_routes" in done.stdout
    assert "a Dag runs no task before its start_date; the run's date is 2012-12-31" in done.stdout


@pytest.mark.usefixtures("migrated_home")
def test_missing_inputs_are_reported_together_and_nothing_is_written(home: Home) -> None:
    params = ("--param", "input=/nowhere", "--param", f"output={home.output}")
    done = home.cli("run", "flights", "--date", "2013-01-01", *params)
    assert done.returncode == 1
    (run,) = (home.staging / "flights").iterdir()
    assert str(name_of_segment(run.name)).startswith("manual__2013-01-01T")
    failure = done.stdout[done.stdout.index("pipeline 'flights'") :].splitlines()
    assert failure[0] == "pipeline 'flights', region 'with_weather': before any data moved, 2 problems were found"
    assert failure[1] == "  flights: its input file:/nowhere/flights.csv does not exist"
    assert failure[2].startswith("    declared at ")
    assert "pipelines/flights.py" in failure[2]
    assert failure[3] == "  weather: its input file:/nowhere/weather.csv does not exist"
    assert "✗" in done.stdout
    assert failure[5] == "  region 'with_weather' failed after 1 attempt"
    log = Path(failure[6].removeprefix("  log: "))
    assert "InitializeOnMasterError" in log.read_text()
    assert not home.output.exists()
    assert list(home.folder.glob("staging/flights/*/manifests/*")) == []


@pytest.mark.ci
@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["explain", "fligths"], "there is neither pipelines/fligths.py nor pipelines/fligths.yaml"),
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


@pytest.mark.ci
def test_explain_shows_the_plan(home: Home) -> None:
    golden = Path(__file__).parents[1] / "golden" / "pipelines" / "flights.AUTO.explain.txt"
    assert home.cli("explain", "flights").stdout == golden.read_text()


@pytest.mark.ci
def test_a_dry_run_analyzes_every_operator(home: Home) -> None:
    done = home.cli("dry-run", "flights")
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.startswith("flights: 24 operators ")


@pytest.mark.ci
def test_env_prints_a_shell_script(home: Home) -> None:
    lines = home.cli("env").stdout.splitlines()
    assert all(line.startswith("export ") for line in lines)
    assert f"export AIRFLOW_HOME={home.folder}" in lines
    assert json.loads(next(line for line in lines if "SPARK_DEFAULT" in line).split("=", 1)[1].strip("'"))["host"]
