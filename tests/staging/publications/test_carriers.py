"""Carriers of one intent in any order, and the loss of its prepared files at any time: the same ends in every store."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from graph_compiler.deployment.documents.wire import to_json
from graph_compiler.errors import PublicationConflictError
from graph_compiler.staging.publications import files_on_disk
from graph_compiler.staging.publications.carrier import (
    DeferredFiles,
    RenamedFiles,
    TargetFiles,
    UploadedFiles,
    files_document,
    steps,
)
from graph_compiler.staging.publications.listing import data_files, files_seen
from graph_compiler.staging.publications.preparations import beside_in_store, inside_bucket
from graph_compiler.staging.publications.publications import Intent
from graph_compiler.staging.store.deferred_files import DeferredFile
from graph_compiler.staging.store.hdfs_store import HdfsStore
from tests.harness.fake_hdfs import FakeHdfs
from tests.harness.folders import in_memory, on_disk, prepare, put
from tests.machine.in_stores.bucket import Bucket
from tests.machine.in_stores.bucket_client import BucketClient
from tests.machine.in_stores.troubles import Line
from tests.machine.process import Process

OLD = frozenset({"k=1/old-1", "k=1/old-2", "old-3"})
NEW = frozenset({"k=1/new-1", "k=2/new-2", "new-3"})
STEPS = st.lists(st.sampled_from(["one", "other", "appears"]), max_size=20)
ORDERS = st.builds(lambda first, lost, then: [*first, *lost, *then], STEPS, st.sampled_from([[], ["removed"]]), STEPS)


@dataclass(frozen=True)
class Target:
    """A target with old files, and an intent that is decided.

    `lose` removes what is prepared. `appear`: a carrier that dies brings in one file, if that is no step of its own.
    `is_exchanged`: each folder of it is replaced in one step, and what came out is removed with what is prepared.
    """

    files: TargetFiles
    seen: Callable[[], frozenset[str]]
    lose: Callable[[], object]
    appear: Callable[[], object] = lambda: None
    is_exchanged: bool = False


@contextmanager
def disk(mode: str, here: Path) -> Iterator[Target]:
    with in_memory(here) as folder:
        put(folder / "out", OLD)
        intent = intent_of(folder / "out", mode)
        yield Target(
            files=on_disk(intent),
            seen=lambda: data_files(folder / "out"),
            lose=lambda: shutil.rmtree(intent.prepared, ignore_errors=True),
            is_exchanged=mode == "overwrite-partitions",
        )


@contextmanager
def hdfs(mode: str, here: Path) -> Iterator[Target]:
    with in_memory(here) as folder:
        intent = intent_of(folder / "out", mode)
    target, store = "hdfs://nn/lake/out", HdfsStore(FakeHdfs())
    intent = replace(intent, target=target, prepared=beside_in_store(target, "e1"))
    for name in [*(f"{target}/{name}" for name in OLD), *(f"{intent.prepared}/ready/{name}" for name in NEW)]:
        store.put(name, b"x")
    yield Target(
        files=RenamedFiles(intent, store),
        seen=lambda: files_seen(store, target),
        lose=lambda: store.delete(intent.prepared),
    )


@contextmanager
def bucket(mode: str, here: Path) -> Iterator[Target]:
    with in_memory(here) as folder:
        intent = intent_of(folder / "out", mode)
    target, bucket = "s3a://lake/out", Bucket()
    store = BucketClient(bucket, Line((), [], Process(lambda: None)))
    intent = replace(intent, target=target, prepared=inside_bucket(target, "e1"))
    for name in OLD:
        store.put(f"{target}/{name}", b"x")
    uploads = {f"{target}/{name}": bucket.upload(f"{target}/{name}", b"x") for name in sorted(NEW)}
    written = tuple(DeferredFile(key=key, bytes=1, ticket=upload) for key, upload in uploads.items())
    document = files_document(intent.prepared)
    store.put(document, to_json(DeferredFiles(files=written)).encode())
    yield Target(
        files=UploadedFiles(intent, store),
        seen=lambda: files_seen(store, target),
        lose=lambda: store.delete(document),
        appear=lambda: bucket.complete(next(iter(bucket.uploads))) if bucket.uploads else None,
    )


def intent_of(target: Path, mode: str) -> Intent:
    if mode == "append":
        return prepare(target, add=sorted(NEW))
    replaces = ["."] if mode == "overwrite" else ["k=1", "k=2"]
    return prepare(target, add=sorted(NEW), remove=sorted(OLD), replaces=replaces)


@pytest.fixture(autouse=True)
def no_sync(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files_on_disk, "sync_folder", lambda _: None)


class Carriers:
    """Carriers of one intent, by their names. What the first of them that ends says is recorded, as in the ledger."""

    def __init__(self, target: Target, mode: str) -> None:
        self.target = target
        self.old, self.new = OLD, (NEW | OLD if mode == "append" else NEW)
        self.ends: list[str] = []
        self.running = {name: steps(target.files, name, lambda: not self.ends) for name in ("one", "other")}

    def step(self, name: str) -> bool:
        """Let a carrier do a step, and look what readers see; whether it has ended."""
        try:
            has_ended = next(self.running[name], "done") == "done"
            self.ends += ["done"] if has_ended else []
        except PublicationConflictError:
            has_ended = True
            self.ends += ["given up"]
        for old, new, now in self.folders():
            assert now >= old or now >= new
        return has_ended

    def check_end(self) -> None:
        is_done = self.ends[0] == "done"
        if self.target.is_exchanged and not is_done:
            assert all(now in (old, new) for old, new, now in self.folders())
        else:
            assert self.target.seen() == (self.new if is_done else self.old)

    def folders(self) -> Iterator[list[set[str]]]:
        """Yield the old files of each folder, its new ones, and what readers see."""
        seen = self.target.seen()
        for folder in ("", "k=1", "k=2"):
            yield [
                {name for name in names if name.rpartition("/")[0] == folder} for names in (self.old, self.new, seen)
            ]


@pytest.mark.parametrize("mode", ["overwrite", "overwrite-partitions", "append"])
@pytest.mark.parametrize("place", [disk, hdfs, bucket])
def test_in_any_order_all_new_files_are_there_or_none(
    place: Callable[[str, Path], AbstractContextManager[Target]], mode: str, tmp_path: Path
) -> None:
    @settings(max_examples=60, deadline=None)
    @given(order=ORDERS)
    def carry_in_order(order: list[str]) -> None:
        with place(mode, tmp_path) as target:
            carriers = Carriers(target, mode)
            for name in order:
                {"removed": target.lose, "appears": target.appear}.get(name, partial(carriers.step, name))()
            for name in carriers.running:
                while not carriers.step(name):
                    pass
            carriers.check_end()
            carriers.running["later"] = steps(target.files, "later", lambda: False)
            while not carriers.step("later"):
                pass
            carriers.check_end()

    carry_in_order()
