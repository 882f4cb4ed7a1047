"""Which run the publications of a target belong to, and what happens to unfinished ones; without Spark."""

import json
import os
import shutil
import subprocess
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from threading import Barrier
from typing import Any

import pytest

from graph_compiler.deployment.documents.run_identity import RunIdentity
from graph_compiler.deployment.documents.staging_layout import OUTCOME, PREPARED, REMOVED, StagingLayout, StreamLayout
from graph_compiler.deployment.documents.wire import to_json
from graph_compiler.errors import (
    DamagedDocumentError,
    DecisionLostError,
    OtherVersionError,
    PublicationConflictError,
    PublicationError,
    StagingRootNotSharedError,
)
from graph_compiler.identifiers import OperatorId, RegionId
from graph_compiler.staging.attempts.run_marker import VERSION, RunMarker, mark_run, same_root
from graph_compiler.staging.publications.carrier import carry_out
from graph_compiler.staging.publications.ledger import Ledger
from graph_compiler.staging.publications.ledger_records import LedgerRecords
from graph_compiler.staging.publications.preparations import PlaceKind, Preparation, PreparedPlace, beside
from graph_compiler.staging.publications.publications import GIVEN_UP, Confirmation, Ending, Intent, Publication, ending
from graph_compiler.staging.publications.unexplained_attempts import TAKEN_AWAY
from graph_compiler.staging.store.local_store import LocalStore
from graph_compiler.staging.store.staging_store import MOST_BYTES
from graph_compiler.staging.streams.checkpoint import CheckpointTakenError
from tests.harness.folders import SINK, on_disk, prepare

MOVED = OperatorId("cd" * 16)
"""The same sink's id, or another sink's: it depends on the plan."""


@pytest.fixture
def ledger(tmp_path: Path) -> Ledger:
    layout = StagingLayout(root=str(tmp_path / "staging"), identity=RunIdentity.own("p", "r"))
    return Ledger(store=LocalStore(), layout=layout, plan_id="plan")


@pytest.fixture
def target(tmp_path: Path) -> Path:
    return tmp_path / "out"


def settle(ledger: Ledger, target: Path, sink: OperatorId = SINK) -> int:
    def bring_in(publication: Publication) -> None:
        assert isinstance(publication, Intent)
        carry_out(on_disk(publication))
        ledger.finish(publication)

    return ledger.settle(str(target), sink, bring_in)


def intended(ledger: Ledger, target: Path, execution_id: str, sink: OperatorId = SINK) -> Intent:
    """Let an execution of the ledger's run and plan prepare one file to append."""
    number = settle(ledger, target, sink)
    prepared = prepare(target, add=[f"part-{execution_id}"], execution_id=execution_id)
    return replace(prepared, number=number, identity=ledger.layout.identity, plan_id=ledger.plan_id, operator_id=sink)


def decided(ledger: Ledger, target: Path, execution_id: str, sink: OperatorId = SINK) -> Intent:
    """Let an execution prepare one file to append, and decide."""
    intent = intended(ledger, target, execution_id, sink)
    ledger.decide(intent)
    return intent


def of_another_run(ledger: Ledger) -> Ledger:
    return replace(ledger, layout=replace(ledger.layout, identity=RunIdentity.own("p", "other")))


def publish(ledger: Ledger, target: Path, execution_id: str, sink: OperatorId = SINK) -> None:
    decided(ledger, target, execution_id, sink)
    settle(ledger, target, sink)


def own(ledger: Ledger, target: Path, sink: OperatorId) -> list[str]:
    found = ledger.of_this_run(str(target), sink, settle(ledger, target, sink))
    return [publication.execution_id for publication in found]


def test_a_sink_with_a_changed_id_knows_what_its_run_published(ledger: Ledger, target: Path) -> None:
    publish(ledger, target, "first")
    redeployed = replace(ledger, plan_id="changed")
    assert own(redeployed, target, MOVED) == ["first"]
    publish(redeployed, target, "second", MOVED)
    assert own(redeployed, target, MOVED) == ["first", "second"]


def of_group(ledger: Ledger, group_path: str, run_id: str = "r", map_index: int = -1) -> Ledger:
    identity = RunIdentity(dag_id="nightly", group_path=group_path, pipeline="p", run_id=run_id, map_index=map_index)
    return replace(ledger, layout=replace(ledger.layout, identity=identity))


def mark(ledger: Ledger) -> None:
    """Write what the first task of a run writes."""
    layout = ledger.layout
    marker = RunMarker(
        version=VERSION, root=layout.root, identity=layout.identity, host="h", time=0.0, plan_id="plan", ttl=1.0
    )
    mark_run(ledger.store, marker)


@pytest.mark.parametrize(
    ("last", "is_refused"),
    [
        ({"group_path": "a"}, False),
        ({"group_path": "a", "run_id": "next"}, False),
        ({"group_path": "b", "run_id": "next"}, False),
        ({"group_path": "b"}, True),
        ({"group_path": "a", "map_index": 1}, True),
    ],
)
def test_rows_of_another_group_or_instance_of_a_dag_run_are_not_replaced(
    last: dict[str, Any], is_refused: bool, ledger: Ledger, target: Path
) -> None:
    mine, theirs = of_group(ledger, "a"), of_group(ledger, **last)
    publish(mine, target, "first")
    publish(theirs, target, "second")
    number = settle(mine, target)
    if is_refused:
        with pytest.raises(PublicationError, match="has published to its target .* in this Dag ru"):
            mine.refuse_rows_of_this_dag_run(str(target), number)
    else:
        mine.refuse_rows_of_this_dag_run(str(target), number)
    ledger.give_up(decided(of_group(ledger, "b"), target, "third"))
    if not is_refused:  # what is given up is not there
        mine.refuse_rows_of_this_dag_run(str(target), settle(mine, target))
    publish(of_group(ledger, "x", run_id="later"), target, "fourth")
    mine.refuse_rows_of_this_dag_run(str(target), settle(mine, target))


def test_a_sink_with_a_changed_id_looks_past_publications_of_other_runs(ledger: Ledger, target: Path) -> None:
    publish(ledger, target, "first")
    publish(replace(ledger, layout=replace(ledger.layout, identity=RunIdentity.own("p", "other"))), target, "others")
    assert own(replace(ledger, plan_id="changed"), target, MOVED) == ["first"]


class AtOnce(LocalStore):
    """A store that answers eight reads of records below a number at once, and no fewer."""

    def __init__(self, below: int) -> None:
        self._below, self._meeting = below, Barrier(8, timeout=10)

    def get(self, key: str, *, most: int = MOST_BYTES) -> bytes | None:
        if int(Path(key).name.partition(".")[0]) < self._below:
            self._meeting.wait()
        return super().get(key, most=most)


def test_records_of_a_target_with_many_are_read_at_once(ledger: Ledger, target: Path) -> None:
    publish(ledger, target, "own")
    others = of_another_run(ledger)
    for number in range(1, 64):
        publish(others, target, f"e{number}")
    store = AtOnce(below=64 - 16)
    found = [number for number, _ in replace(ledger, store=store).records.newest_first(str(target), 64)]
    assert found == [*reversed(range(64))]
    assert own(ledger, target, SINK) == ["own"]


@pytest.mark.parametrize("in_between", [False, True])
def test_another_sink_of_the_plan_is_refused(in_between: bool, ledger: Ledger, target: Path) -> None:
    publish(ledger, target, "first")
    if in_between:
        publish(
            replace(ledger, layout=replace(ledger.layout, identity=RunIdentity.own("p", "other"))), target, "others"
        )
    with pytest.raises(PublicationError, match="was written by another sink of this run"):
        own(ledger, target, MOVED)


def test_no_older_attempt_publishes_after_a_confirmation(ledger: Ledger, target: Path) -> None:
    first = decided(ledger, target, "e0")
    number = settle(ledger, target)
    sleeping = replace(first, number=number, execution_id="e1")
    about = replace(first, number=number, execution_id="e2")
    confirmed = Confirmation.of(first, instead_of=about)
    assert (confirmed.earlier, confirmed.execution_id) == ("e0", "e2")
    assert Confirmation.of(confirmed, instead_of=about) == confirmed
    ledger.decide(confirmed)  # and dies before it has recorded that it is done
    with pytest.raises(DecisionLostError):
        ledger.decide(sleeping)
    assert settle(ledger, target) == number + 1
    assert ending(ledger.store, ledger.layout.done(str(target), number)) is Ending.CARRIED_OUT
    assert own(ledger, target, SINK) == ["e0", "e2"]
    with pytest.raises(DecisionLostError):  # another attempt of its run was first
        ledger.confirm(replace(confirmed, execution_id="e3"), carry_out=lambda _: None)


@pytest.mark.parametrize("removed", ["1.intent.json", "0.intent.json"])
def test_the_number_of_a_removed_intent_is_not_reused(removed: str, ledger: Ledger, target: Path) -> None:
    for execution_id in ("first", "second"):
        other = replace(ledger, layout=replace(ledger.layout, identity=RunIdentity.own("p", execution_id)))
        publish(other, target, execution_id)
    Path(ledger.layout.publications(str(target)), removed).unlink()
    assert settle(ledger, target) == 2
    publish(ledger, target, "third")
    assert {path.name for path in target.iterdir()} == {"part-first", "part-second", "part-third"}


class Unmounted(LocalStore):
    """A staging root whose file system is unmounted at a call, leaving an empty folder, and may be mounted again."""

    def __init__(self, root: Path, *, goes_at: int, comes_at: int) -> None:
        self._root, self._away = root, root.with_name("away")
        self._goes_at, self._comes_at = goes_at, comes_at
        self._calls = 0

    def put_if_absent(self, key: str, content: bytes) -> bool:
        self._turn()
        return super().put_if_absent(key, content)

    def get(self, key: str, *, most: int = MOST_BYTES) -> bytes | None:
        self._turn()
        return super().get(key, most=most)

    def give_back(self) -> None:
        if self._away.exists():
            shutil.rmtree(self._root)
            self._away.rename(self._root)

    def _turn(self) -> None:
        self._calls += 1
        if self._calls == self._goes_at:
            self._root.rename(self._away)
            self._root.mkdir()
        if self._calls == self._comes_at:
            self.give_back()


@pytest.mark.parametrize(("goes_at", "comes_at"), [(at, back) for at in range(2, 7) for back in range(at + 1, 9)])
def test_an_unmounted_staging_root_decides_no_publication(
    goes_at: int, comes_at: int, ledger: Ledger, target: Path
) -> None:
    root = Path(ledger.layout.root)
    ledger.store.put_if_absent(ledger.layout.marker, b"{}")
    publish(ledger, target, "before")
    store = Unmounted(root, goes_at=goes_at, comes_at=comes_at)
    unmounted = replace(ledger, store=store, is_same_root=same_root(store, ledger.layout))
    with suppress(StagingRootNotSharedError, PublicationConflictError):
        publish(
            replace(unmounted, layout=replace(ledger.layout, identity=RunIdentity.own("p", "other"))),
            target,
            "meanwhile",
        )
    store.give_back()
    settle(ledger, target)
    visible = {path.name for path in target.iterdir()}
    known = {str(document["execution_id"]) for document in ledger.documents(str(target), 9)}
    assert visible == {f"part-{execution_id}" for execution_id in known}


def test_prepared_rows_removed_by_hand_are_given_up_once(
    ledger: Ledger, target: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    carry_out(on_disk(decided(ledger, target, "killed")))
    shutil.rmtree(target)
    for _ in range(2):
        assert settle(ledger, target) == 1
    assert own(ledger, target, SINK) == []
    assert capsys.readouterr().err.count("gave up what execution killed of run r") == 1
    publish(ledger, target, "retry")
    assert own(ledger, target, SINK) == ["retry"]


def test_remaining_files_of_a_given_up_publication_belong_to_its_run(ledger: Ledger, target: Path) -> None:
    intent = decided(ledger, target, "killed")
    shutil.rmtree(intent.prepared)
    number = settle(ledger, target)
    (left,) = ledger.of_this_run(str(target), SINK, number, given_up=True)
    assert isinstance(left, Intent)
    assert left.add == ("part-killed",)


def test_a_publication_finished_by_another_execution_is_not_given_up(ledger: Ledger, target: Path) -> None:
    intent = decided(ledger, target, "slow")

    def finished_and_replaced(_: Publication) -> None:
        carry_out(on_disk(intent))
        ledger.finish(intent)
        shutil.rmtree(target)
        carry_out(on_disk(intent))

    assert ledger.settle(str(target), SINK, finished_and_replaced) == 1
    assert own(ledger, target, SINK) == ["slow"]


def test_deciding_again_succeeds_and_another_execution_loses(ledger: Ledger, target: Path) -> None:
    intent = decided(ledger, target, "first")
    ledger.decide(intent)
    with pytest.raises(DecisionLostError, match="nothing of this one is visible"):
        ledger.decide(replace(intent, execution_id="second"))


DAMAGES = {
    "empty": b"",
    "torn": b'{"type": "Intent", "numb',
    "no JSON": b"\x00\x00",
    "no object": b"[]",
    "a FIFO": None,
}


def damage(ledger: Ledger, target: Path, number: int, content: bytes | None) -> Path:
    intent = Path(ledger.layout.intent(str(target), number))
    intent.unlink()
    if content is None:
        os.mkfifo(intent)
    else:
        intent.write_bytes(content)
    return intent


def record(ledger: Ledger, target: Path, execution_id: str) -> Path:
    """Write what a sink records before it prepares anything; return the execution's folder."""
    folder = Path(ledger.layout.descriptor(RegionId("out"), execution_id)).parent
    place = PreparedPlace(kind=PlaceKind.FOLDER, place=str(beside(target) / execution_id), target=str(target))
    note = Preparation(operator_id=SINK, execution_id=execution_id, prepared=place)
    (folder / PREPARED).mkdir(parents=True)
    (folder / PREPARED / f"{SINK}.json").write_text(to_json(note))
    return folder


@pytest.mark.parametrize("content", DAMAGES.values(), ids=DAMAGES)
def test_an_unreadable_intent_does_not_block_once_it_is_done(
    ledger: Ledger, target: Path, content: bytes | None
) -> None:
    publish(ledger, target, "first")
    damage(ledger, target, 0, content)
    later = replace(ledger, layout=replace(ledger.layout, identity=RunIdentity.own("p", "later")))
    publish(later, target, "second")
    assert own(later, target, SINK) == ["second"]


@pytest.mark.parametrize("content", DAMAGES.values(), ids=DAMAGES)
def test_an_unreadable_intent_that_is_not_done_is_given_up(
    ledger: Ledger, target: Path, content: bytes | None, capsys: pytest.CaptureFixture[str]
) -> None:
    decided(ledger, target, "first")
    damage(ledger, target, 0, content)
    later = replace(ledger, layout=replace(ledger.layout, identity=RunIdentity.own("p", "later")))
    assert settle(later, target) == 1
    assert "gave up a publication to" in capsys.readouterr().err
    publish(later, target, "second")
    assert own(later, target, SINK) == ["second"]


@pytest.mark.parametrize("is_done", [False, True])
def test_a_run_that_may_own_an_unreadable_intent_is_told_how_to_go_on(
    ledger: Ledger, target: Path, is_done: bool
) -> None:
    record(ledger, target, "first")
    (publish if is_done else decided)(ledger, target, "first")
    damage(ledger, target, 0, b"")
    for _ in range(2):
        with pytest.raises(PublicationError, match="could double its rows") as raised:
            own(ledger, target, SINK)
    subprocess.run(str(raised.value).partition("; then: ")[2], shell=True, check=True)
    assert own(ledger, target, SINK) == []
    publish(ledger, target, "second")
    assert own(ledger, target, SINK) == ["second"]


def test_rows_withdrawn_before_a_decision_do_not_block(ledger: Ledger, target: Path) -> None:
    folder = record(ledger, target, "lost")
    (folder / PREPARED / f"{SINK}{REMOVED}").write_text(TAKEN_AWAY)
    other = replace(ledger, layout=replace(ledger.layout, identity=RunIdentity.own("p", "other")))
    publish(other, target, "others")
    damage(ledger, target, 0, b"")
    assert own(ledger, target, SINK) == []


def test_an_unreadable_intent_is_not_given_up_while_an_attempt_lives_that_may_carry_it_out(
    ledger: Ledger, target: Path
) -> None:
    folder = record(ledger, target, "alive")
    decided(ledger, target, "alive")
    damage(ledger, target, 0, b"")
    later = replace(ledger, layout=replace(ledger.layout, identity=RunIdentity.own("p", "later")))
    with pytest.raises(DecisionLostError, match="execution alive may be carrying it out"):
        settle(later, target)
    (folder / OUTCOME).write_text("{}")
    assert settle(later, target) == 1


def test_carrying_out_a_given_up_unreadable_intent_fails(ledger: Ledger, target: Path) -> None:
    intent = decided(ledger, target, "slow")
    damage(ledger, target, 0, b"")
    later = replace(ledger, layout=replace(ledger.layout, identity=RunIdentity.own("p", "later")))
    settle(later, target)
    carry_out(on_disk(intent))
    with pytest.raises(PublicationConflictError, match="others have given it up"):
        ledger.finish(intent)


def test_an_intent_of_another_version_is_refused_and_never_given_up(ledger: Ledger, target: Path) -> None:
    decided(ledger, target, "first")
    damage(ledger, target, 0, b'{"type": "Exchange", "number": 0}')
    for _ in range(2):
        with pytest.raises(OtherVersionError, match="use the version that wrote it"):
            settle(ledger, target)


def of_a_newer_version(ledger: Ledger, target: Path, number: int) -> None:
    key = Path(ledger.layout.intent(str(target), number))
    key.write_text(json.dumps(json.loads(key.read_text()) | {"added_since": 1}))


def test_the_end_of_a_publication_of_another_version_is_never_replaced(ledger: Ledger, target: Path) -> None:
    publish(ledger, target, "first")
    of_a_newer_version(ledger, target, 0)
    done = Path(ledger.layout.done(str(target), 0))
    for content in (done.read_text(), '{"given_'):
        done.write_text(content)
        with pytest.raises((OtherVersionError, DamagedDocumentError)) as raised:
            own(ledger, target, SINK)
        assert "give it up" not in str(raised.value)


def test_an_open_publication_of_another_version_can_be_given_up_under_a_condition(ledger: Ledger, target: Path) -> None:
    decided(ledger, target, "first")
    of_a_newer_version(ledger, target, 0)
    with pytest.raises(OtherVersionError, match="if no driver of it runs and nothing of it is in the target") as raised:
        settle(ledger, target)
    subprocess.run(str(raised.value).partition("in the target: ")[2], shell=True, check=True)
    assert settle(ledger, target) == 1
    assert own(ledger, target, SINK) == []


def test_rows_of_what_was_given_up_meanwhile_are_no_success(ledger: Ledger, target: Path) -> None:
    """A task that succeeds, or is retried by itself, would leave rows that no later attempt knows."""
    intent = decided(ledger, target, "slow")
    carry_out(on_disk(intent))
    ledger.give_up(intent)
    with pytest.raises(PublicationError, match="was given up meanwhile") as raised:
        ledger.finish(intent)
    assert not isinstance(raised.value, PublicationConflictError)
    subprocess.run(str(raised.value).partition("has them again: ")[2].partition(";")[0], shell=True, check=True)
    ledger.finish(intent)
    assert own(ledger, target, SINK) == ["slow"]


@pytest.mark.parametrize("is_ended", [False, True])
def test_what_takes_an_attempt_away_says_that_no_driver_of_it_may_run(
    ledger: Ledger, target: Path, is_ended: bool
) -> None:
    folder = record(ledger, target, "first")
    if is_ended:
        (folder / OUTCOME).write_text("{}")
    decided(ledger, target, "first")
    damage(ledger, target, 0, b"")
    with pytest.raises(PublicationError, match="hint: when no driver of first runs, remove"):
        settle(ledger, target)


def test_an_unreadable_end_is_not_a_success(ledger: Ledger, target: Path) -> None:
    publish(ledger, target, "first")
    done = Path(ledger.layout.done(str(target), 0))
    done.write_text('{"given_')
    with pytest.raises(DamagedDocumentError, match="if they are not: echo"):
        own(ledger, target, SINK)
    done.write_text('{"given_up": true}\n')
    assert own(ledger, target, SINK) == []


def test_a_ledger_that_cannot_be_listed_is_not_an_empty_one(ledger: Ledger, target: Path) -> None:
    folder = Path(ledger.layout.publications(str(target)))
    folder.parent.mkdir(parents=True)
    folder.touch()  # as a root that answers with an error
    with pytest.raises(NotADirectoryError):
        settle(ledger, target)


def decide_behind(ledger: Ledger, intent: Intent, seen: list[tuple[Publication, ...]] | None = None) -> Intent:
    """Decide after what others have decided meanwhile, which is carried out first and added to `seen`."""

    def bring_in(publication: Publication) -> None:
        assert isinstance(publication, Intent)
        carry_out(on_disk(publication))
        ledger.finish(publication)

    def renew(own: Intent, others: tuple[Publication, ...]) -> Intent:
        if seen is not None:
            seen.append(others)
        return replace(own, rows=len(others))

    return ledger.decide_behind_others(intent, bring_in, renew)


def test_the_first_run_to_decide_is_unchanged(ledger: Ledger, target: Path) -> None:
    intent = intended(ledger, target, "mine")
    assert decide_behind(ledger, intent) == intent
    assert ledger.records.publication(str(target), 0) == intent


def test_a_run_decides_behind_what_others_have_decided_and_looks_at_it_first(ledger: Ledger, target: Path) -> None:
    intent = intended(ledger, target, "mine")
    others = of_another_run(ledger)
    publish(others, target, "first")
    second = decided(others, target, "second")
    seen: list[tuple[Publication, ...]] = []
    found = decide_behind(ledger, intent, seen)
    assert (found.number, found.rows) == (2, 2)
    assert [[one.execution_id for one in known] for known in seen] == [["first", "second"]]
    assert (target / "part-second").exists()
    assert ending(ledger.store, ledger.layout.done(str(target), second.number)) is Ending.CARRIED_OUT
    assert ledger.records.publication(str(target), 2) == found


def test_a_run_never_decides_behind_an_execution_of_its_own(ledger: Ledger, target: Path) -> None:
    intent = intended(ledger, target, "hung")
    publish(ledger, target, "retry")
    with pytest.raises(DecisionLostError, match="nothing of this one is visible"):
        decide_behind(ledger, intent)
    assert ledger.records.numbers(str(target))[0] == {0}


def test_others_have_published_since_where_they_may_have(ledger: Ledger, target: Path) -> None:
    mine = decided(ledger, target, "mine")
    settle(ledger, target)
    publish(ledger, target, "retry")
    assert not ledger.others_since(str(target), mine, before=2)
    publish(of_another_run(ledger), target, "others")
    assert not ledger.others_since(str(target), mine, before=2)
    assert ledger.others_since(str(target), mine, before=3)
    damage(ledger, target, 2, b"")
    assert ledger.others_since(str(target), mine, before=3)


def test_what_others_have_given_up_or_published_before_is_not_since(ledger: Ledger, target: Path) -> None:
    others = of_another_run(ledger)
    publish(others, target, "before")
    mine = decided(ledger, target, "mine")
    settle(ledger, target)
    others.give_up(decided(others, target, "refused"))
    assert not ledger.others_since(str(target), mine, before=3)
    assert ledger.others_since(str(target), replace(mine, target="/elsewhere"), before=3)


def test_what_others_have_confirmed_is_no_change(ledger: Ledger, target: Path) -> None:
    others = of_another_run(ledger)
    first = decided(others, target, "first")
    settle(others, target)
    mine = decided(ledger, target, "mine")
    settle(ledger, target)
    again = Confirmation.of(first, instead_of=intended(others, target, "again"))
    others.confirm(again, lambda _: None)
    assert not ledger.others_since(str(target), mine, before=3)


def test_a_target_may_have_another_zone_until_a_pinned_version_publishes(ledger: Ledger, target: Path) -> None:
    name = str(target)

    def may(before: int) -> bool:
        return ledger.why_another_zone(name, before) is not None

    assert not may(0), "nothing was published"
    old = replace(intended(ledger, target, "old"), zone=None)
    record = Path(ledger.layout.intent(name, 0))
    ledger.decide(old)
    record.write_text(to_json(old).replace(' "zone": null,\n', ""))
    assert "zone" not in record.read_text(), "records of earlier versions have none"
    carry_out(on_disk(old))
    assert ledger.records.holds(old)
    ledger.finish(old)
    assert may(1)
    confirmation = Confirmation.of(old, instead_of=intended(ledger, target, "again"))
    ledger.decide(confirmation)
    ledger.finish(confirmation)
    assert may(2), "a confirmation writes no rows"
    given_up = decided(ledger, target, "refused")
    ledger.give_up(given_up)
    assert may(3), "its rows are not there"
    publish(ledger, target, "new")
    assert not may(4)


@pytest.mark.parametrize("content", DAMAGES.values(), ids=DAMAGES)
def test_the_zone_of_an_unreadable_last_publication_is_unknown(
    ledger: Ledger, target: Path, content: bytes | None
) -> None:
    publish(ledger, target, "pinned")
    publish(ledger, target, "unknown")
    intent = damage(ledger, target, 1, content)
    why = ledger.why_another_zone(str(target), 2)
    assert why is not None
    assert str(intent) in why
    Path(ledger.layout.done(str(target), 1)).write_bytes(GIVEN_UP)
    assert ledger.why_another_zone(str(target), 2) is None, "what is given up is not there"
    publish(ledger, target, "later")
    assert ledger.why_another_zone(str(target), 3) is None


@pytest.mark.parametrize("content", DAMAGES.values(), ids=DAMAGES)
def test_an_unreadable_last_publication_may_be_of_another_group_of_the_dag_run(
    ledger: Ledger, target: Path, content: bytes | None
) -> None:
    mine, theirs = of_group(ledger, "a"), of_group(ledger, "b")
    mark(theirs)
    record(theirs, target, "theirs")
    publish(theirs, target, "theirs")
    intent = damage(ledger, target, 0, content)
    with pytest.raises(PublicationError, match="theirs of another group .* would replace") as raised:
        mine.refuse_rows_of_this_dag_run(str(target), 1)
    assert str(intent) in str(raised.value)
    of_group(ledger, "a", run_id="next").refuse_rows_of_this_dag_run(str(target), 1)
    theirs.refuse_rows_of_this_dag_run(str(target), 1)
    subprocess.run(str(raised.value).partition("rows of theirs: ")[2], shell=True, check=True)
    mine.refuse_rows_of_this_dag_run(str(target), 1)


def test_a_group_whose_run_is_unknown_may_have_made_an_unreadable_publication(ledger: Ledger, target: Path) -> None:
    theirs = of_group(ledger, "b", run_id="other")
    record(theirs, target, "theirs")
    publish(theirs, target, "theirs")
    damage(ledger, target, 0, b"")
    mine = of_group(ledger, "a")
    with pytest.raises(PublicationError, match="may have made it"):
        mine.refuse_rows_of_this_dag_run(str(target), 1)
    mark(theirs)  # now it is known that it is of another Dag run
    mine.refuse_rows_of_this_dag_run(str(target), 1)


@pytest.mark.parametrize("question", ["why_another_zone", "refuse_rows_of_this_dag_run"])
def test_the_last_publication_is_unknown_without_a_readable_end(question: str, ledger: Ledger, target: Path) -> None:
    publish(ledger, target, "first")
    Path(ledger.layout.done(str(target), 0)).write_text('{"given_')
    with pytest.raises(DamagedDocumentError, match="if they are not: echo"):
        getattr(ledger, question)(str(target), 1)


def of_batch(ledger: Ledger, batch: str | None, run: str) -> Ledger:
    layout = replace(ledger.layout, identity=RunIdentity.own("p", run))
    return replace(ledger, layout=layout, batch=batch)


def published(ledger: Ledger, target: Path, execution_id: str) -> None:
    """Publish a file as the next publication of a ledger's run, or of its batch."""
    number = settle(ledger, target)
    ledger.decide(replace(intended(ledger, target, execution_id), number=number, batch=ledger.batch))
    settle(ledger, target)


def has_driver(ledger: Ledger, stream_id: str) -> None:
    """Let a driver take a stream."""
    layout = StreamLayout(root=ledger.layout.root, owner=ledger.layout.identity.owner)
    ledger.store.put_if_absent(f"{layout.turns(stream_id)}/0.json", b"{}")


def test_a_batch_belongs_to_its_stream_whatever_run_publishes_it(ledger: Ledger, target: Path) -> None:
    has_driver(ledger, "s")
    has_driver(ledger, "other")
    published(of_batch(ledger, "s/0", "monday"), target, "e1.0")
    published(of_batch(ledger, None, "monday"), target, "e2")
    published(of_batch(ledger, "s/1", "monday"), target, "e1.1")
    published(of_batch(ledger, "other/1", "monday"), target, "e3.1")

    def own(batch: str | None, run: str) -> list[str]:
        found = of_batch(ledger, batch, run).of_this_run(str(target), SINK, 4)
        return [each.execution_id for each in found]

    assert own("s/1", "tuesday") == ["e1.1"]
    assert own("s/2", "monday") == []
    assert own(None, "monday") == ["e2"], "a run and its batches are apart"
    assert own(None, "tuesday") == []


@pytest.mark.parametrize("is_reset", [False, True])
def test_what_a_driver_decides_when_its_stream_is_reset_is_given_up(
    ledger: Ledger, target: Path, *, is_reset: bool
) -> None:
    """It had looked at its turn just before. Its rows are read again, by the stream that begins then."""

    def lost() -> None:
        raise CheckpointTakenError("it was reset")

    has_driver(ledger, "t")
    if not is_reset:  # then the next driver has the same batch
        has_driver(ledger, "s")
    late = replace(of_batch(ledger, "s/1", "monday"), check_turn=lost)
    with pytest.raises(CheckpointTakenError):
        published(late, target, "e1.1")
    published(of_batch(ledger, "t/0", "monday"), target, "e2.0")
    assert ending(ledger.store, ledger.layout.done(str(target), 0)) is (
        Ending.GIVEN_UP if is_reset else Ending.CARRIED_OUT
    )
    assert (target / "part-e1.1").exists() is not is_reset


def test_a_batch_does_not_look_beyond_the_one_before(
    ledger: Ledger, target: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(5):
        published(of_batch(ledger, f"s/{number}", "r"), target, f"e.{number}")
    read: list[int] = []
    content = LedgerRecords._content

    def reads(records: LedgerRecords, place: str, number: int) -> Any:
        read.append(number)
        return content(records, place, number)

    monkeypatch.setattr(LedgerRecords, "_content", reads)
    assert of_batch(ledger, "s/5", "r").of_this_run(str(target), SINK, 5) == ()
    assert read == [4]
