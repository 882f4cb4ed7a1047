"""What the next run does with an increment that is published, given up, or in between; and resets."""

import json
from dataclasses import replace

import pytest

from graph_compiler.deployment.documents.position import Increment, ReachedSink, ReadFrom, Reset, SinkBegun
from graph_compiler.deployment.documents.run_identity import RunIdentity
from graph_compiler.deployment.documents.wire import to_json
from graph_compiler.errors import DamagedDocumentError
from graph_compiler.graphs.execution import ExecutionState
from graph_compiler.identifiers import OperatorId
from graph_compiler.staging.positions import position_log
from graph_compiler.staging.positions.known import Known, NewPart, SeenFile
from graph_compiler.staging.positions.position_log import (
    IncrementSupersededError,
    PositionBusyError,
    PositionError,
    PositionPendingError,
)
from tests.staging.positions.world import PLACE, World


@pytest.fixture
def world() -> World:
    """Return a world with one file, which no run has read."""
    world = World()
    world.arrives()
    return world


def read_by(world: World, run: str) -> list[str]:
    increment = world.log.of_run(RunIdentity.own("shop", run))
    assert increment is not None
    return [each.path for each in world.log.files_of(increment)]


def dies_after(world: World, run: str, what: str) -> None:
    """Let a run die just after its last write whose key has these words, at the first sink."""
    for writes in range(60):
        trial = World()
        trial.files = dict(world.files)
        trial.attempt("x", dies=writes)
        if any(what in key for key in trial.store.content):
            world.attempt(run, dies=writes)
            return
    raise AssertionError(what)


def test_an_attempt_finds_what_the_first_one_has_taken(world: World) -> None:
    dies_after(world, "r1", "/lists/")
    assert world.log.numbers() == []
    dies_after(world, "r1", "orders/0.json")
    world.arrives()
    assert world.attempt("r1")
    assert read_by(world, "r1") == ["file:/in/0"]


def test_a_run_that_died_while_it_took_its_increment_finds_it_whenever_it_is_cleared(world: World) -> None:
    dies_after(world, "r1", "orders/0.json")
    assert not any("/runs/" in key for key in world.store.content)
    assert world.attempt("r1")
    for run in ("r2", "r1", "r3"):
        world.arrives()
        assert world.attempt(run)
    assert read_by(world, "r1") == ["file:/in/0"]
    assert world.missing() == world.twice() == []


def test_what_nobody_has_claimed_is_the_next_runs(world: World) -> None:
    dies_after(world, "r1", "orders/0.json")
    world.arrives()
    assert world.attempt("r2")
    assert read_by(world, "r2") == ["file:/in/0", "file:/in/1"]
    with pytest.raises(IncrementSupersededError, match="was given to run 'r2'"):
        world.attempt("r1")


def test_what_was_claimed_and_not_published_waits_for_its_run(world: World) -> None:
    dies_after(world, "r1", "0.end.json")
    with pytest.raises(PositionPendingError, match="published by nothing, not by one and two") as refused:
        world.attempt("r2")
    assert "clear the failed tasks of run 'r1'" in str(refused.value)
    world.tell("r2", ExecutionState.FAILED)
    assert world.attempt("r1")
    assert world.attempt("r2")
    assert world.missing() == world.twice() == []


@pytest.mark.parametrize(
    ("last", "found", "twice"),
    [
        ("0.end.json", "published by nothing, not by one and two", ""),
        ("begun.json", "published by nothing, not by one and two", ""),
        (
            "intent.json",
            "published by nothing, not by two; one may have published it",
            "; then one may have its rows twice",
        ),
        ("done.json", "published by one, not by two", "; then one may have its rows twice"),
    ],
)
def test_the_hint_of_a_reset_names_the_sinks_that_may_have_their_rows_twice(
    last: str, found: str, twice: str, world: World
) -> None:
    dies_after(world, "r1", last)
    with pytest.raises(PositionPendingError) as refused:
        world.attempt("r2")
    assert f"began to publish it: {found}\n" in str(refused.value)
    assert str(refused.value).endswith(f"--before r1: the next run reads it again{twice}")


@pytest.mark.parametrize("content", [to_json(SinkBegun(target=None)).encode(), b"damaged"])
def test_a_sink_of_which_no_ledger_is_known_may_have_published(content: bytes, world: World) -> None:
    dies_after(world, "r1", "begun.json")
    (begun,) = [key for key in world.store.content if key.endswith("begun.json")]
    world.store.put(begun, content)
    with pytest.raises(PositionPendingError, match="published by nothing, not by two; one may have") as refused:
        world.attempt("r2")
    assert str(refused.value).endswith("reads it again; then one may have its rows twice")


def test_a_sink_that_is_added_between_two_attempts_has_to_publish_too(world: World) -> None:
    dies_after(world, "r1", "orders/0.json")
    world.targets["three"] = {}
    added = ReachedSink(region_id=world.position.sinks[-1].region_id, operator_id=OperatorId("3" * 32), name="three")
    world.position = replace(world.position, sinks=(*world.position.sinks, added))
    two = world.log.layout.sink_done(0, world.position.sinks[1].operator_id)
    for writes in range(60):
        if two not in world.store.content:
            assert not world.attempt("r1", dies=writes)
    assert not world.targets["three"]
    with pytest.raises(PositionPendingError, match="published by one and two, not by three"):
        world.attempt("r2")
    world.tell("r2", ExecutionState.FAILED)
    assert world.attempt("r1")
    assert world.attempt("r2")
    assert world.missing() == world.twice() == []


def test_what_is_published_counts_though_the_id_of_a_sink_has_changed(world: World) -> None:
    dies_after(world, "r1", "0.end.json")
    one, two = world.position.sinks
    world.position = replace(world.position, sinks=(replace(one, operator_id=OperatorId("1" * 32)), two))
    assert world.attempt("r1")
    world.arrives()
    assert world.attempt("r2")
    assert world.missing() == world.twice() == []


def test_the_sinks_of_the_last_attempt_count_and_others_may_have_their_rows_twice(world: World) -> None:
    dies_after(world, "r1", "done.json")
    increment, sinks = world.log.entry(0), world.position.sinks
    assert isinstance(increment, Increment)
    for now in (sinks[1:], sinks, sinks[1:], sinks[1:]):
        world.log.reaches(increment, now)
    assert [key for key in world.store.content if "reached" in key] == [
        world.log.layout.reached(0, change) for change in (1, 2, 3)
    ]
    with pytest.raises(PositionPendingError, match="published by nothing, not by two") as refused:
        world.attempt("r2")
    assert str(refused.value).endswith("reads it again; then one may have its rows twice")


def test_a_damaged_record_of_sinks_is_refused(world: World) -> None:
    dies_after(world, "r1", "0.end.json")
    world.position = replace(world.position, sinks=world.position.sinks[1:])
    world.attempt("r1", dies=3)
    world.store.put(world.log.layout.reached(0, 1), b"{")
    with pytest.raises(DamagedDocumentError, match="reset shop orders"):
        world.attempt("r2")


def test_the_first_run_that_has_published_later_files_is_known(world: World) -> None:
    def overtaken_by(run: str) -> str | None:
        increment = world.log.of_run(RunIdentity.own("shop", run))
        assert increment is not None
        return world.log.overtaken_by(increment)

    assert world.attempt("r1")
    assert overtaken_by("r1") is None
    assert world.attempt("empty")
    world.arrives()
    for writes in range(60):  # it takes its increment, and publishes nothing
        if 2 not in world.log.numbers():
            world.attempt("fails", dies=writes)
    assert (overtaken_by("r1"), overtaken_by("empty")) == (None, None)
    for run in ("r2", "r3"):
        world.arrives()
        assert world.attempt(run)
    assert [overtaken_by(run) for run in ("r1", "empty", "r2", "r3")] == ["r2", "r2", "r3", None]


def test_an_empty_increment_holds_up_nobody(world: World) -> None:
    assert world.attempt("r1")
    world.attempt("r2", dies=6, tells=False)
    world.arrives()
    assert world.attempt("r3")
    assert world.missing() == world.twice() == []


def test_a_run_that_shows_signs_of_life_is_waited_for_and_not_forever(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    world.attempt("r1", dies=4, tells=False)
    assert world.log.numbers() == [0]
    with pytest.raises(PositionBusyError, match="run 'r1' has read 1 new file"):
        world.attempt("r2")
    world.tell("r2", ExecutionState.FAILED)
    monkeypatch.setattr(position_log, "MINIMUM_SILENCE", 0.0)
    assert world.attempt("r2")


def test_a_position_of_another_path_is_refused_until_it_is_reset(world: World) -> None:
    assert world.attempt("r1")
    other = ReadFrom(kind="json", place="/elsewhere", column=None)
    layout = world.layout("r2")
    with pytest.raises(PositionError, match="has read json /in, and now reads json /elsewhere"):
        world.log.obtain(layout, "e", (), other, lambda _: NewPart(files=()))
    world.log.reset(to=-1)
    assert world.log.obtain(layout, "e", (), other, lambda _: NewPart(files=())).number == 2


def test_a_position_is_that_of_what_its_group_was_mapped_over(world: World) -> None:
    assert world.attempt("r1")  # as an earlier version has recorded it
    austrian, belgian = (replace(PLACE, mapped=f"country = {country}") for country in ("at", "be"))
    assert world.log.obtain(world.layout("r2"), "e", (), austrian, lambda _: NewPart(files=())).number == 1
    words = "has read json /in for country = at, and now reads json /in for .* be:(?s:.*)hint: put the list back; or "
    with pytest.raises(PositionError, match=words):
        world.log.obtain(world.layout("r3"), "e", (), belgian, lambda _: NewPart(files=()))


def test_after_a_reset_to_a_run_the_next_one_reads_what_came_later(world: World) -> None:
    for run in ("r1", "r2", "r3"):
        assert world.attempt(run)
        world.arrives()
    world.log.reset(to=0)
    with pytest.raises(IncrementSupersededError, match="is new again since a reset"):
        world.attempt("r2")
    assert world.attempt("r1")
    assert world.attempt("r4")
    assert read_by(world, "r4") == ["file:/in/1", "file:/in/2", "file:/in/3"]


def test_after_a_reset_of_a_file_only_that_is_new(world: World) -> None:
    world.arrives()
    assert world.attempt("r1")
    world.log.reset(to=-1, files=["file:/in/1"])
    assert world.attempt("r2")
    assert read_by(world, "r2") == ["file:/in/1"]
    assert world.attempt("r3")
    assert read_by(world, "r3") == []


@pytest.mark.parametrize(("to", "again"), [(-1, ["file:/in/0"]), (0, [])])
def test_a_reset_decides_what_is_published_in_part(to: int, again: list[str], world: World) -> None:
    dies_after(world, "r1", "0.end.json")
    reset = world.log.reset(to=to)
    assert isinstance(world.log.entry(reset.number), Reset)
    assert world.attempt("r2")
    assert read_by(world, "r2") == again
    if again:
        with pytest.raises(IncrementSupersededError):
            world.attempt("r1")


def test_a_reset_of_a_file_does_not_decide_it(world: World) -> None:
    dies_after(world, "r1", "0.end.json")
    with pytest.raises(PositionPendingError):
        world.log.reset(to=-1, files=["file:/in/0"])


def test_a_reset_waits_for_a_run_that_may_go_on(world: World) -> None:
    world.attempt("r1", dies=4, tells=False)
    with pytest.raises(PositionBusyError):
        world.log.reset(to=-1)


def test_all_that_is_known_is_written_into_one_document_now_and_then(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(70):
        assert world.attempt(f"r{number}")
        world.arrives()
    known = [key for key in world.store.content if "/known/" in key]
    assert len(known) == 2
    counted: list[str] = []
    real = world.store.get

    def get(key: str, *, most: int = 0) -> bytes | None:
        counted.append(key)
        return real(key, most=most) if most else real(key)

    monkeypatch.setattr(world.store, "get", get)
    assert world.attempt("last")
    assert sum("/lists/" in key for key in counted) < 2 * 16
    assert read_by(world, "last") == ["file:/in/70"]


def test_without_the_compacted_document_the_entries_say_the_same(world: World) -> None:
    for number in range(20):
        assert world.attempt(f"r{number}")
        world.arrives()
    for key in [key for key in world.store.content if "/known/" in key]:
        world.store.content[key] = b"{"
    assert world.attempt("last")
    assert read_by(world, "last") == ["file:/in/20"]


@pytest.mark.parametrize("key", ["0.json", "lists/0-e1.json", "runs/r1.json"])
def test_a_damaged_document_is_refused_with_what_heals_it(key: str, world: World) -> None:
    assert world.attempt("r1")
    assert world.attempt("r2")
    path = f"{world.log.layout.folder}/{key}"
    assert path in world.store.content
    world.store.content[path] = b"{"
    with pytest.raises(DamagedDocumentError, match="restore it from a backup; or .*positions reset shop orders"):
        world.attempt("r3" if key.startswith("lists") else "r1")
    world.tell("r1", ExecutionState.FAILED)
    world.tell("r3", ExecutionState.FAILED)
    world.log.reset(to=-1)
    assert world.attempt("r4")
    assert read_by(world, "r4") == ["file:/in/0"]


def test_a_hundred_thousand_files_are_known_again(world: World) -> None:
    files = tuple(SeenFile(f"file:/in/day={number % 400}/{number}.json", number, number) for number in range(100_000))
    increment = world.log.obtain(world.layout("r1"), "e", (), PLACE, lambda _: NewPart(files=files))
    known = Known()
    known.add(increment, world.log.files_of(increment))
    again = Known.from_json(known.to_json(), "known")
    assert again == known
    assert len(known.to_json()) < 8_000_000


def test_documents_have_a_form_that_stays(world: World) -> None:
    """Pin the form: positions are read for years."""
    assert world.attempt("r1")
    world.log.reset(to=-1)
    entries = [json.loads(world.store.content[world.log.layout.entry(number)]) for number in (0, 1)]
    assert isinstance(world.log.entry(0), Increment)
    assert sorted(entries[0]) == sorted(
        [
            *("type", "version", "number", "before", "taken", "identity", "execution_id", "read_from"),
            *("sinks", "files", "bytes", "listed", "bounds"),
        ]
    )
    assert sorted(entries[1]) == sorted(["type", "version", "number", "before", "taken", "to", "files"])
    assert entries[0]["version"] == entries[1]["version"] == 1
