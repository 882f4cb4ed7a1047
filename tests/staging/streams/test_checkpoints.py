"""Whose a checkpoint is, which query may continue it, and which driver has it."""

import re
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from graph_compiler.deployment.documents.run_identity import RunIdentity
from graph_compiler.deployment.documents.staging_layout import StagingLayout
from graph_compiler.deployment.documents.stream import (
    KeptState,
    PublishedBatch,
    StreamProgress,
    StreamQuery,
    UnboundedSource,
    batch_words,
)
from graph_compiler.identifiers import OperatorId
from graph_compiler.staging.publications.folded_batches import batch_of
from graph_compiler.staging.store.local_store import LocalStore
from graph_compiler.staging.store.numbered_documents import numbers_in, put_behind
from graph_compiler.staging.streams.checkpoint import (
    Checkpoint,
    CheckpointError,
    CheckpointTakenError,
    known_streams,
    unfinished_copies,
)
from tests.harness.staging_trees import decide

STORE = LocalStore()


def source(uid: str) -> UnboundedSource:
    return UnboundedSource(node_id=1, uid=uid, name=uid)


def state(name: str, fingerprint: str = "f") -> KeptState:
    return KeptState(operator_id=OperatorId(name), name=name, fingerprint=fingerprint)


QUERY = StreamQuery(sources=(source("a"), source("b")), state=(state("count"),), updates=True)


def opened(root: Path, query: StreamQuery = QUERY, execution: str = "e1", run: str = "one") -> Checkpoint:
    return Checkpoint.open(STORE, str(root), RunIdentity.own("shop", run), execution, query)


def begun(root: Path, query: StreamQuery = QUERY) -> Checkpoint:
    """Return a checkpoint with a batch."""
    found = opened(root, query)
    STORE.put_if_absent(f"{found.folder}/offsets/0", b"v1")
    return found


def test_the_next_run_continues_the_stream_of_its_sources(tmp_path: Path) -> None:
    first = opened(tmp_path)
    again = opened(tmp_path, execution="e2", run="two")
    assert again.stream_id == first.stream_id
    assert again.folder == f"{tmp_path}/.streams/shop/{first.stream_id}/checkpoint"
    assert batch_of(again.batch(7)) == (first.stream_id, 7)
    assert numbers_in(STORE, first.layout.queries(first.stream_id)) == [0], "an equal query is recorded once"


def test_only_the_last_driver_has_it(tmp_path: Path) -> None:
    first = opened(tmp_path)
    first.check()
    second = opened(tmp_path, execution="e2")
    with pytest.raises(CheckpointTakenError):
        first.check()
    second.check()


def test_an_object_store_has_no_checkpoint() -> None:
    with pytest.raises(CheckpointError, match="Spark renames the files of a checkpoint"):
        Checkpoint.open(STORE, "s3a://bucket/staging", RunIdentity.own("shop", "one"), "e1", QUERY)


def test_pipelines_have_streams_of_their_own(tmp_path: Path) -> None:
    other = Checkpoint.open(STORE, str(tmp_path), RunIdentity.own("other", "one"), "e1", QUERY)
    assert other.stream_id != opened(tmp_path).stream_id


@pytest.mark.parametrize(
    ("query", "found"),
    [
        (replace(QUERY, state=(state("count", "g"),)), "'count' has changed, or something before it"),
        (replace(QUERY, state=(state("sum"),)), "'count' is not in the pipeline any more, or has another place in it"),
        (replace(QUERY, state=()), "'count' is not in the pipeline any more"),
        (replace(QUERY, state=(state("count"), state("sum"))), "'sum' is new"),
        (replace(QUERY, sources=(source("a"),)), "its checkpoint has 'b', too"),
        (replace(QUERY, sources=(*QUERY.sources, source("c"))), "have no common checkpoint: 'c' is new"),
    ],
)
def test_what_would_continue_with_wrong_numbers_is_refused(tmp_path: Path, query: StreamQuery, found: str) -> None:
    first = begun(tmp_path)
    with pytest.raises(CheckpointError, match=found) as refused:
        opened(tmp_path, query, "e2")
    assert "`graph-compiler streams reset shop a`" in str(refused.value)
    first.check()
    assert opened(tmp_path, execution="e3").stream_id == first.stream_id


def test_a_state_that_an_earlier_version_has_kept_in_part_is_refused(tmp_path: Path) -> None:
    whole = replace(QUERY, state=(replace(state("count"), is_whole=True),))
    begun(tmp_path)
    with pytest.raises(CheckpointError, match="kept the state of 'count' without what nothing read") as refused:
        opened(tmp_path, whole, "e2")
    assert "`graph-compiler streams reset shop a`" in str(refused.value)
    assert "put back what was declared" not in str(refused.value)
    begun(tmp_path / "new", whole)
    opened(tmp_path / "new", whole, "e2")


KEEPS = (OperatorId("count"), OperatorId("sum"))
NUMBERED = replace(QUERY, state=(state("count"), state("sum")), reads=("a", "b"), keeps=KEEPS)


@pytest.mark.parametrize(
    ("query", "found"),
    [
        (replace(NUMBERED, keeps=KEEPS[::-1]), "the state of 'count' and 'sum' has another place in the query"),
        (replace(NUMBERED, reads=("b", "a")), "its sources have other places in the query"),
        (replace(NUMBERED, reads=("a", "b", "a")), "its sources have other places in the query"),
    ],
)
def test_what_spark_would_mix_up_is_refused(tmp_path: Path, query: StreamQuery, found: str) -> None:
    begun(tmp_path, NUMBERED)
    with pytest.raises(CheckpointError, match=found) as refused:
        opened(tmp_path, query, "e2")
    assert "`graph-compiler run shop --from-savepoint PATH`" in str(refused.value)
    assert opened(tmp_path, replace(NUMBERED, updates=False), "e3").stream_id


def test_an_order_that_an_earlier_version_has_not_recorded_is_not_compared(tmp_path: Path) -> None:
    first = begun(tmp_path, replace(NUMBERED, reads=None, keeps=None))
    assert opened(tmp_path, NUMBERED, "e2").stream_id == first.stream_id
    with pytest.raises(CheckpointError, match="another place in the query"):
        opened(tmp_path, replace(NUMBERED, keeps=KEEPS[::-1]), "e3")


BOUND = replace(QUERY, state=(replace(state("count"), parameters=("country",)),))


def test_a_state_is_continued_with_the_values_of_parameters_that_it_has(tmp_path: Path) -> None:
    """A run that is triggered with others would add its rows to the totals of the former."""
    first = begun(tmp_path, BOUND)  # as an earlier version has recorded it
    german, austrian = (BOUND.bound({"country": country, "other": country}) for country in ("de", "at"))
    assert opened(tmp_path, german, "e2").stream_id == first.stream_id
    with pytest.raises(
        CheckpointError,
        match="a parameter in 'count', or before it, has another value, and the checkpoint has its state",
    ):
        opened(tmp_path, austrian, "e3")
    assert opened(tmp_path, BOUND.bound({"country": "de", "other": "x"}), "e4").stream_id == first.stream_id


def test_an_instance_of_a_mapped_group_continues_the_stream_of_its_value_only(tmp_path: Path) -> None:
    """Its number is that of another value once the list has a new one before it."""
    first = begun(tmp_path)  # as an earlier version has recorded it
    assert opened(tmp_path, QUERY.bound({}, "country = at"), "e2").stream_id == first.stream_id
    with pytest.raises(CheckpointError, match="that of country = at, and this instance of the task group has .* be:"):
        opened(tmp_path, QUERY.bound({}, "country = be"), "e3")
    assert opened(tmp_path, QUERY.bound({}, "country = at"), "e4").stream_id == first.stream_id


def test_a_query_without_a_batch_may_change(tmp_path: Path) -> None:
    first = opened(tmp_path)
    changed = replace(QUERY, state=(state("sum"),))
    assert opened(tmp_path, changed, "e2").stream_id == first.stream_id
    begun(tmp_path, changed)
    with pytest.raises(CheckpointError):
        opened(tmp_path, QUERY, "e3")


def test_sources_of_two_streams_are_not_one(tmp_path: Path) -> None:
    for uid in ("a", "b"):
        opened(tmp_path, StreamQuery(sources=(source(uid),), state=(), updates=False))
    with pytest.raises(CheckpointError, match="they have several checkpoints"):
        opened(tmp_path)


def test_without_state_everything_may_change(tmp_path: Path) -> None:
    plain = StreamQuery(sources=(source("a"),), state=(), updates=False)
    first = opened(tmp_path, plain)
    renamed = replace(plain, sources=(replace(source("a"), node_id=7, name="orders"),))
    assert opened(tmp_path, renamed, "e2").stream_id == first.stream_id
    assert numbers_in(STORE, first.layout.queries(first.stream_id)) == [0, 1]


def test_a_reset_begins_another_stream(tmp_path: Path) -> None:
    first = opened(tmp_path)
    for number in (0, 1, 2):
        STORE.put_if_absent(f"{first.folder}/commits/{number}", b"v1")
    (known,) = known_streams(STORE, str(tmp_path))
    assert (known.uids, known.batches) == (("a", "b"), 3)
    assert known.last is not None
    assert known.last.run_id == "one"
    assert list(known_streams(STORE, str(tmp_path), "other")) == []
    known.reset(STORE)
    assert list(known_streams(STORE, str(tmp_path))) == []
    with pytest.raises(CheckpointTakenError):
        first.check()
    assert opened(tmp_path).stream_id != first.stream_id


def test_a_stream_is_not_reset_while_a_batch_is_decided_only(tmp_path: Path) -> None:
    """A part of it may be in the target, and the stream that begins then has its rows, too."""
    first, run = opened(tmp_path), StagingLayout(root=str(tmp_path), identity=RunIdentity.own("shop", "one"))
    for batch in (f"{first.stream_id}/0@d", f"{first.stream_id}/1@d", "other/7"):
        decide(run, "/out", batch=batch)
    STORE.put_if_absent(run.done("/out", 0), b"{}")
    (known,) = known_streams(STORE, str(tmp_path))
    with pytest.raises(CheckpointError, match="batch 1 is decided for /out, and not carried out") as refused:
        known.check_finished(STORE)
    (command,) = re.findall(r"echo '.*' > .*", str(refused.value))
    subprocess.run(command, shell=True, check=True)  # what the hint says
    known.reset(STORE)
    assert list(known_streams(STORE, str(tmp_path))) == []


def test_a_driver_that_decides_while_its_stream_is_reset_is_noticed(tmp_path: Path) -> None:
    """It had looked at its turn, and decides when the reset has looked for what is decided."""
    first, run = opened(tmp_path), StagingLayout(root=str(tmp_path), identity=RunIdentity.own("shop", "one"))

    class Meanwhile(LocalStore):
        def put_if_absent(self, key: str, content: bytes) -> bool:
            if "/turns/" in key:
                decide(run, "/out", batch=f"{first.stream_id}/0@d")
            return super().put_if_absent(key, content)

    (known,) = known_streams(STORE, str(tmp_path))
    with pytest.raises(CheckpointError, match="batch 0 is decided"):
        known.reset(Meanwhile())
    with pytest.raises(CheckpointTakenError):
        first.check()
    again = opened(tmp_path, execution="e2")
    assert again.stream_id == first.stream_id, "the next run finishes it"
    again.check()


@pytest.mark.parametrize("uid", ["b", "заказы всех магазинов за сегодняшний день и за вчерашний", "x" * 300])
def test_streams_of_long_names_are_found(tmp_path: Path, uid: str) -> None:
    long = "магазин за углом на площади у старого вокзала в городе"
    query = replace(QUERY, sources=(source("a"), source(uid)), state=())
    run = RunIdentity.own(long, "one")
    mine = Checkpoint.open(STORE, str(tmp_path), run, "e1", query)
    for owner in (None, run.owner):
        (known,) = known_streams(STORE, str(tmp_path), owner)
        assert (known.stream_id, len(known.uids)) == (mine.stream_id, 2)
        assert known.last is not None
    assert list(unfinished_copies(STORE, str(tmp_path))) == []
    known.reset(STORE)
    assert list(known_streams(STORE, str(tmp_path))) == []


def test_a_driver_that_was_killed_when_it_began_is_followed(tmp_path: Path) -> None:
    first = opened(tmp_path)
    STORE.delete(first.layout.turns(first.stream_id))
    STORE.delete(first.layout.source("b"))
    assert opened(tmp_path, execution="e2").stream_id == first.stream_id
    STORE.delete(first.layout.source("b"))
    with pytest.raises(CheckpointError, match="have no common checkpoint: 'b' is new"):
        opened(tmp_path, execution="e3")


def test_a_stream_whose_folder_is_gone_is_refused(tmp_path: Path) -> None:
    """It would begin again with batch 0, which targets have."""
    first = begun(tmp_path)
    STORE.delete(first.layout.stream(first.stream_id))
    with pytest.raises(CheckpointError, match="the stream of its sources is gone") as refused:
        opened(tmp_path, execution="e2")
    assert "`graph-compiler streams reset shop a`" in str(refused.value)
    (known,) = known_streams(STORE, str(tmp_path))
    known.reset(STORE)
    assert opened(tmp_path, execution="e2").stream_id != first.stream_id


def test_numbers_that_others_take_meanwhile_are_left_to_them(tmp_path: Path) -> None:
    assert [put_behind(STORE, str(tmp_path), b"{}") for _ in range(3)] == [0, 1, 2]
    STORE.put_if_absent(f"{tmp_path}/10.json", b"{}")
    STORE.put_if_absent(f"{tmp_path}/x.json", b"{}")
    assert put_behind(STORE, str(tmp_path), b"{}") == 11
    assert numbers_in(STORE, str(tmp_path)) == [0, 1, 2, 10, 11]


def test_batches_are_one_line() -> None:
    batches = [PublishedBatch(number=number, rows=1_000, seconds=number / 2) for number in (5, 6, 7)]
    assert list(batch_words(batches)) == ["batches 5 to 7: 3,000 rows, 3.5 s at most"]
    assert list(batch_words(batches[:1])) == ["batch 5: 1,000 rows, 2.5 s at most"]
    assert list(batch_words(())) == []
    moved = StreamProgress(state_rows=None, state_bytes=None, watermark=None, behind=None, rows_in=1_500)
    read = [replace(batch, progress=moved) for batch in batches]
    assert list(batch_words(read)) == ["batches 5 to 7: 4,500 rows in, 3,000 rows out, 3.5 s at most"]
    assert next(batch_words([batches[0], *read[1:]])).startswith("batches 5 to 7: 3,000 rows, ")
    progress = StreamProgress(
        state_rows=1, state_bytes=2_000, watermark="2024-01-01T00:00:00.000Z", behind=30, waited=7_500
    )
    last = [*batches, replace(batches[-1], number=8, progress=progress)]
    state, watermark = "its state has 1 row, 2,000 bytes", "its watermark is 2024-01-01T00:00:00.000Z"
    lag = "a partition is 30 records behind; its oldest file had waited 2:05 h"
    assert list(batch_words(last))[1:] == [f"{state}; {watermark}; {lag}"]
    nothing = StreamProgress(state_rows=None, state_bytes=None, watermark=None, behind=0)
    assert len(list(batch_words([replace(batches[0], progress=nothing)]))) == 1
