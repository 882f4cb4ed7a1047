"""Copies of checkpoints whose writers are killed: `gc` removes them, and never one that a stream has."""

import itertools
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from graph_compiler.deployment.documents.run_identity import RunIdentity
from graph_compiler.deployment.documents.staging_layout import TRASH, StagingLayout, StreamLayout, checkpoint_in
from graph_compiler.deployment.documents.stream import SavepointRestoreSettings, StreamQuery, UnboundedSource
from graph_compiler.staging.gc.collection import Collection, Policy, Waste, collect
from graph_compiler.staging.gc.removal import remove
from graph_compiler.staging.gc.survey import survey
from graph_compiler.staging.store.local_store import LocalStore
from graph_compiler.staging.streams.checkpoint import Checkpoint, CheckpointError, known_streams
from graph_compiler.staging.streams.savepoints import begin_with_savepoint, known_savepoints, take_savepoint
from tests.harness.staging_trees import age

HOUR, DAY = 3600.0, 86400.0
QUERY = StreamQuery(sources=(UnboundedSource(node_id=1, uid="a", name="a"),), state=(), updates=False)
FILES = {"metadata": b'{"id":"x"}', "offsets/0": b"v1", "commits/0": b"v1", "state/0/0/1.delta": bytes(range(256))}


class KilledError(BaseException):
    """Its process is dead: what would tidy up does nothing any more."""


class DyingStore(LocalStore):
    """A store whose process is killed before it changes something for the n-th time."""

    def __init__(self, changes: int) -> None:
        self.left = changes

    def put_if_absent(self, key: str, content: bytes) -> bool:
        self._change()
        return super().put_if_absent(key, content)

    def delete(self, key: str) -> bool:
        self._change()
        return super().delete(key)

    def _change(self) -> None:
        self.left -= 1
        if self.left < 0:
            raise KilledError


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """Return a staging root with a stream that has one batch."""
    opened = Checkpoint.open(LocalStore(), str(tmp_path), RunIdentity.own("shop", "one"), "e1", QUERY)
    for name, content in FILES.items():
        LocalStore().put_if_absent(f"{opened.folder}/{name}", content)
    return tmp_path


def take(store: LocalStore, root: Path) -> SavepointRestoreSettings:
    (stream,) = known_streams(store, str(root))
    run = StagingLayout(root=str(root), identity=RunIdentity.own("shop", "one"))
    return SavepointRestoreSettings(path=take_savepoint(store, stream, run, None, 7.0).place)


def reset(store: LocalStore, root: Path) -> None:
    for stream in known_streams(store, str(root)):
        stream.reset(store)


def collected(root: Path, *, old: float, older_than: float | None = None) -> Collection:
    now = time.time()
    age(root, now, old)
    return collect(survey(LocalStore(), str(root)), Policy(now=now, older_than=older_than, airflow={}))


def gc(root: Path, *, old: float = 8 * DAY) -> list[Waste]:
    return [removal.waste for removal in remove(LocalStore(), collected(root, old=old), str(root))]


def checkpoints(root: Path) -> list[dict[str, bytes]]:
    """Return the files of each checkpoint that is left."""
    found = (folder for folder in (root / ".streams" / "shop").glob("*/checkpoint"))
    return [{str(one.relative_to(each)): one.read_bytes() for one in files_of(each)} for each in found]


def files_of(folder: Path) -> Iterator[Path]:
    return (path for path in folder.rglob("*") if path.is_file())


def test_what_a_killed_process_has_copied_is_removed(root: Path) -> None:
    """Take a savepoint, reset the stream and begin with the savepoint, each killed at every change."""
    layout = StreamLayout(root=str(root), owner="shop")
    for changes in itertools.count():
        store = DyingStore(changes)
        try:
            saved = take(store, root)
        except KilledError:
            assert gc(root) == ([Waste.UNFINISHED] if changes else []), changes
            continue
        break
    assert changes > len(FILES)
    assert len(list(known_savepoints(LocalStore(), layout))) == 1
    for changes in itertools.count():
        try:
            reset(DyingStore(changes), root)
        except KilledError:
            # Its last change is to remove the checkpoint, which no source has any more.
            assert gc(root) in ([], [Waste.UNFINISHED]), changes
            continue
        break
    assert checkpoints(root) == []
    for changes in itertools.count():
        try:
            begin_with_savepoint(DyingStore(changes), layout, QUERY, saved)
        except KilledError:
            assert gc(root) == ([Waste.UNFINISHED] if changes else []), changes
            assert checkpoints(root) == []
            continue
        break
    assert changes > len(FILES)
    assert gc(root) == []
    assert checkpoints(root) == [FILES]
    assert list((root / TRASH).iterdir()) == []


def test_a_copy_is_kept_until_it_is_old(root: Path) -> None:
    with pytest.raises(KilledError):
        take(DyingStore(3), root)
    assert gc(root, old=6 * DAY) == []
    assert collected(root, old=HOUR / 2, older_than=0).removals == ()
    assert [each.waste for each in collected(root, old=2 * HOUR, older_than=HOUR).removals] == [Waste.UNFINISHED]
    assert gc(root, old=8 * DAY) == [Waste.UNFINISHED]


def test_a_copy_that_goes_on_meanwhile_is_kept(root: Path) -> None:
    with pytest.raises(KilledError):
        take(DyingStore(3), root)
    found = collected(root, old=8 * DAY)
    (copy,) = (Path(each.path) for each in found.removals)
    (copy / "checkpoint" / "more").write_text("its writer was only slow")
    assert list(remove(LocalStore(), found, str(root))) == []
    assert copy.exists()


def test_nothing_is_removed_if_a_record_of_a_source_cannot_be_read(root: Path) -> None:
    (record,) = (root / ".streams" / "shop" / "sources").iterdir()
    record.write_text("{")
    assert gc(root) == []
    assert checkpoints(root) == [FILES]


def test_a_stream_does_not_begin_with_a_copy_that_was_removed_meanwhile(root: Path) -> None:
    """Its driver sleeps for a week while it copies."""
    layout, saved = StreamLayout(root=str(root), owner="shop"), take(LocalStore(), root)
    reset(LocalStore(), root)

    def sleep(_: str) -> None:
        assert gc(root) == [Waste.UNFINISHED]

    with pytest.raises(CheckpointError, match="was removed while it was made"):
        begin_with_savepoint(LocalStore(), layout, QUERY, saved, sleep)
    assert list(known_streams(LocalStore(), str(root))) == []
    begin_with_savepoint(LocalStore(), layout, QUERY, saved)
    assert checkpoints(root) == [FILES]


def test_a_savepoint_is_refused_whose_files_were_removed_meanwhile(root: Path) -> None:
    class Sleeping(LocalStore):
        """Sleeps for a week before it writes the document."""

        def put_if_absent(self, key: str, content: bytes) -> bool:
            if key.endswith("/savepoint.json"):
                assert gc(root) == [Waste.UNFINISHED]
            return super().put_if_absent(key, content)

    with pytest.raises(CheckpointError, match="was removed while it was written"):
        take(Sleeping(), root)
    layout = StreamLayout(root=str(root), owner="shop")
    assert list(known_savepoints(LocalStore(), layout)) == []
    assert set(files_of(Path(checkpoint_in(take(LocalStore(), root).path)))), "the next one is complete"
