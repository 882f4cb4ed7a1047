"""How far the history of a table may be removed, by what attempts, decisions and positions need of it."""

import os
from pathlib import Path

import pytest

from graph_compiler import Csv, Delta, Iceberg
from graph_compiler.deployment.documents.position import ColumnBounds, ReachedSink, ReadFrom, Settlement
from graph_compiler.deployment.documents.run_identity import RunIdentity
from graph_compiler.deployment.documents.staging_layout import DESCRIPTOR, PositionLayout, StagingLayout
from graph_compiler.identifiers import OperatorId, RegionId
from graph_compiler.staging.gc.collection import Policy
from graph_compiler.staging.gc.liveness import AirflowRunState
from graph_compiler.staging.gc.survey import survey
from graph_compiler.staging.gc.table_needs import (
    CLOCKS_DIFFER,
    HistoryLimit,
    NeededCommit,
    OpenAttempt,
    OpenDecision,
    SeenCommit,
    TableNeeds,
    files_cutoff,
    history_cutoff,
    survey_needs,
)
from graph_compiler.staging.positions.known import NewPart
from graph_compiler.staging.positions.position_log import PositionLog
from graph_compiler.staging.store.local_store import LocalStore
from tests.harness.staging_trees import FIRST, OUT, SECOND, Run, age

NOW = 1_700_000_000.0
HOUR, DAY = 3600.0, 86400.0
KIND = "snapshot of table t"
RUN = RunIdentity.own("p", "r1")


def days(*ages: float) -> list[SeenCommit]:
    """Return commits 1, 2, … of these ages in days, one after the other."""
    return [
        SeenCommit(id=number, shown=NOW - old * DAY, made=NOW - old * DAY, parent=number - 1 or None)
        for number, old in enumerate(ages, 1)
    ]


def attempt(began: float) -> OpenAttempt:
    return OpenAttempt(identity=RUN, region_id=RegionId("reads"), began=began + CLOCKS_DIFFER, writes=())


def position(commit: int, kind: str = KIND) -> NeededCommit:
    return NeededCommit(owner="p", uid="orders", kind=kind, commit=commit)


def cutoff(asked: float, history: list[SeenCommit], needs: TableNeeds) -> HistoryLimit:
    return history_cutoff(asked, history, needs, kind=KIND, target="iceberg:t")


HISTORY = days(9, 7, 5, 3, 1)


def test_without_needs_the_asked_age_decides() -> None:
    found = cutoff(NOW - 4 * DAY, HISTORY, TableNeeds(now=NOW))
    assert (found.moment, found.why) == (NOW - 4 * DAY, None)


def test_what_readers_see_now_stays_whatever_is_asked() -> None:
    found = cutoff(NOW, HISTORY, TableNeeds(now=NOW))
    assert found.moment == NOW - DAY
    assert found.why == "runs that begin now read what readers see now"


@pytest.mark.parametrize(("began", "kept"), [(8.0, 9), (7.0, 7), (6.9, 7), (5.1, 7), (4.0, 5), (20.0, 9)])
def test_what_readers_saw_when_the_oldest_attempt_began_stays(began: float, kept: int) -> None:
    needs = TableNeeds(now=NOW, attempts=(attempt(NOW - 2 * DAY), attempt(NOW - began * DAY)))
    found = cutoff(NOW - DAY, HISTORY, needs)
    assert found.moment == NOW - kept * DAY
    assert found.why == "the attempt at 'reads' of run 'r1' of 'p' is in progress"


def test_an_attempt_that_needs_less_than_asked_changes_nothing() -> None:
    needs = TableNeeds(now=NOW, attempts=(attempt(NOW - 2 * DAY),))
    assert cutoff(NOW - 6 * DAY, HISTORY, needs).moment == NOW - 6 * DAY


def test_clocks_of_hosts_may_differ() -> None:
    """A commit just before an attempt began may have come after it; a later commit may have an earlier time."""
    began = NOW - 5 * DAY + CLOCKS_DIFFER - 1
    needs = TableNeeds(now=NOW, attempts=(OpenAttempt(identity=RUN, region_id=None, began=began, writes=()),))
    assert cutoff(NOW, HISTORY, needs).moment == NOW - 7 * DAY
    behind = [*HISTORY[:3], SeenCommit(id=4, shown=NOW - 3 * DAY, made=NOW - 6 * DAY), HISTORY[4]]
    needs = TableNeeds(now=NOW, attempts=(attempt(NOW - 5 * DAY),))
    assert cutoff(NOW, behind, needs).moment == NOW - 6 * DAY


def test_a_snapshot_that_a_person_went_back_to_stays() -> None:
    back = [*HISTORY, SeenCommit(id=2, shown=NOW - DAY / 2, made=NOW - 7 * DAY)]
    needs = TableNeeds(now=NOW, attempts=(attempt(NOW - DAY / 4),))
    assert cutoff(NOW, back, needs).moment == NOW - 7 * DAY


def test_a_decision_that_is_not_carried_out_counts_as_an_attempt() -> None:
    decision = OpenDecision(identity=RUN, target="iceberg:t", decided=NOW - 6 * DAY)
    found = cutoff(NOW, HISTORY, TableNeeds(now=NOW, decisions=(decision,)))
    assert found.moment == NOW - 7 * DAY
    assert found.why == "what run 'r1' of 'p' has decided to publish is not carried out"
    other = OpenDecision(identity=RUN, target="/out", decided=NOW - 6 * DAY)
    assert cutoff(NOW - 2 * DAY, HISTORY, TableNeeds(now=NOW, decisions=(other,))).moment == NOW - 2 * DAY


def test_what_a_position_reads_next_stays() -> None:
    needs = TableNeeds(now=NOW, commits=(position(4), position(2), position(1, "snapshot of table u")))
    found = cutoff(NOW, HISTORY, needs)
    assert found.moment == NOW - 7 * DAY
    assert found.why == "the position of source 'orders' of 'p'"


def test_a_position_whose_commit_has_expired_needs_the_next_one() -> None:
    needs = TableNeeds(now=NOW, commits=(position(2),))
    assert cutoff(NOW, HISTORY[2:], needs).moment == NOW - 5 * DAY
    assert cutoff(NOW, HISTORY[3:], needs).moment == NOW - DAY, "it cannot continue anyway"


def test_a_table_without_history_has_nothing_to_keep() -> None:
    needs = TableNeeds(now=NOW, attempts=(attempt(NOW - DAY),), commits=(position(1),))
    assert cutoff(NOW - HOUR, [], needs).moment == NOW - HOUR


def test_files_of_delta_stay_from_when_an_attempt_began_or_a_position_was_read() -> None:
    times = {number: NOW - old * DAY for number, old in enumerate((30, 20, 10, 9))}
    kind = "version of table t"
    assert files_cutoff(NOW - 7 * DAY, times, TableNeeds(now=NOW), kind).moment == NOW - 7 * DAY
    needs = TableNeeds(now=NOW, attempts=(attempt(NOW - 15 * DAY),))
    assert files_cutoff(NOW - 7 * DAY, times, needs, kind).moment == NOW - 15 * DAY
    needs = TableNeeds(now=NOW, commits=(position(1, kind), position(0, "version of table u")))
    found = files_cutoff(NOW - 7 * DAY, times, needs, kind)
    assert (found.moment, found.why) == (NOW - 20 * DAY - CLOCKS_DIFFER, "the position of source 'orders' of 'p'")
    gone = {version: time for version, time in times.items() if version > 1}
    assert files_cutoff(NOW - 7 * DAY, gone, needs, kind).moment == NOW - 10 * DAY - CLOCKS_DIFFER


def test_a_table_is_not_compacted_beside_its_writer() -> None:
    sold, path = Iceberg("lake.db.sold"), Delta("/lake/sold/")
    places = tuple(place for each in (sold, Delta("file:///lake/sold")) if (place := each.place_key()))
    writer = OpenAttempt(identity=RUN, region_id=RegionId("w"), began=NOW, writes=places)
    needs = TableNeeds(now=NOW, attempts=(writer,))
    for connector, target in ((sold, "iceberg:t"), (path, "delta:/lake/sold")):
        assert needs.why_not_compacted(connector, target) == (
            "the attempt at 'w' of run 'r1' of 'p' is in progress, and may write it"
        )
    assert needs.why_not_compacted(Iceberg("lake.db.other"), "iceberg:u") is None
    unknown = OpenAttempt(identity=RUN, region_id=None, began=NOW, writes=None)
    assert TableNeeds(now=NOW, attempts=(unknown,)).why_not_compacted(sold, "iceberg:t") is not None
    decision = OpenDecision(identity=RUN, target="iceberg:t", decided=NOW)
    needs = TableNeeds(now=NOW, decisions=(decision,))
    assert needs.why_not_compacted(sold, "iceberg:t") is not None
    assert needs.why_not_compacted(sold, "iceberg:u") is None


def needs_of(run: Run, airflow: str | None = None) -> TableNeeds:
    states = {} if airflow is None else {run.identity: AirflowRunState(airflow)}
    policy = Policy(now=NOW, airflow=states)
    return survey_needs(LocalStore(), survey(LocalStore(), str(run.root)), policy)


@pytest.fixture
def run(tmp_path: Path) -> Run:
    return Run(tmp_path / "staging")


def test_an_attempt_without_an_end_is_in_progress_as_long_as_its_run_is_live(run: Run) -> None:
    run.end(FIRST, "e1")
    folder = run.begin(OUT, "e2")
    age(run.root, NOW, HOUR)
    os.utime(folder / DESCRIPTOR, (NOW - DAY, NOW - DAY))
    (found,) = needs_of(run).attempts
    assert (found.identity, found.region_id, found.began) == (run.identity, OUT, NOW - DAY)
    assert found.writes == (Csv("/out").place_key(),)
    age(run.root, NOW, 8 * DAY)
    assert needs_of(run).attempts == (), "it has died"
    assert len(needs_of(run, "running").attempts) == 1
    assert needs_of(run, "failed").attempts == ()


def test_attempts_that_have_ended_need_nothing(run: Run) -> None:
    for region, execution in ((FIRST, "e1"), (SECOND, "e2"), (OUT, "e3")):
        run.end(region, execution)
    age(run.root, NOW, 1)
    assert needs_of(run, "running") == TableNeeds(now=NOW)


def test_a_live_run_whose_documents_cannot_be_read_counts_from_its_first_file(run: Run) -> None:
    folder = run.begin(FIRST, "e1")
    (folder / DESCRIPTOR).write_text("{")
    age(run.root, NOW, HOUR)
    os.utime(folder / DESCRIPTOR, (NOW - 2 * DAY, NOW - 2 * DAY))
    (found, *_) = needs_of(run).attempts
    assert (found.began, found.writes) == (NOW - 2 * DAY, None)


def test_a_decision_counts_from_its_record_until_it_is_carried_out(run: Run) -> None:
    run.end(FIRST, "e1")
    run.decide("e1", "iceberg:t")
    age(run.root, NOW, 30 * DAY)
    (found,) = needs_of(run).decisions
    assert (found.target, found.decided) == ("iceberg:t", NOW - 30 * DAY)
    run.decide("e2", "iceberg:u", done=b"{}")
    assert [each.target for each in needs_of(run).decisions] == ["iceberg:t"]


SINK = ReachedSink(region_id=RegionId("out"), operator_id=OperatorId("ab" * 16), name="out")


def reads(
    root: Path, run_id: str, lower: str | None, upper: str | None, *sinks: ReachedSink, kind: str = "Iceberg"
) -> PositionLog:
    """Let a run take an increment, which is published if no sink is named."""
    log = PositionLog(store=LocalStore(), layout=PositionLayout(root=str(root), owner="p", uid="orders"))
    layout = StagingLayout(root=str(root), identity=RunIdentity.own("p", run_id))
    column = "id" if kind == "Jdbc" else None
    read_from = ReadFrom(kind=kind, place="t", column=column)
    bounds = ColumnBounds(kind=KIND, lower=lower, upper=upper)
    log.obtain(layout, f"e-{run_id}", sinks, read_from, lambda _: NewPart(bounds=bounds))
    return log


def test_a_position_needs_the_last_commit_that_was_read_and_published(tmp_path: Path) -> None:
    assert reads(tmp_path, "r1", None, None).needed_commits() == (), "there was no row yet"
    assert reads(tmp_path, "r2", None, "5").needed_commits() == ((KIND, 5),)
    assert reads(tmp_path, "r3", "5", "9").needed_commits() == ((KIND, 9),)
    log = reads(tmp_path, "r4", "9", "12", SINK)
    assert log.needed_commits() == ((KIND, 9),), "it may be tried again"
    assert needs_of(Run(tmp_path)).commits == (NeededCommit(owner="p", uid="orders", kind=KIND, commit=9),)


def test_the_first_increment_reads_the_whole_table_as_it_was(tmp_path: Path) -> None:
    log = reads(tmp_path, "r1", None, "5", SINK)
    assert log.needed_commits() == ((KIND, 5),)
    assert log.settle(0, RunIdentity.own("p", "r2")) is Settlement.SUPERSEDED
    assert log.needed_commits() == (), "it was given up"


def test_after_a_reset_the_position_is_where_it_was_then(tmp_path: Path) -> None:
    reads(tmp_path, "r1", None, "5")
    log = reads(tmp_path, "r2", "5", "9")
    log.reset(to=0)
    assert log.needed_commits() == ((KIND, 5),)
    log.reset(to=-1)
    assert log.needed_commits() == ()


def test_positions_of_a_database_are_no_commits(tmp_path: Path) -> None:
    assert reads(tmp_path, "r1", None, "5", kind="Jdbc").needed_commits() == ()


def test_a_position_that_cannot_be_read_makes_all_unknown(tmp_path: Path) -> None:
    log = reads(tmp_path, "r1", None, "5")
    Path(log.layout.entry(0)).write_text("{")
    assert "0.json" in str(needs_of(Run(tmp_path)).unknown)
