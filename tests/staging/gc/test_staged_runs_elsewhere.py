"""One pipeline in several Dags, in task groups, mapped: each run has separate documents, state and end."""

import json
import time
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from graph_compiler.cli.app import app
from graph_compiler.deployment.documents.run_identity import RunIdentity
from graph_compiler.errors import PublicationError, StagingError
from graph_compiler.identifiers import OperatorId, RegionId
from graph_compiler.staging.attempts.attempts import ExecutionNotFoundError, executions, find_run, regions_of
from graph_compiler.staging.attempts.run_marker import find_marker
from graph_compiler.staging.gc.collection import Policy, collect
from graph_compiler.staging.gc.liveness import AirflowRunState, RunOfAirflow
from graph_compiler.staging.gc.removal import remove
from graph_compiler.staging.gc.survey import survey
from graph_compiler.staging.publications.ledger import Ledger
from graph_compiler.staging.results.manifest_log import ManifestLog
from graph_compiler.staging.store.local_store import LocalStore
from tests.harness.identities import runs_elsewhere
from tests.harness.staging_trees import FIRST, OUT, SECOND, Run, age

STORE = LocalStore()
DAY = 86400.0
PLACES = list(runs_elsewhere("p", "r").values())


def tree(root: Path, identity: RunIdentity) -> Run:
    return Run(
        root,
        run_id=identity.run_id,
        dag_id=identity.dag_id,
        group_path=identity.group_path,
        map_index=identity.map_index,
    )


@pytest.fixture
def runs(tmp_path: Path) -> list[Run]:
    """Create a finished run in each place, all with the same run id; execution ids are Airflow's, and unique."""
    found = [tree(tmp_path / "staging", identity) for identity in PLACES]
    for number, run in enumerate(found):
        run.end(FIRST, f"first-{number}")
        run.commit(run.result(FIRST), 0, f"first-{number}")
        run.end(SECOND, f"second-{number}")
        run.commit(run.result(SECOND), 0, f"second-{number}")
        run.end(OUT, f"out-{number}")
    age(found[0].root, time.time(), DAY)
    return found


def test_each_placements_run_is_found_by_its_name(runs: list[Run]) -> None:
    inventory = survey(STORE, str(runs[0].root))
    assert {run.identity for run in inventory.runs} == set(PLACES)
    assert [(run.attempts, len(run.results)) for run in inventory.runs] == [(3, 2)] * len(PLACES)


def test_runs_do_not_read_each_others_documents(runs: list[Run]) -> None:
    for number, run in enumerate(runs):
        log = ManifestLog(store=STORE, layout=run.layout)
        manifest = log.find(run.result(FIRST), 0)
        assert manifest is not None
        assert manifest.attempt.execution_id == f"first-{number}"
        assert set(regions_of(STORE, run.layout)) == {FIRST, SECOND, OUT}
        (begun,) = executions(STORE, run.layout, RegionId(OUT))
        assert begun.execution_id == f"out-{number}"
        marker = find_marker(STORE, run.layout)
        assert marker is not None
        assert marker.identity == run.identity


def test_each_placement_recognizes_only_its_own_publications(runs: list[Run], tmp_path: Path) -> None:
    target, many = str(tmp_path / "out"), range(len(runs))
    for number, run in enumerate(runs):
        run.decide(f"out-{number}", target, done=b"{}")
    for number, run in enumerate(runs):
        ledger = Ledger(store=STORE, layout=run.layout, plan_id="plan")
        own = [each for each in many if is_own(ledger, target, each)]
        assert own == [number]


def is_own(ledger: Ledger, target: str, number: int) -> bool:
    """Whether the ledger refuses another sink's right to a publication: that of the same run alone."""
    try:
        ledger.of_this_run(target, OperatorId("cd" * 16), number + 1, since=number)
    except PublicationError:
        return True
    return False


def test_airflows_state_counts_for_one_placement_only(runs: list[Run]) -> None:
    live = PLACES[7]
    words = dict.fromkeys(PLACES, AirflowRunState.SUCCESS) | {live: AirflowRunState.RUNNING}
    policy = Policy(now=time.time(), older_than=0, airflow=words)
    found = collect(survey(STORE, str(runs[0].root)), policy)
    assert [(kept.run, kept.state) for kept in found.kept] == [(live, RunOfAirflow.LIVE)]
    list(remove(STORE, found, str(runs[0].root)))
    assert [run.identity for run in runs if run.path.exists()] == [live]


def test_unfinished_publications_keep_only_their_own_run(runs: list[Run], tmp_path: Path) -> None:
    undone = runs[5]
    undone.prepare("out-5", str(tmp_path / "out"))
    undone.decide("out-5", str(tmp_path / "out"))
    age(undone.root, time.time(), DAY)
    words = dict.fromkeys(PLACES, AirflowRunState.SUCCESS)
    policy = Policy(now=time.time(), older_than=0, airflow=words)
    found = collect(survey(STORE, str(undone.root)), policy)
    assert [kept.run for kept in found.kept] == [undone.identity]
    list(remove(STORE, found, str(undone.root)))
    assert [run.identity for run in runs if run.path.exists()] == [undone.identity]


def test_a_record_of_another_run_does_not_identify_a_folder(runs: list[Run]) -> None:
    run, other = runs[5], runs[6]
    marker = run.path / "run.json"
    marker.write_text((other.path / "run.json").read_text())
    left = [found.identity for found in survey(STORE, str(run.root)).runs]
    assert sorted(map(str, left)) == sorted(str(each) for each in PLACES if each != run.identity)
    with pytest.raises(StagingError, match=f"of run 'r' of '{other.identity.owner}', but"):
        find_marker(STORE, run.layout)


def test_a_run_that_is_not_there_is_not_taken_for_one_in_another_place(runs: list[Run]) -> None:
    missing = tree(runs[0].root, RunIdentity.named("p@nightly:asia", "never"))
    with pytest.raises(ExecutionNotFoundError, match="no run 'never' of 'p@nightly:asia' in .*\n  found: r$"):
        find_run(STORE, missing.layout)


@pytest.fixture
def root(runs: list[Run], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("AIRFLOW_HOME", str(tmp_path / "no airflow"))
    monkeypatch.setenv("AIRFLOW__GRAPH_COMPILER__STAGING_ROOT", str(runs[0].root))
    return runs[0].root


def call(*arguments: str, exit_code: int = 0) -> Result:
    done = CliRunner().invoke(app, list(arguments))
    assert done.exit_code == exit_code, done.output
    return done


@pytest.mark.usefixtures("root")
def test_runs_are_listed_under_the_names_that_find_them() -> None:
    lines = call("staging", "list").stdout.splitlines()
    assert lines[:-1:2] == sorted(run.owner for run in PLACES)
    assert {line.split()[0] for line in lines[1:-1:2]} == {"r"}
    rows = json.loads(call("staging", "list", "--json").stdout)
    keys = ("dag_id", "group_path", "pipeline", "run_id", "map_index")
    assert {RunIdentity(**{key: row[key] for key in keys}) for row in rows} == set(PLACES)
    for number, run in enumerate(PLACES):
        shown = call("staging", "show", run.owner, "r").stdout
        assert shown.startswith(f"{run.owner} · r · ")
        assert f"execution first-{number}\n" in shown
        assert call("history", run.owner, "r").stdout.startswith(f"{run.owner} · r\n")
    assert "is not a pipeline in a Dag" in call("history", "p@", "r", exit_code=2).stderr


def test_gc_lists_and_removes_each_run(root: Path) -> None:
    said = call("staging", "gc", "--older-than", "2 h", "--dry-run").stdout
    assert {line.partition(": ")[0] for line in said.splitlines()[:-1]} == {f"{run.owner} · r" for run in PLACES}
    call("staging", "gc", "--older-than", "2 h")
    assert survey(STORE, str(root)).runs == ()


def test_runs_of_the_previous_version_are_read(tmp_path: Path) -> None:
    """It had only the pipeline's own Dag, and named pipeline and run id in each document."""
    run, target = Run(tmp_path / "staging", run_id="r"), str(tmp_path / "out")
    run.begin(FIRST, "e1")
    run.decide("e1", target, done=b"{}")
    marker, intent = run.path / "run.json", Path(run.layout.intent(target, 0))
    for path in (marker, intent):
        document = json.loads(path.read_text())
        del document["identity"]
        version = {"version": 1} if path == marker else {}
        path.write_text(json.dumps({**document, **version, "pipeline": "p", "run_id": "r"}))
    found = find_marker(STORE, run.layout)
    assert found is not None
    assert found.identity == run.identity
    ledger = Ledger(store=STORE, layout=run.layout, plan_id="plan")
    assert is_own(ledger, target, 0)
    elsewhere = tree(run.root, PLACES[1])
    assert not is_own(Ledger(store=STORE, layout=elsewhere.layout, plan_id="plan"), target, 0)
    Path(run.layout.done(target, 0)).unlink()
    (undone,) = survey(STORE, str(run.root)).undone
    assert undone.identity == run.identity
