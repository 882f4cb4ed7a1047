"""`graph-compiler staging` on the command line, without Airflow."""

import json
import time
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from graph_compiler.cli.app import app
from graph_compiler.graphs.execution import ExecutionState
from graph_compiler.staging.gc.survey import survey
from graph_compiler.staging.store.local_store import LocalStore
from tests.harness.staging_trees import FIRST, OUT, SECOND, Run, age

DAY = 86400.0


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Leave a run of yesterday that has finished, in the root that the environment names."""
    monkeypatch.setenv("AIRFLOW_HOME", str(tmp_path / "no airflow"))
    monkeypatch.setenv("AIRFLOW__GRAPH_COMPILER__STAGING_ROOT", str(tmp_path / "staging"))
    run = Run(tmp_path / "staging")
    run.end(FIRST, "e1")
    run.commit(run.result(FIRST), 0, "e1")
    run.end(SECOND, "e2")
    run.commit(run.result(SECOND), 0, "e2")
    run.release(run.result(SECOND), 0)
    run.end(OUT, "e3")
    age(run.root, time.time(), DAY)
    return run


def call(*arguments: str, exit_code: int = 0) -> Result:
    done = CliRunner().invoke(app, ["staging", *arguments])
    assert done.exit_code == exit_code, done.output
    return done


def test_runs_are_listed_with_state_size_and_age(run: Run) -> None:
    said = call("list")
    assert "run 1  FINISHED" in said.stdout
    assert "1 d old  3 attempts, 1 result kept; all that began has finished" in said.stdout
    assert f"1 run, {run_size(run)} in {run.root}" in said.stdout
    assert "Airflow could not be asked" in said.stderr
    (row,) = json.loads(call("list", "--json").stdout)
    assert (row["state"], row["attempts"], row["results_kept"]) == ("FINISHED", 3, [run.result(FIRST)])


def test_runs_are_listed_with_the_logical_date_that_their_id_does_not_say(run: Run) -> None:
    """Airflow names a run after the time of its creation."""
    date = "2013-01-01T00:00:00+00:00"
    made = Run(run.root, run_id="manual__2026-11-22T10:00:00+00:00", logical_date=date)
    named = Run(run.root, run_id=f"scheduled__{date}", logical_date=date)
    for each in (made, named):
        each.end(FIRST, "e1")
    said = call("list").stdout
    assert f"  {made.run_id} (logical date {date})  LIVE" in said
    assert f"  {named.run_id}  LIVE" in said
    assert f"p · {made.run_id} (logical date {date}) · " in call("show", "p", made.run_id).stdout
    rows = json.loads(call("list", "--json").stdout)
    assert {row["run_id"]: row["logical_date"] for row in rows} == {
        run.run_id: None,
        made.run_id: date,
        named.run_id: date,
    }
    history = CliRunner().invoke(app, ["history", "p", made.run_id])
    assert history.stdout.startswith(f"p · {made.run_id} (logical date {date})\n")


def run_size(run: Run) -> str:
    size = sum(path.stat().st_size for path in run.path.rglob("*") if path.is_file())
    return f"{size / 1000:.1f} kB"


def test_a_runs_results_are_shown_with_who_reads_them_and_what_was_released(run: Run) -> None:
    said = call("show", "p", "run 1").stdout
    assert f"{run.result(FIRST)} · {FIRST}\n    for {SECOND}\n" in said
    assert "epoch 0: 3 rows, 4 B, " in said
    assert run.layout.data(run.result(FIRST), epoch=0, execution_id="e1") in said
    assert f"was released by its last consumer, '{OUT}'" in said
    (shown,) = json.loads(call("show", "p", "run 1", "--json").stdout)
    released = {result["owner"]: result["epochs"][0]["released_by"] for result in shown["results"]}
    assert released == {FIRST: None, SECOND: OUT}
    assert "there is no run 'never' of 'p'" in call("show", "p", "never", exit_code=2).stderr


def test_gc_removes_what_its_dry_run_listed(run: Run) -> None:
    said = call("gc", "--older-than", "2 h", "--dry-run").stdout
    assert f"p · run 1: {run.path} ({run_size(run)}): the run is old" in said
    assert "would remove 2 things" not in said
    assert "would remove 1 thing" in said
    assert run.path.exists()
    assert "removed 1 thing" in call("gc", "--older-than", "2 h").stdout
    assert not run.path.exists()
    assert "removed 0 things, 0 B; keeps 0 runs\n" in call("gc").stdout


def test_gc_follows_each_runs_ttl_by_default(run: Run) -> None:
    found = json.loads(call("gc", "--json").stdout)
    assert [row["waste"] for row in found["removed"]] == ["RELEASED"]
    assert [row["state"] for row in found["kept"]] == ["FINISHED"]
    assert run.path.exists()


def test_leftover_tables_are_listed_to_be_dropped_by_hand(run: Run) -> None:
    run.end(OUT, "e4", ExecutionState.FAILED)
    run.prepare("e4", "jdbc:sales in jdbc:postgresql://db/dw", table="graph_compiler_0123")
    age(run.root, time.time(), 8 * DAY)
    said = call("gc", exit_code=1).stdout
    assert "left for jdbc:sales in jdbc:postgresql://db/dw\n" in said
    assert "  DROP TABLE IF EXISTS graph_compiler_0123;\n" in said
    assert "graph_compiler_0123" in call("gc", exit_code=1).stdout, "until somebody says so"
    call("gc", "--tables-dropped")
    assert not run.path.exists()


def test_a_table_that_was_dropped_is_not_named_again(run: Run) -> None:
    run.end(OUT, "e4", ExecutionState.FAILED)
    run.prepare("e4", "jdbc:sales in jdbc:postgresql://db/dw", table="graph_compiler_0123")
    age(run.root, time.time(), DAY)
    (before,) = survey(LocalStore(), str(run.root)).runs
    call("gc", exit_code=1)
    call("gc", "--tables-dropped", "--dry-run")
    call("gc", exit_code=1)
    call("gc", "--tables-dropped")
    call("gc")
    (after,) = survey(LocalStore(), str(run.root)).runs
    assert after.changed == before.changed, "no change of the run"


def test_an_invalid_call_is_reported(run: Run) -> None:
    for text in ("soon", "7"):
        said = call("gc", "--older-than", text, exit_code=2).stderr
        assert f"--older-than is '{text}'\n  allowed: a whole number and one of d, h" in said
    said = call("gc", "--older-than", "10 min", exit_code=2).stderr
    assert "Airflow cannot say which runs are live" in said
    assert "allowed: 1 h and more" in said
    assert run.path.exists()


def test_the_root_is_found_in_airflows_file_and_then_in_its_home(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("AIRFLOW__GRAPH_COMPILER__STAGING_ROOT")
    monkeypatch.setenv("AIRFLOW_HOME", str(tmp_path))
    assert f"in {tmp_path / 'staging'}" in call("list").stdout
    (tmp_path / "airflow.cfg").write_text("[graph_compiler]\nstaging_root = $WHERE/none\n")
    monkeypatch.setenv("WHERE", str(tmp_path))
    assert f"in {tmp_path / 'none'}" in call("list").stdout
    monkeypatch.setenv("WHERE", str(run.root.parent))
    (tmp_path / "airflow.cfg").write_text("[graph_compiler]\nstaging_root = $WHERE/staging\n")
    assert f"1 run, {run_size(run)} in {run.root}" in call("list").stdout
    (tmp_path / "airflow.cfg").write_text("[graph_compiler]\nstaging_root = s3://bucket\n")
    refused = call("list", exit_code=2)
    assert "Spark's name of this scheme is s3a:, not s3:" in refused.stderr


@pytest.mark.parametrize("minutes", [-90, -10, 10, 90])
def test_ages_are_those_of_the_store_whatever_this_hosts_clock_says(
    minutes: int, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = time.time()
    monkeypatch.setattr(time, "time", lambda: now + minutes * 60)
    age(run.root, now, 55 * 60)
    call("gc", "--older-than", "1 h")
    assert run.path.exists(), "it is kept for an hour, since Airflow could not be asked"
    age(run.root, now, 65 * 60)
    call("gc", "--older-than", "1 h")
    assert not run.path.exists()
    assert not list(run.root.glob(".probe*"))
