"""Sequences of requests to a bucket that a careless publication or commit would not survive, without Spark."""

from collections.abc import Iterator

import pytest

from graph_compiler.errors import PublicationConflictError
from tests.machine.bucket_requests import Trouble
from tests.machine.bucket_world import BucketWorld
from tests.machine.looking import buckets
from tests.machine.model import Row
from tests.machine.results_world import ResultsWorld

pytestmark = pytest.mark.spark  # its modules are imported

ENDED = frozenset({"run 1", "run 2"})
OTHERS: Row = (99, "a", 0)


def row(number: int) -> Row:
    return (number, "a", number)


def rows(*numbers: int) -> dict[Row, int]:
    return {row(number): 1 for number in numbers}


@pytest.fixture
def world() -> Iterator[BucketWorld]:
    with buckets():
        yield BucketWorld(partitioned=False, confirms=False)


@pytest.fixture
def results() -> Iterator[ResultsWorld]:
    with buckets():
        yield ResultsWorld()


def test_nothing_is_seen_before_the_decision(world: BucketWorld) -> None:
    world.write("run 1", "overwrite", [row(1)], (Trouble("stopped", "intent"),))
    assert world.seen() == {}
    world.resume(0)
    assert world.seen() == rows(1)


@pytest.mark.parametrize("call", ["complete", "done"])
def test_old_files_stay_until_all_new_ones_are_there(world: BucketWorld, call: str) -> None:
    world.others_put("a")
    new = [row(number) for number in (1, 2, 3)]
    world.write("run 1", "overwrite", new, (Trouble("stopped", call, nth=int(call == "complete")),))
    if call == "complete":  # one of two files is there
        assert world.seen() == {OTHERS: 1, **rows(1, 2)}
    world.end_well()


def test_files_that_are_not_there_after_their_completion_are_not_taken_for_published(
    world: BucketWorld,
) -> None:
    world.write("run 1", "append", [row(1)], (Trouble("stopped", "intent"),))
    world.collect_garbage(ENDED, (), is_old=False)
    world.resume(0)
    assert isinstance(world.executions["e0"].error, PublicationConflictError)
    assert world.seen() == {}
    world.end_well()


@pytest.mark.parametrize("kind", ["dropped", "lost", "delayed", "503", "503 after"])
def test_a_decision_that_is_not_answered_once_is_made_once(world: BucketWorld, kind: str) -> None:
    world.write("run 1", "overwrite", [row(1)], (Trouble(kind, "intent"),))
    assert world.executions["e0"].error is None
    while world.late:
        world.arrive(0)
    assert world.seen() == rows(1)


def test_an_execution_that_fails_discards_only_its_own_files(world: BucketWorld) -> None:
    world.write("run 1", "append", [row(1)], (Trouble("stopped", "intent"),))
    world.write("run 2", "append", [row(2)], (Trouble("dropped", "files"),))
    world.resume(0)
    assert world.executions["e0"].error is None
    assert world.seen() == rows(1)


@pytest.mark.parametrize("is_old", [False, True])
def test_gc_keeps_what_an_unfinished_publication_needs(world: BucketWorld, is_old: bool) -> None:
    world.write("run 1", "append", [row(1)], (Trouble("death", "complete"),))
    world.collect_garbage(ENDED, (), is_old=is_old)
    world.write("run 2", "append", [row(2)], ())
    assert world.seen() == rows(1, 2)


@pytest.mark.parametrize("kind", ["lost, unreachable", "delayed, unreachable"])
def test_an_execution_that_may_have_decided_discards_nothing(world: BucketWorld, kind: str) -> None:
    world.write("run 1", "append", [row(1)], (Trouble(kind, "intent"),))
    assert isinstance(world.executions["e0"].error, TimeoutError)
    while world.late:
        world.arrive(0)
    world.write("run 2", "append", [row(2)], ())
    assert world.seen() == rows(1, 2)


def test_a_delayed_completion_does_not_bring_removed_files_back(world: BucketWorld) -> None:
    world.write("run 1", "append", [row(1)], (Trouble("death, delayed", "complete"),))
    world.write("run 2", "overwrite", [row(2)], ())
    world.arrive(0)
    assert world.seen() == rows(2)


def test_an_execution_that_may_have_committed_removes_no_data(results: ResultsWorld) -> None:
    results.stage(3, (Trouble("lost, unreachable", "put once", nth=2),))
    assert list(results.committed) == [0]
    results.read(())


def test_an_execution_that_loses_an_epoch_removes_only_its_own_data(results: ResultsWorld) -> None:
    results.stage(3, (Trouble("stopped", "put once", nth=2),))
    results.stage(2, ())
    results.resume(0)
    results.read(())


@pytest.mark.parametrize("mode", ["append", "overwrite"])
@pytest.mark.parametrize("kind", ["death", "stopped"])
@pytest.mark.parametrize("completed", [0, 1])
def test_what_is_given_up_never_appears_and_disappears_again(
    world: BucketWorld, mode: str, kind: str, completed: int
) -> None:
    """gc has looked before the decision, and removes afterwards what is known of the files."""
    world.others_put("a")
    at = (Trouble("stopped", "intent"), Trouble(kind, "complete", nth=completed))
    world.write("run 1", mode, [row(number) for number in (1, 2, 3)], at)
    world.collect_garbage(ENDED, (Trouble("stopped", "delete"),), is_old=False)
    world.resume(0)
    world.resume_collection(0)
    world.write("run 2", "append", [row(4)], ())
    assert world.seen() == {OTHERS: 1, **rows(4)}
    while world.stopped:
        world.resume(0)
    assert world.seen() == {OTHERS: 1, **rows(4)}
    assert not [key for key, _ in world.bucket.uploads.values() if not key.endswith(".again")]


def test_a_carrier_that_dies_while_it_gives_up_is_followed_by_the_next(world: BucketWorld) -> None:
    at = (Trouble("stopped", "intent"), Trouble("death", "complete", nth=1))
    world.write("run 1", "append", [row(number) for number in (1, 2, 3)], at)
    world.collect_garbage(ENDED, (Trouble("stopped", "delete"),), is_old=False)
    world.resume(0)
    world.resume_collection(0)
    world.write("run 2", "append", [row(4)], (Trouble("death", "delete"),))
    world.end_well()
