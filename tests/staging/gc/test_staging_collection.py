"""What a collection removes of a staging root, and what it never does."""

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from graph_compiler.deployment.documents.run_identity import RunIdentity
from graph_compiler.deployment.documents.staging_layout import TRASH
from graph_compiler.graphs.execution import ExecutionState
from graph_compiler.identifiers import OperatorId
from graph_compiler.staging.gc.collection import Collection, LeftTable, Policy, Waste, collect
from graph_compiler.staging.gc.liveness import AirflowRunState, RunOfAirflow
from graph_compiler.staging.gc.removal import forget, remove
from graph_compiler.staging.gc.survey import survey
from graph_compiler.staging.publications.preparations import PlaceKind
from graph_compiler.staging.store.local_store import LocalStore
from tests.harness.staging_trees import FIRST, OUT, SECOND, Run, age

NOW = 1_700_000_000.0
HOUR, DAY = 3600.0, 86400.0


@pytest.fixture
def run(tmp_path: Path) -> Run:
    return Run(tmp_path / "staging")


def whole(run: Run) -> Run:
    """Leave a run that has finished."""
    run.end(FIRST, "e1")
    run.commit(run.result(FIRST), 0, "e1")
    run.end(SECOND, "e2")
    run.commit(run.result(SECOND), 0, "e2")
    run.end(OUT, "e3")
    return run


def found(
    run: Run, *, old: float, older_than: float | None = None, airflow: str | None = None, tables_dropped: bool = False
) -> Collection:
    """Set the age of the run, and decide."""
    age(run.root, NOW, old)
    words: dict[RunIdentity, AirflowRunState] = {}
    if airflow is not None:
        words[run.layout.identity] = AirflowRunState(airflow)
    policy = Policy(now=NOW, older_than=older_than, airflow=words, tables_dropped=tables_dropped)
    return collect(survey(LocalStore(), str(run.root)), policy)


def wastes(collection: Collection) -> dict[str, Waste]:
    return {removal.path: removal.waste for removal in collection.removals}


def test_a_run_is_removed_after_its_ttl(run: Run) -> None:
    whole(run)
    assert wastes(found(run, old=6.9 * DAY)) == {}
    collection = found(run, old=7 * DAY)
    assert wastes(collection) == {str(run.path): Waste.RUN}
    assert collection.bytes > 0
    assert [removal.path for removal in remove(LocalStore(), collection, str(run.root))] == [str(run.path)]
    assert not run.path.exists()
    assert list((run.root / TRASH).iterdir()) == []
    assert survey(LocalStore(), str(run.root)).runs == ()


def test_a_requested_age_counts_but_not_below_an_hour_without_airflow(run: Run) -> None:
    whole(run)
    assert wastes(found(run, old=2 * HOUR, older_than=HOUR))
    assert not wastes(found(run, old=HOUR / 2, older_than=0))
    assert wastes(found(run, old=1, older_than=0, airflow="success"))
    assert not wastes(found(run, old=100 * DAY, older_than=0, airflow="running"))


def test_nothing_of_a_live_run_is_removed(run: Run) -> None:
    whole(run)
    run.begin(OUT, "e4")  # cleared, and at it
    run.data(run.result(FIRST), 1, "loser")
    collection = found(run, old=6 * DAY)
    assert collection.removals == ()
    assert [(kept.state, kept.reason) for kept in collection.kept] == [
        (RunOfAirflow.LIVE, f"an attempt at {OUT} has no end")
    ]


def test_between_two_tasks_a_run_is_live(run: Run) -> None:
    run.end(FIRST, "e1")
    run.commit(run.result(FIRST), 0, "e1")
    (kept,) = found(run, old=2 * DAY, older_than=HOUR).kept
    assert (kept.state, kept.reason) == (RunOfAirflow.LIVE, f"{SECOND} has not begun")


def test_a_failed_run_keeps_only_what_a_clear_reads(run: Run) -> None:
    result = run.result(FIRST)
    run.end(FIRST, "e1")
    first = run.commit(result, 0, "e1")
    second = run.commit(result, 1, "e1b")
    loser = run.data(result, 1, "loser")
    private = run.commit("ab-input-0-e2", 0, "e2")
    waiting = run.path / "data" / "ab-sink" / "e2"
    waiting.mkdir(parents=True)
    stray = run.path / "manifests" / result / ".2.json.x7"
    stray.write_text("{")
    run.end(SECOND, "e2", ExecutionState.FAILED)
    collection = found(run, old=2 * HOUR)
    assert wastes(collection) == {
        str(first): Waste.SUPERSEDED,
        str(loser): Waste.UNCOMMITTED,
        str(private): Waste.FIXED,
        str(waiting): Waste.PREPARED,
        str(stray): Waste.STRAY,
    }
    assert len(list(remove(LocalStore(), collection, str(run.root)))) == 5
    assert second.exists()
    assert not any(path.exists() for path in (first, loser, private, waiting, stray))
    assert found_again(run) == {}
    (tidied,) = survey(LocalStore(), str(run.root)).runs
    assert tidied.changed == NOW - 2 * HOUR, "to be tidied makes no run younger"


def found_again(run: Run) -> dict[str, Waste]:
    return wastes(collect(survey(LocalStore(), str(run.root)), Policy(now=NOW, airflow={})))


def test_data_of_an_interrupted_release_is_removed(run: Run) -> None:
    whole(run)
    run.release(run.result(FIRST), 0)
    assert list(wastes(found(run, old=2 * HOUR)).values()) == [Waste.RELEASED]


def test_a_root_under_another_name_is_the_same_root(run: Run, tmp_path: Path) -> None:
    """Manifests contain absolute paths: a link to the root must not make all data look uncommitted."""
    whole(run)
    age(run.root, NOW, 2 * HOUR)
    (tmp_path / "link").symlink_to(run.root)
    policy = Policy(now=NOW, airflow={})
    assert collect(survey(LocalStore(), str(tmp_path / "link")), policy).removals == ()


def test_prepared_rows_are_removed_before_their_record(run: Run, tmp_path: Path) -> None:
    run.end(OUT, "e1", ExecutionState.FAILED)
    folder = run.prepare("e1", f"{tmp_path}/late")
    assert wastes(found(run, old=2 * HOUR)) == {str(folder): Waste.PREPARED}
    collection = found(run, old=8 * DAY)
    assert list(wastes(collection)) == [str(folder), str(run.path)]
    assert len(list(remove(LocalStore(), collection, str(run.root)))) == 2
    assert not folder.parent.exists()


def test_a_record_with_a_foreign_folder_removes_nothing(run: Run, tmp_path: Path) -> None:
    run.end(OUT, "e1", ExecutionState.FAILED)
    run.prepare("e1", f"{tmp_path}/late")
    (record,) = run.path.rglob("prepared/*.json")
    record.write_text(record.read_text().replace(".late.graph_compiler/e1", "precious"))
    (tmp_path / "precious").mkdir()
    assert str(tmp_path / "precious") not in wastes(found(run, old=2 * HOUR))


def test_rows_of_unfinished_publications_are_kept_at_any_age(run: Run, tmp_path: Path) -> None:
    target = f"{tmp_path}/late"
    whole(run)
    folder = run.prepare("e3", target)
    rows = run.path / "data" / "ab-sink" / "e3"
    rows.mkdir(parents=True)
    run.decide("e3", target)
    collection = found(run, old=100 * DAY)
    assert str(folder) not in wastes(collection)
    assert str(rows) not in wastes(collection)
    assert set(wastes(collection).values()) == {Waste.EXPIRED}
    assert "was decided but not carried out" in collection.kept[0].reason


@pytest.mark.parametrize("seconds", [2 * HOUR, 8 * DAY])
def test_publications_decided_during_a_collection_are_kept(seconds: float, run: Run, tmp_path: Path) -> None:
    target = f"{tmp_path}/late"
    whole(run)
    folder = run.prepare("e3", target)
    collection = found(run, old=seconds)
    assert str(folder) in wastes(collection)
    run.decide("e3", target)
    list(remove(LocalStore(), collection, str(run.root)))
    assert folder.exists()
    assert run.path.exists()


def test_a_run_with_finished_publications_is_removed(run: Run, tmp_path: Path) -> None:
    whole(run)
    run.decide("e3", f"{tmp_path}/late", done=b"{}")
    assert Waste.RUN in wastes(found(run, old=8 * DAY)).values()
    ledgers = list(run.root.rglob("*.intent.json"))
    for _ in remove(LocalStore(), found(run, old=8 * DAY), str(run.root)):
        pass
    assert all(path.exists() for path in ledgers), "ledgers are for ever"


def test_a_branch_that_may_be_left_is_dropped_by_a_statement_of_its_own() -> None:
    left = LeftTable(
        record="r",
        run=RunIdentity.own("p", "r"),
        operator_id=OperatorId("ab" * 16),
        execution_id="e1",
        table="`lake`.`db`.`sold`.branch_graph_compiler_01",
        target="iceberg:1",
        kind=PlaceKind.BRANCH,
    )
    assert left.statement == "ALTER TABLE `lake`.`db`.`sold` DROP BRANCH IF EXISTS graph_compiler_01"


@pytest.mark.parametrize(
    ("then", "is_left"),
    [
        (lambda _: None, True),
        (lambda run: run.nothing_left("e3"), False),
        (lambda run: run.decide("e3", "jdbc:t in u", done=b"{}"), False),
        (lambda run: run.decide("e3", "jdbc:t in u", done=b'{"given_up": true}'), True),
        (lambda run: run.decide("other", "jdbc:t in u", done=b"{}"), True),
        (lambda run: run.decide("e3", "jdbc:t in u"), False),
    ],
    ids=["prepared", "removed", "published", "given-up", "anothers", "undone"],
)
def test_a_table_that_may_be_left_is_named_with_its_statement(
    run: Run, then: Callable[[Run], None], is_left: bool
) -> None:
    whole(run)
    run.prepare("e3", "jdbc:t in u", table="s.graph_compiler_0123")
    then(run)
    collection = found(run, old=8 * DAY)
    statements = [table.statement for table in collection.tables]
    assert statements == ["DROP TABLE IF EXISTS s.graph_compiler_0123"] * is_left
    assert (str(run.path) in wastes(collection)) is (not is_left and not collection.kept)
    if is_left:
        assert "must be dropped first" in collection.kept[0].reason
        assert set(wastes(collection).values()) == {Waste.EXPIRED}, "its rows go all the same"
        dropped = found(run, old=8 * DAY, tables_dropped=True)
        assert str(run.path) in wastes(dropped)


def test_documents_of_another_version_do_not_make_results_waste(run: Run) -> None:
    whole(run)
    (manifest,) = run.path.glob(f"manifests/{run.result(FIRST)}/0.json")
    manifest.write_text('{"type": "Manifest", "of": "tomorrow"}')
    (kept,) = found(run, old=2 * DAY, airflow="success").kept
    assert wastes(found(run, old=2 * DAY, airflow="success")) == {}
    assert kept.state is RunOfAirflow.FINISHED
    assert Waste.RUN in wastes(found(run, old=8 * DAY)).values()


def test_folders_that_are_not_runs_are_ignored(tmp_path: Path) -> None:
    for name in ("photos/2013", ".targets/ab", "p/empty/data/x"):
        (tmp_path / name).mkdir(parents=True)
    assert survey(LocalStore(), str(tmp_path)).runs == ()


def test_a_run_that_changed_during_collection_is_kept(run: Run) -> None:
    collection = found(whole(run), old=8 * DAY)
    run.begin(OUT, "e4")
    assert list(remove(LocalStore(), collection, str(run.root))) == []
    assert run.path.exists()


def test_a_collection_that_was_killed_is_finished_by_the_next(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    def die(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    collection = found(whole(run), old=8 * DAY)
    monkeypatch.setattr("shutil.rmtree", die)
    with pytest.raises(KeyboardInterrupt):
        list(remove(LocalStore(), collection, str(run.root)))
    monkeypatch.undo()
    assert not run.path.exists(), "in one step"
    again = collect(survey(LocalStore(), str(run.root)), Policy(now=NOW, airflow={}))
    assert [removal.waste for removal in again.removals] == [Waste.TRASH]
    assert len(list(remove(LocalStore(), again, str(run.root)))) == 1
    assert list((run.root / TRASH).iterdir()) == []


def test_two_collections_at_once_remove_a_run_once(run: Run) -> None:
    collection = found(whole(run), old=8 * DAY)
    assert len(list(remove(LocalStore(), collection, str(run.root)))) == 1
    assert list(remove(LocalStore(), collection, str(run.root))) == []


def test_another_collection_may_remove_the_folder_around_what_this_one_removes(run: Run, tmp_path: Path) -> None:
    run.end(OUT, "e1", ExecutionState.FAILED)
    folder = run.prepare("e1", f"{tmp_path}/late")
    collection = found(run, old=8 * DAY)

    class Shared(LocalStore):
        def delete(self, key: str) -> bool:
            if key == str(folder):
                shutil.rmtree(folder.parent)
            return super().delete(key)

    removed = [removal.waste for removal in remove(Shared(), collection, str(run.root))]
    assert removed == [Waste.PREPARED, Waste.RUN]


def test_a_table_is_forgotten_while_another_collection_removes_its_run(run: Run, tmp_path: Path) -> None:
    run.end(OUT, "e1", ExecutionState.FAILED)
    run.prepare("e1", f"jdbc:{tmp_path}", table="left")
    tables = found(run, old=DAY, tables_dropped=True).forgotten
    assert tables
    shutil.rmtree(run.path)
    forget(LocalStore(), tables)
    assert not run.path.exists()


def test_a_partly_removed_run_keeps_its_records(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run.end(OUT, "e1", ExecutionState.FAILED)
    run.prepare("e1", f"{tmp_path}/late")
    collection = found(run, old=8 * DAY)
    monkeypatch.setattr("shutil.rmtree", lambda *_, **__: None)
    assert list(remove(LocalStore(), collection, str(run.root))) == []
    assert run.path.exists()
