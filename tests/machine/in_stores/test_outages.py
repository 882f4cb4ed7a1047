"""A store that throttles, expires credentials or is away, from any request on: the next try has all rows, once."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tests.machine.in_stores.grounds import bucket_ground, hdfs_ground
from tests.machine.in_stores.result_world import ResultWorld
from tests.machine.in_stores.server import Ground
from tests.machine.in_stores.target_world import MODES, TargetWorld
from tests.machine.in_stores.troubles import LASTING, Trouble
from tests.machine.looking import stores_in_memory
from tests.machine.model import Row

pytestmark = [pytest.mark.spark, pytest.mark.ci]  # its modules are imported
GROUNDS = {"bucket": bucket_ground, "hdfs": hdfs_ground}
FOR_EVER = 10_000
"""Requests that an outage hits: all that an execution still sends."""
FEW = 3
"""An outage that is over before the execution has given up."""
QUICK = {("overwrite", "throttled", FEW), ("append", "denied", FOR_EVER)}


def rows(run: int, first: int, end: int) -> list[Row]:
    return [(key, "ab"[key % 2], 10 * run + key) for key in range(first, end)]


@pytest.fixture(params=GROUNDS)
def ground_of(request: pytest.FixtureRequest) -> Iterator[Callable[[], Ground]]:
    with stores_in_memory():
        yield GROUNDS[request.param]


def published(ground: Ground, mode: str, at: tuple[Trouble, ...]) -> TargetWorld:
    """Let a run publish beside rows of others and of another run; a reader looks after each change."""
    world = TargetWorld(ground, partitioned=True)
    if mode != "error-if-exists":
        world.others_put("a")
        world.write("run 1", "append", rows(1, 0, 3), ())
    world.write("run 2", mode, rows(2, 2, 6), at)
    return world


def combinations() -> list[Any]:
    """Return all, of which the quick suite tries what is most unlike the others."""
    return [
        pytest.param(mode, kind, times, marks=() if (mode, kind, times) in QUICK else pytest.mark.long)
        for mode in MODES
        for kind in LASTING
        for times in (FEW, FOR_EVER)
    ]


@pytest.mark.parametrize(("mode", "kind", "times"), combinations())
def test_an_outage_from_any_request_of_a_publication_on_loses_and_doubles_nothing(
    ground_of: Callable[[], Ground], mode: str, kind: str, times: int
) -> None:
    calm = published(ground_of(), mode, ())
    requests = len(list(calm.executions.values())[-1].line.trace)
    assert requests > 15
    for nth in range(requests):
        world = published(ground_of(), mode, (Trouble(kind, "any", nth, times),))
        world.end_well()


@pytest.mark.parametrize(("kind", "times"), [("throttled", FEW), ("denied", FOR_EVER)])
def test_an_outage_from_any_request_of_a_staged_result_on_loses_nothing(
    ground_of: Callable[[], Ground], kind: str, times: int
) -> None:
    for nth in range(60):
        world = ResultWorld(ground_of())
        world.stage(3, (Trouble(kind, "any", nth, times),))
        world.stage(2, ())
        world.read(())
