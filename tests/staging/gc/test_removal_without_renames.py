"""A run's folder in a store that cannot rename it: what is removed first, and what an interruption leaves."""

import json
from dataclasses import replace

import pytest

from graph_compiler.deployment.documents.run_identity import RunIdentity
from graph_compiler.deployment.documents.staging_layout import StagingLayout
from graph_compiler.deployment.documents.wire import to_wire
from graph_compiler.identifiers import RegionId
from graph_compiler.staging.gc.collection import Collection, Removal, Waste
from graph_compiler.staging.gc.removal import remove
from graph_compiler.staging.gc.survey import last_change, survey
from graph_compiler.staging.store.in_memory_store import InMemoryStore

ROOT = "/staging"
LAYOUT = StagingLayout(root=ROOT, identity=RunIdentity.own("flights", "r"))


class Bucket(InMemoryStore):
    """A store without renames, which deletes the last names first, at most `left` objects."""

    def __init__(self) -> None:
        super().__init__()
        self.promises = replace(self.promises, atomic_move=False, atomic_exchange=False)
        self.left = 1_000
        self.deleted: list[str] = []

    def move(self, folder: str, to: str) -> bool:  # noqa: ARG002  # the interface
        raise AssertionError("it is not promised")

    def delete(self, key: str) -> bool:
        found = (one for one in self.content if one == key or one.startswith(f"{key}/"))
        names = sorted(found, reverse=True)
        for name in names[: self.left]:
            self.deleted.append(name.removeprefix(f"{LAYOUT.run}/"))
            del self.content[name]
        is_gone = len(names) <= self.left
        self.left -= min(self.left, len(names))
        return is_gone


def bucket_with_a_run() -> Bucket:
    store = Bucket()
    for name in ("code/1.zip", "data/d/epoch-0-e/part-0.parquet", "manifests/d/0.json", "run.json"):
        store.put(f"{LAYOUT.run}/{name}", b"{}")
    store.put(LAYOUT.descriptor(RegionId("late"), "e"), b"{}")
    return store


def removal_of(store: Bucket) -> Collection:
    changed = last_change(store, LAYOUT)
    run = Removal(waste=Waste.RUN, path=LAYOUT.run, bytes=0, run=LAYOUT.identity, changed=changed)
    return Collection(removals=(run,), tables=(), kept=())


def test_the_marker_goes_first_and_the_descriptors_last() -> None:
    store = bucket_with_a_run()
    assert len(list(remove(store, removal_of(store), ROOT))) == 1
    assert store.content == {}
    assert store.deleted[0] == "run.json"
    assert store.deleted[-1] == "tasks/late/e/descriptor.json"


def test_the_next_collection_finds_what_an_interrupted_one_left() -> None:
    store = bucket_with_a_run()
    store.left = 3
    assert list(remove(store, removal_of(store), ROOT)) == []
    assert [run.identity for run in survey(store, ROOT).runs] == [LAYOUT.identity]
    store.left = 1_000
    assert len(list(remove(store, removal_of(store), ROOT))) == 1
    assert store.content == {}


IN_A_GROUP = RunIdentity(dag_id="nightly", group_path="g", pipeline="flights", run_id="r", map_index=3)


@pytest.mark.parametrize("left", range(1, 5))
def test_a_run_whose_folder_has_a_digest_is_found_without_its_marker(left: int) -> None:
    """Its name does not say which run it is: a descriptor does, until nothing else is left."""
    store, layout = Bucket(), StagingLayout(root=ROOT, identity=IN_A_GROUP)
    identity = json.dumps({"identity": to_wire(IN_A_GROUP)}).encode()
    store.put(layout.marker, identity)
    store.put(f"{layout.run}/data/d/epoch-0-e/part-0.parquet", b"rows")
    store.put(layout.descriptor(RegionId("late"), "e"), b"{")
    store.put(layout.descriptor(RegionId("early"), "e"), identity)
    for allowed in (left, 1_000):
        store.left = allowed
        (run,) = survey(store, ROOT).runs
        assert run.identity == IN_A_GROUP
        removal = Removal(waste=Waste.RUN, path=run.path, bytes=0, run=run.identity, changed=run.changed)
        list(remove(store, Collection(removals=(removal,), tables=(), kept=()), ROOT))
        if not store.content:
            break
    assert store.content == {}
