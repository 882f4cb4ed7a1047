"""Sequences of requests to a bucket or to HDFS that a careless publication or commit would not survive."""

from collections.abc import Iterator

import pytest

from graph_compiler.errors import PublicationConflictError
from tests.machine.in_stores.bucket import Bucket
from tests.machine.in_stores.grounds import bucket_ground, hdfs_ground
from tests.machine.in_stores.result_world import ResultWorld
from tests.machine.in_stores.server import Ground
from tests.machine.in_stores.target_world import TargetWorld
from tests.machine.in_stores.troubles import Trouble
from tests.machine.looking import stores_in_memory
from tests.machine.model import Row

pytestmark = [pytest.mark.spark, pytest.mark.ci]  # its modules are imported

ENDED = frozenset({"run 1", "run 2"})
OTHERS: Row = (99, "a", 0)


def row(number: int) -> Row:
    return (number, "a", number)


def rows(*numbers: int) -> dict[Row, int]:
    return {row(number): 1 for number in numbers}


@pytest.fixture(params=[bucket_ground, hdfs_ground], ids=["bucket", "hdfs"])
def ground(request: pytest.FixtureRequest) -> Ground:
    found: Ground = request.param()
    return found


@pytest.fixture
def world(ground: Ground) -> Iterator[TargetWorld]:
    with stores_in_memory():
        yield TargetWorld(ground, partitioned=False)


@pytest.fixture
def results(ground: Ground) -> Iterator[ResultWorld]:
    with stores_in_memory():
        yield ResultWorld(ground)


def deciding(world: TargetWorld, kind: str, times: int = 1) -> Trouble:
    """Return a trouble at the request that decides; "intent" alone is that which writes a draft in HDFS."""
    return Trouble(kind, "intent", 0 if world.ground.name == "bucket" else 4, times)


def bringing_in(world: TargetWorld, kind: str, file: int = 0, *, of: int = 1) -> Trouble:
    """Return a trouble at the request that lets a file appear in a target that is there."""
    if world.ground.name == "bucket":
        return Trouble(kind, "complete", file)
    return Trouble(kind, "rename", of + 1 + file)  # each has got its name, and their folder is claimed


def test_nothing_is_seen_before_the_decision(world: TargetWorld) -> None:
    world.write("run 1", "overwrite", [row(1)], (Trouble("stopped", "intent"),))
    assert world.seen() == {}
    world.resume(0)
    assert world.seen() == rows(1)


def test_old_files_stay_until_all_new_ones_are_there(world: TargetWorld) -> None:
    world.others_put("a")
    new = [row(number) for number in (1, 2, 3)]
    world.write("run 1", "overwrite", new, (bringing_in(world, "stopped", 1, of=2),))
    assert world.seen() == {OTHERS: 1, **rows(1, 2)}  # one of two files is there
    world.end_well()


def test_old_files_are_gone_before_the_end_is_recorded(world: TargetWorld) -> None:
    world.others_put("a")
    world.write("run 1", "overwrite", [row(1)], (Trouble("stopped", "done"),))
    assert world.seen() == rows(1)
    world.end_well()


def test_files_that_are_not_there_after_their_completion_are_not_taken_for_published(world: TargetWorld) -> None:
    world.write("run 1", "append", [row(1)], (Trouble("stopped", "intent"),))
    world.collect_garbage(ENDED, (), is_old=False)
    world.resume(0)
    assert isinstance(world.executions["e0"].error, PublicationConflictError)
    assert world.seen() == {}
    world.end_well()


@pytest.mark.parametrize("kind", ["dropped", "lost", "delayed", "503", "503 after"])
def test_a_decision_that_is_not_answered_once_is_made_once(world: TargetWorld, kind: str) -> None:
    world.write("run 1", "overwrite", [row(1)], (deciding(world, kind),))
    assert world.executions["e0"].error is None
    while world.late:
        world.arrive(0)
    assert world.seen() == rows(1)


@pytest.mark.parametrize("call", ["put once", "rename", "complete", "delete", "mkdirs"])
def test_a_request_that_is_answered_twice_fails_nothing(world: TargetWorld, call: str) -> None:
    world.others_put("a")
    for nth in range(5):
        world.write(f"run {nth}", "append", [row(nth + 1)], (Trouble("answered twice", call, nth),))
    assert [one.error for one in world.executions.values()] == [None] * 5
    assert world.seen() == {OTHERS: 1, **rows(1, 2, 3, 4, 5)}


def test_an_execution_that_fails_discards_only_its_own_files(world: TargetWorld) -> None:
    world.write("run 1", "append", [row(1)], (Trouble("stopped", "intent"),))
    at = Trouble("dropped", "files" if world.ground.name == "bucket" else "rename")
    world.write("run 2", "append", [row(2)], (at,))
    world.resume(0)
    assert world.executions["e0"].error is None
    assert world.seen() == rows(1)


@pytest.mark.parametrize("is_old", [False, True])
def test_gc_keeps_what_an_unfinished_publication_needs(world: TargetWorld, is_old: bool) -> None:
    world.write("run 1", "append", [row(1)], (bringing_in(world, "death"),))
    world.collect_garbage(ENDED, (), is_old=is_old)
    world.write("run 2", "append", [row(2)], ())
    assert world.seen() == rows(1, 2)


@pytest.mark.parametrize("kind", ["lost, unreachable", "delayed, unreachable"])
def test_an_execution_that_may_have_decided_discards_nothing(world: TargetWorld, kind: str) -> None:
    in_hdfs = world.ground.name == "hdfs"  # which is asked four times
    at = deciding(world, kind, times=4 if in_hdfs else 1)
    world.write("run 1", "append", [row(1)], (at,))
    assert isinstance(world.executions["e0"].error, TimeoutError)
    while world.late:
        world.arrive(0)
    world.write("run 2", "append", [row(2)], ())
    # In HDFS, a request that comes late finds no draft any more.
    assert world.seen() == (rows(2) if in_hdfs and "delayed" in kind else rows(1, 2))


def test_a_delayed_completion_does_not_bring_removed_files_back(world: TargetWorld) -> None:
    world.write("run 1", "append", [row(1)], (bringing_in(world, "death, delayed"),))
    world.write("run 2", "overwrite", [row(2)], ())
    world.arrive(0)
    assert world.seen() == rows(2)


def test_an_execution_that_may_have_committed_removes_no_data(results: ResultWorld) -> None:
    results.stage(3, (Trouble("lost, unreachable", "put once", nth=2),))
    assert list(results.committed) == [0]
    results.read(())


def test_an_execution_that_loses_an_epoch_removes_only_its_own_data(results: ResultWorld) -> None:
    results.stage(3, (Trouble("stopped", "put once", nth=2),))
    results.stage(2, ())
    results.resume(0)
    results.read(())


@pytest.mark.parametrize("mode", ["append", "overwrite"])
@pytest.mark.parametrize("kind", ["death", "stopped"])
@pytest.mark.parametrize("completed", [0, 1])
def test_what_is_given_up_never_appears_and_disappears_again(
    world: TargetWorld, mode: str, kind: str, completed: int
) -> None:
    """gc has looked before the decision, and removes afterwards what is known of the files."""
    world.others_put("a")
    at = (Trouble("stopped", "intent"), bringing_in(world, kind, completed, of=2))
    world.write("run 1", mode, [row(number) for number in (1, 2, 3)], at)
    world.collect_garbage(ENDED, (Trouble("stopped", "delete"),), is_old=False)
    world.resume(0)
    world.resume_collection(0)
    world.write("run 2", "append", [row(4)], ())
    assert world.seen() == {OTHERS: 1, **rows(4)}
    while world.stopped:
        world.resume(0)
    assert world.seen() == {OTHERS: 1, **rows(4)}
    if isinstance(world.ground.server, Bucket):
        uploads = world.ground.server.uploads.values()
        assert not [key for key, _ in uploads if "-c000" in key]


def test_a_carrier_that_dies_while_it_gives_up_is_followed_by_the_next(world: TargetWorld) -> None:
    at = (Trouble("stopped", "intent"), bringing_in(world, "death", 1, of=2))
    world.write("run 1", "append", [row(number) for number in (1, 2, 3)], at)
    world.collect_garbage(ENDED, (Trouble("stopped", "delete"),), is_old=False)
    world.resume(0)
    world.resume_collection(0)
    world.write("run 2", "append", [row(4)], (Trouble("death", "delete"),))
    world.end_well()
