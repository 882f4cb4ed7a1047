"""Targets that are one file: carriers in any order, in every store, and what stays beside the file."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from graph_compiler.deployment.documents.run_identity import RunIdentity
from graph_compiler.deployment.documents.staging_layout import StagingLayout
from graph_compiler.deployment.documents.wire import to_json
from graph_compiler.errors import PublicationConflictError, PublicationPendingError
from graph_compiler.staging.publications import files_on_disk
from graph_compiler.staging.publications.carrier import (
    RenamedFile,
    TargetFiles,
    UploadedFile,
    carry_out,
    files_document,
    steps,
)
from graph_compiler.staging.publications.files_on_disk import FileOnDisk
from graph_compiler.staging.publications.ledger import Ledger, is_in_place
from graph_compiler.staging.publications.preparations import beside_in_store
from graph_compiler.staging.publications.publications import Intent, NewFile
from graph_compiler.staging.store.hdfs_store import HdfsStore
from graph_compiler.staging.store.local_store import LocalStore
from graph_compiler.staging.store.staging_store import StagingStore
from tests.harness.fake_hdfs import FakeHdfs
from tests.harness.folders import SINK, in_memory, prepare
from tests.machine.in_stores.bucket import Bucket
from tests.machine.in_stores.bucket_client import BucketClient
from tests.machine.in_stores.troubles import Line
from tests.machine.process import Process

NAME = "report.csv"
OLD, NEW, LATER = b"id\n1\n", b"id\n1\n2\n", b"id\n3\n"
BESIDE = b"of others"


@dataclass(frozen=True)
class World:
    """A folder with files of others, and how an execution prepares the file of that name in it."""

    store: StagingStore
    folder: str
    made: Callable[[str, bytes], TargetFiles]
    lose: Callable[[str], object]

    @property
    def target(self) -> str:
        return f"{self.folder}/{NAME}"

    def seen(self) -> bytes | None:
        return self.store.get(self.target)

    def beside(self) -> set[str]:
        """Return all that is in the folder but the target."""
        return {file.key.removeprefix(f"{self.folder}/") for file in self.store.files(self.folder)} - {NAME}


def intent_of(target: str, prepared: str, execution: str, file: NewFile) -> Intent:
    return Intent(
        number=0,
        identity=RunIdentity.own("p", execution),
        plan_id="plan",
        operator_id=SINK,
        execution_id=execution,
        target=target,
        prepared=prepared,
        columns=(),
        add=(NAME,),
        remove=(),
        replaces=(".",),
        rows=0,
        bytes=0,
        file=file,
    )


@contextmanager
def disk(here: Path) -> Iterator[World]:
    with in_memory(here) as folder:
        store = LocalStore()

        def made(execution: str, content: bytes) -> TargetFiles:
            prepared = folder / f".{NAME}.graph_compiler" / execution
            (prepared / "ready").mkdir(parents=True)
            (prepared / "ready" / NAME).write_bytes(content)
            id = store.file_id(str(prepared / "ready" / NAME))
            assert id is not None
            intent = intent_of(str(folder / NAME), str(prepared), execution, NewFile(id=id))
            return FileOnDisk(intent, store)

        (folder / "other.csv").write_bytes(BESIDE)
        room = folder / f".{NAME}.graph_compiler"
        yield World(store, str(folder), made, lambda execution: store.delete(str(room / execution)))


@contextmanager
def hdfs(_: Path) -> Iterator[World]:
    store, folder = HdfsStore(FakeHdfs()), "hdfs://nn/lake/out"

    def made(execution: str, content: bytes) -> TargetFiles:
        prepared = beside_in_store(f"{folder}/{NAME}", execution)
        store.put(f"{prepared}/ready/{NAME}", content)
        id = store.file_id(f"{prepared}/ready/{NAME}")
        assert id is not None
        return RenamedFile(intent_of(f"{folder}/{NAME}", prepared, execution, NewFile(id=id)), store)

    store.put(f"{folder}/other.csv", BESIDE)
    yield World(store, folder, made, lambda execution: store.delete(beside_in_store(f"{folder}/{NAME}", execution)))


@contextmanager
def bucket(_: Path) -> Iterator[World]:
    server, folder = Bucket(), "s3a://lake/out"
    store = BucketClient(server, Line((), [], Process(lambda: None)))

    def made(execution: str, content: bytes) -> TargetFiles:
        prepared = beside_in_store(f"{folder}/{NAME}", execution)
        store.put(f"{prepared}/aside/part-0", content)
        id, upload = store.defer_copy(f"{prepared}/aside/part-0", f"{folder}/{NAME}", "writing")
        store.delete(prepared)
        file = NewFile(id=id, upload=upload)
        store.put(files_document(prepared), to_json(file).encode())
        return UploadedFile(intent_of(f"{folder}/{NAME}", prepared, execution, file), store)

    store.put(f"{folder}/other.csv", BESIDE)
    yield World(store, folder, made, lambda execution: store.delete(beside_in_store(f"{folder}/{NAME}", execution)))


Place = Callable[[Path], AbstractContextManager[World]]
PLACES = pytest.mark.parametrize("place", [disk, hdfs, bucket])
STEPS = st.lists(st.sampled_from(["one", "other"]), max_size=16)
ORDERS = st.builds(lambda first, lost, then: [*first, *lost, *then], STEPS, st.sampled_from([[], ["lost"]]), STEPS)
MOST_STEPS = 14


@pytest.fixture(autouse=True)
def no_sync(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files_on_disk, "sync_folder", lambda _: None)


def ends(running: Iterator[None]) -> str:
    """Let a carrier go on to its end."""
    try:
        for _ in running:
            pass
    except PublicationConflictError:
        return "given up"
    return "done"


class Carriers:
    """Carriers of one intent, by their names, and how they have ended, in order."""

    def __init__(self, world: World) -> None:
        self.world, self.before = world, world.seen()
        files = world.made("e1", NEW)
        self.running = {name: steps(files, name) for name in ("one", "other", "later")}
        self.ends: list[str] = []

    def step(self, name: str) -> bool:
        """Let a carrier do a step, and look what readers see; whether it has ended."""
        try:
            has_ended = next(self.running[name], "done") == "done"
            self.ends += ["done"] if has_ended else []
        except PublicationConflictError:
            has_ended = True
            self.ends.append("given up")
        assert self.world.seen() in (self.before, NEW)
        return has_ended


@PLACES
@pytest.mark.parametrize("has_old", [True, False], ids=["replaces", "new"])
def test_in_any_order_readers_see_the_old_file_or_the_new_one(place: Place, *, has_old: bool, tmp_path: Path) -> None:
    @settings(max_examples=40, deadline=None)
    @given(order=ORDERS)
    def carry_in_order(order: list[str]) -> None:
        with place(tmp_path) as world:
            if has_old:
                carry_out(world.made("e0", OLD))
            carriers = Carriers(world)
            for name in order:
                _ = world.lose("e1") if name == "lost" else carriers.step(name)
            for name in carriers.running:
                while not carriers.step(name):
                    pass
            is_done = carriers.ends[0] == "done"
            assert is_done or "lost" in order
            assert world.seen() == (NEW if is_done else carriers.before)
            assert world.beside() == {"other.csv"}

    carry_in_order()


@PLACES
@pytest.mark.parametrize("done", range(MOST_STEPS))
def test_a_carrier_that_dies_is_followed_by_the_next(place: Place, done: int, tmp_path: Path) -> None:
    with place(tmp_path) as world:
        carry_out(world.made("e0", OLD))
        files = world.made("e1", NEW)
        dies = steps(files, "dies")
        for _ in range(done):
            next(dies, None)
        carry_out(files)
        carry_out(files)  # repeating it changes nothing
        assert world.seen() == NEW
        assert world.beside() == {"other.csv"}


@PLACES
@pytest.mark.parametrize("done", range(MOST_STEPS))
def test_a_carrier_that_wakes_up_after_a_later_publication_changes_nothing(
    place: Place, done: int, tmp_path: Path
) -> None:
    with place(tmp_path) as world:
        carry_out(world.made("e0", OLD))
        files = world.made("e1", NEW)
        sleeps = steps(files, "sleeps", lambda: False)
        for _ in range(done):
            next(sleeps, None)
        carry_out(files)  # by the next execution, before it publishes
        waiting = world.made("e3", OLD)
        carry_out(world.made("e2", LATER))
        assert ends(sleeps) == ("done" if done >= MOST_STEPS - 1 else "given up") or world.seen() == LATER
        assert world.seen() == LATER
        carry_out(waiting)  # what another execution has prepared meanwhile is still there
        assert world.seen() == OLD
        assert world.beside() == {"other.csv"}


@PLACES
def test_what_is_given_up_never_appears_later(place: Place, tmp_path: Path) -> None:
    """A carrier that knows the prepared file and sleeps cannot bring it in after another has given it up."""
    with place(tmp_path) as world:
        carry_out(world.made("e0", OLD))
        files = world.made("e1", NEW)
        sleeps = steps(files, "sleeps")
        next(sleeps)
        world.lose("e1")
        assert ends(steps(files, "gives-up")) == "given up"
        carry_out(world.made("e2", LATER))
        assert ends(sleeps) == "given up"
        assert world.seen() == LATER


@PLACES
def test_a_file_whose_prepared_folder_is_removed_is_given_up(place: Place, tmp_path: Path) -> None:
    """It is what the message of a pending publication says."""
    with place(tmp_path) as world:
        carry_out(world.made("e0", OLD))
        files = world.made("e1", NEW)
        assert f"To give it up, remove {files.intent.prepared}" in str(files.intent.pending("disk full"))
        world.store.delete(files.intent.prepared)
        assert ends(steps(files, "next")) == "given up"
        assert world.seen() == OLD
        assert world.beside() == {"other.csv"}


@PLACES
def test_the_same_bytes_again_are_published(place: Place, tmp_path: Path) -> None:
    with place(tmp_path) as world:
        carry_out(world.made("e0", NEW))
        carry_out(world.made("e1", NEW))
        assert world.seen() == NEW
        assert world.beside() == {"other.csv"}


@PLACES
def test_a_kept_region_needs_its_own_file_or_a_later_publication(place: Place, tmp_path: Path) -> None:
    with place(tmp_path) as world:
        layout = StagingLayout(root=f"{world.folder}-staging", identity=RunIdentity.own("p", "e1"))
        ledger = Ledger(store=world.store, layout=layout, plan_id="plan")

        def published(execution: str, content: bytes, number: int) -> None:
            files = world.made(execution, content)
            intent = replace(files.intent, number=number)
            ledger.decide(intent)
            carry_out(replace(files, intent=intent))
            ledger.finish(intent)

        def is_there(execution: str) -> bool:
            return is_in_place(world.store, layout, world.target, execution)

        published("e1", NEW, 0)
        assert is_there("e1")
        world.store.put(world.target, b"by hand")
        assert not is_there("e1")
        world.store.delete(world.target)
        assert not is_there("e1")
        published("e2", LATER, 1)
        assert is_there("e1")
        assert is_there("e2")


def test_a_file_keeps_the_mode_of_the_one_that_it_replaces(tmp_path: Path) -> None:
    with disk(tmp_path) as world:
        carry_out(world.made("e0", OLD))
        Path(world.target).chmod(0o640)
        carry_out(world.made("e1", NEW))
        assert stat.S_IMODE(Path(world.target).stat().st_mode) == 0o640


def test_the_checksums_of_the_old_file_go(tmp_path: Path) -> None:
    """Hadoop's client would refuse the new file, whose bytes differ from them."""
    with disk(tmp_path) as world:
        carry_out(world.made("e0", OLD))
        Path(f"{world.folder}/.{NAME}.crc").write_bytes(b"of the old file")
        Path(f"{world.folder}/.other.csv.crc").write_bytes(b"of another file")
        carry_out(world.made("e1", NEW))
        assert world.beside() == {"other.csv", ".other.csv.crc"}


def test_a_folder_that_has_come_meanwhile_is_kept_and_the_file_is_pending(tmp_path: Path) -> None:
    with disk(tmp_path) as world:
        files = world.made("e1", NEW)
        Path(world.target).mkdir()
        (Path(world.target) / "rows").write_bytes(BESIDE)
        with pytest.raises(PublicationPendingError, match=r"does not accept what execution e1"):
            carry_out(files)
        assert (Path(world.target) / "rows").read_bytes() == BESIDE
        (Path(world.target) / "rows").unlink()
        Path(world.target).rmdir()
        carry_out(files)
        assert world.seen() == NEW


def test_other_names_of_the_old_file_keep_its_rows(tmp_path: Path) -> None:
    with disk(tmp_path) as world:
        carry_out(world.made("e0", OLD))
        os.link(world.target, f"{world.folder}/hard.csv")
        carry_out(world.made("e1", NEW))
        assert Path(f"{world.folder}/hard.csv").read_bytes() == OLD


def test_an_intent_of_a_folder_is_written_as_before(tmp_path: Path) -> None:
    """Versions without single files read it."""
    from graph_compiler.deployment.documents.wire import to_wire

    assert "file" not in to_wire(prepare(tmp_path / "out", add=["a"]))  # type: ignore[operator]  # a dict
