"""Readers that list in several requests while a publication goes on: each part of a listing is of its own moment."""

from collections import Counter
from collections.abc import Iterator

import pytest

from graph_compiler.staging.publications.listing import is_hidden
from tests.machine.in_stores.grounds import bucket_ground, hdfs_ground
from tests.machine.in_stores.rows import rows_in
from tests.machine.in_stores.server import Ground
from tests.machine.in_stores.target_world import TargetWorld
from tests.machine.looking import stores_in_memory
from tests.machine.model import Row

pytestmark = [pytest.mark.spark, pytest.mark.ci]  # its modules are imported
Files = dict[str, Counter[Row]]
"""The rows of each file that readers see."""


class WatchedWorld(TargetWorld):
    """A store whose target is remembered as it is after each change."""

    def _changed(self, key: str) -> None:
        super()._changed(key)
        self.__dict__.setdefault("moments", [{}]).append(self.files())

    @property
    def moments(self) -> list[Files]:
        found: list[Files] = self.__dict__["moments"]
        return found

    def files(self) -> Files:
        server, target = self.ground.server, self.ground.target
        keys = (key for key, _ in server.below(target))
        names = [key[len(target) + 1 :] for key in keys]
        return {
            name: Counter(rows_in(server, [f"{target}/{name}"]))
            for name in names
            if not any(map(is_hidden, name.split("/")))
        }


def in_two_requests(moments: list[Files]) -> Iterator[Counter[Row]]:
    """Yield what readers see that list the names up to one at one moment, and the others then or later."""
    for first, earlier in enumerate(moments):
        for later in moments[first:]:
            for last in sorted({*earlier, *later}):
                page = [rows for name, rows in earlier.items() if name <= last]
                rest = [rows for name, rows in later.items() if name > last]
                yield sum([*page, *rest], Counter[Row]())


def rows(run: int, first: int, end: int) -> list[Row]:
    return [(key, "ab"[key % 2], 10 * run + key) for key in range(first, end)]


@pytest.fixture(params=[bucket_ground, hdfs_ground], ids=["bucket", "hdfs"])
def world(request: pytest.FixtureRequest) -> Iterator[WatchedWorld]:
    ground: Ground = request.param()
    with stores_in_memory():
        world = WatchedWorld(ground, partitioned=True)
        world.write("run 1", "append", rows(1, 0, 4), ())
        del world.moments[:-1]
        yield world


def test_an_append_takes_no_row_from_any_reader(world: WatchedWorld) -> None:
    old, new = Counter(rows(1, 0, 4)), Counter(rows(2, 4, 8))
    world.write("run 2", "append", rows(2, 4, 8), ())
    for seen in in_two_requests(world.moments):
        assert not old - seen
        assert not seen - old - new


@pytest.mark.parametrize("mode", ["overwrite", "overwrite-partitions"])
def test_a_reader_of_several_requests_may_see_a_part_of_each_version(world: WatchedWorld, mode: str) -> None:
    old, new = Counter(rows(1, 0, 4)), Counter(rows(2, 2, 6))
    world.write("run 2", mode, rows(2, 2, 6), ())
    views = list(in_two_requests(world.moments))
    assert not any(seen - old - new for seen in views), "no other rows"
    assert any(old - seen and new - seen for seen in views), "as docs/sinks.md says"
    at_once = (sum(files.values(), Counter[Row]()) for files in world.moments)
    assert not any(old - seen and new - seen for seen in at_once), "a listing of one request"
