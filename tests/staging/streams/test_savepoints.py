"""Savepoints: a complete copy of a checkpoint that nobody has, and a stream that begins with it."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from graph_compiler.deployment.documents.run_identity import RunIdentity
from graph_compiler.deployment.documents.staging_layout import StagingLayout, StreamLayout, savepoint_in
from graph_compiler.deployment.documents.stream import (
    EarlierStream,
    KeptState,
    PublishedTarget,
    SavepointRestoreSettings,
    StreamQuery,
    UnboundedSource,
)
from graph_compiler.errors import DamagedDocumentError
from graph_compiler.identifiers import OperatorId
from graph_compiler.staging.store.local_store import LocalStore
from graph_compiler.staging.streams import savepoints
from graph_compiler.staging.streams.checkpoint import (
    Checkpoint,
    CheckpointError,
    CheckpointTakenError,
    KnownStream,
    begin_stream,
    has_begun,
    known_streams,
    savepoint_of,
)
from graph_compiler.staging.streams.savepoints import (
    SavedStream,
    begin_with_savepoint,
    known_savepoints,
    take_savepoint,
)
from tests.harness.staging_trees import decide

STORE = LocalStore()
STATE = KeptState(operator_id=OperatorId("count"), name="count", fingerprint="f")
OTHER = KeptState(operator_id=OperatorId("sum"), name="sum", fingerprint="f")
SOURCES = tuple(UnboundedSource(node_id=1, uid=uid, name=uid) for uid in ("a", "b"))
QUERY = StreamQuery(sources=SOURCES, state=(STATE,), updates=True)
FILES = {
    "metadata": b'{"id":"x"}',
    "offsets/0": b"v1",
    "offsets/.0.crc": b"crc",
    "commits/0": b"v1",
    "sources/0/0": b"v1",
    "state/0/0/1.delta": bytes(range(256)),
    "state/0/0/.1.delta.crc": b"crc",
    "state/0/_metadata/metadata": b"v1",
}


def layout(tmp_path: Path) -> StreamLayout:
    return StreamLayout(root=str(tmp_path / "staging"), owner="shop")


def opened(tmp_path: Path, query: StreamQuery = QUERY, execution: str = "e1", run: str = "one") -> Checkpoint:
    return Checkpoint.open(STORE, layout(tmp_path).root, RunIdentity.own("shop", run), execution, query)


@pytest.fixture
def checkpoint(tmp_path: Path) -> Checkpoint:
    """Return that of a stream with one batch."""
    found = opened(tmp_path)
    for name, content in FILES.items():
        STORE.put_if_absent(f"{found.folder}/{name}", content)
    return found


def stream(tmp_path: Path) -> KnownStream:
    (found,) = known_streams(STORE, layout(tmp_path).root)
    return found


def run_one(tmp_path: Path) -> StagingLayout:
    return StagingLayout(root=layout(tmp_path).root, identity=RunIdentity.own("shop", "one"))


def taken(tmp_path: Path, place: str | None = None) -> SavedStream:
    return take_savepoint(STORE, stream(tmp_path), run_one(tmp_path), place, 7.0)


def start(saved: SavedStream, *, allows: bool = False) -> SavepointRestoreSettings:
    return SavepointRestoreSettings(path=saved.place, allow_non_restored_state=allows)


def files_below(folder: str) -> dict[str, bytes]:
    return {str(file.relative_to(folder)): file.read_bytes() for file in Path(folder).rglob("*") if file.is_file()}


@pytest.mark.parametrize("place", [None, "elsewhere"])
def test_a_savepoint_is_a_copy_that_stays_when_the_stream_is_reset(
    tmp_path: Path, checkpoint: Checkpoint, place: str | None
) -> None:
    (Path(checkpoint.folder) / "offsets" / ".1.abc.tmp").write_text("left by a driver that has died")
    saved = taken(tmp_path, place and f"{tmp_path}/{place}")
    assert saved.savepoint.own == EarlierStream(owner="shop", stream_id=checkpoint.stream_id, batch=0)
    assert files_below(f"{saved.place}/checkpoint") == FILES
    assert [one.place for one in known_savepoints(STORE, layout(tmp_path))] == ([] if place else [saved.place])
    stream(tmp_path).reset(STORE)
    begin_with_savepoint(STORE, layout(tmp_path), QUERY, start(saved))
    again = opened(tmp_path, execution="e2", run="two")
    assert again.stream_id != checkpoint.stream_id
    assert files_below(again.folder) == FILES
    origin = savepoint_of(STORE, layout(tmp_path), again.stream_id)
    assert origin is not None
    assert (origin.path, origin.first_batch, origin.streams[-1]) == (saved.place, 1, saved.savepoint.own)


def test_a_stream_begins_with_a_savepoint_once(tmp_path: Path, checkpoint: Checkpoint) -> None:
    saved = taken(tmp_path)
    assert not has_begun(STORE, layout(tmp_path), QUERY, start(saved))
    with pytest.raises(CheckpointError, match="have a stream, which did not begin with the savepoint") as refused:
        begin_with_savepoint(STORE, layout(tmp_path), QUERY, start(saved))
    assert "`graph-compiler streams reset shop a`" in str(refused.value)
    checkpoint.check()
    stream(tmp_path).reset(STORE)
    begin_with_savepoint(STORE, layout(tmp_path), QUERY, start(saved))
    own = opened(tmp_path).stream_id
    STORE.put_if_absent(f"{layout(tmp_path).checkpoint(own)}/offsets/1", b"v1")
    begin_with_savepoint(STORE, layout(tmp_path), QUERY, start(saved))
    assert opened(tmp_path).stream_id == own, "later runs continue it"
    STORE.delete(saved.place)
    begin_with_savepoint(STORE, layout(tmp_path), QUERY, start(saved))
    assert opened(tmp_path).stream_id == own, "it is not needed any more"


@pytest.mark.parametrize("left", [(), ("offsets/0", "commits/0")])
def test_a_checkpoint_without_what_its_savepoint_had_is_refused(tmp_path: Path, left: tuple[str, ...]) -> None:
    """Targets have none of its batches: it would append what the stream before has appended."""
    first = opened(tmp_path)
    for name, content in (FILES | {"offsets/1": b"v1", "commits/1": b"v1"}).items():
        STORE.put_if_absent(f"{first.folder}/{name}", content)
    saved = taken(tmp_path)
    stream(tmp_path).reset(STORE)
    begin_with_savepoint(STORE, layout(tmp_path), QUERY, start(saved))
    second = opened(tmp_path)
    STORE.delete(second.folder)
    for name in left:
        STORE.put_if_absent(f"{second.folder}/{name}", FILES[name])
    with pytest.raises(CheckpointError, match="and has not what that had") as refused:
        opened(tmp_path)
    assert "`graph-compiler streams reset shop a`" in str(refused.value)


def test_another_savepoint_in_the_same_place_is_noticed(tmp_path: Path, checkpoint: Checkpoint) -> None:
    place = f"{tmp_path}/saved"
    saved = taken(tmp_path, place)
    stream(tmp_path).reset(STORE)
    begin_with_savepoint(STORE, layout(tmp_path), QUERY, start(saved))
    opened(tmp_path)
    STORE.delete(place)
    assert taken(tmp_path, place).savepoint.streams == (
        saved.savepoint.own,
        EarlierStream(owner="shop", stream_id=opened(tmp_path).stream_id, batch=0),
    ), "and it knows those before it"
    assert opened(tmp_path).stream_id != checkpoint.stream_id
    with pytest.raises(CheckpointError, match="did not begin with the savepoint"):
        begin_with_savepoint(STORE, layout(tmp_path), QUERY, start(saved))


def put_end(tmp_path: Path, name: str) -> None:
    STORE.put_if_absent(f"{run_one(tmp_path).tasks}/region/e1/{name}", b"{}")


def test_no_savepoint_is_taken_while_a_driver_may_run(tmp_path: Path, checkpoint: Checkpoint) -> None:
    put_end(tmp_path, "descriptor.json")
    with pytest.raises(
        CheckpointError, match="run 'one' has the checkpoint: its execution e1 has not ended"
    ) as refused:
        taken(tmp_path)
    assert "run 'shop' once more" in str(refused.value)
    put_end(tmp_path, "report.json")
    assert taken(tmp_path).savepoint.own.stream_id == checkpoint.stream_id


@pytest.mark.parametrize("end", ["outcome.json", "kept.json"])
def test_other_ends_of_a_driver(tmp_path: Path, checkpoint: Checkpoint, end: str) -> None:
    put_end(tmp_path, "descriptor.json")
    put_end(tmp_path, end)
    assert taken(tmp_path).savepoint.own.stream_id == checkpoint.stream_id


def test_no_savepoint_is_taken_in_a_batch_or_before_the_first(tmp_path: Path, checkpoint: Checkpoint) -> None:
    folder = Path(checkpoint.folder)
    (folder / "offsets/1").write_bytes(b"v1")
    with pytest.raises(CheckpointError, match="batch 1 is begun, and not committed") as refused:
        taken(tmp_path)
    assert "run 'shop' once more" in str(refused.value)
    for name in ("offsets/0", "offsets/1", "commits/0"):
        (folder / name).unlink()
    with pytest.raises(CheckpointError, match="has no batch: there is nothing to continue"):
        taken(tmp_path)
    assert not list(known_savepoints(STORE, layout(tmp_path)))


@pytest.mark.parametrize("does", ["takes its turn", "begins a batch", "commits a batch"])
def test_a_driver_that_begins_meanwhile_is_noticed_and_nothing_is_left(
    tmp_path: Path, checkpoint: Checkpoint, monkeypatch: pytest.MonkeyPatch, does: str
) -> None:
    def begins() -> None:
        if does == "takes its turn":
            opened(tmp_path, execution="e2")
            return
        STORE.put_if_absent(f"{checkpoint.folder}/offsets/1", b"v1")
        if does == "commits a batch":
            STORE.put_if_absent(f"{checkpoint.folder}/commits/1", b"v1")

    copied = savepoints._copied

    def slow(*given: object) -> object:
        found = list(copied(*given))  # type: ignore[arg-type]  # passed on
        begins()
        return iter(found)

    monkeypatch.setattr(savepoints, "_copied", slow)
    with pytest.raises(CheckpointError, match="a driver has taken the checkpoint|batch 1 is begun"):
        taken(tmp_path)
    assert not list(Path(layout(tmp_path).savepoints).iterdir())


@pytest.mark.usefixtures("checkpoint")
def test_a_place_is_for_one_savepoint(tmp_path: Path) -> None:
    saved = taken(tmp_path, f"{tmp_path}/saved")
    with pytest.raises(CheckpointError, match="is not empty"):
        taken(tmp_path, saved.place)
    assert files_below(f"{saved.place}/checkpoint") == FILES
    with pytest.raises(CheckpointError, match="an object store cannot"):
        taken(tmp_path, "s3a://bucket/saved")


def test_a_state_with_the_path_of_its_folder_is_not_copied(tmp_path: Path, checkpoint: Checkpoint) -> None:
    file = Path(checkpoint.folder) / "state/0/_metadata/v2"
    file.write_text(f'{{"schema": "file:{checkpoint.folder}/state/0/_stateSchema"}}')
    with pytest.raises(CheckpointError, match="has the path of its own folder"):
        taken(tmp_path)


RECORD = (
    b'v2\n{"operatorInfo":{"operatorId":%d,"operatorName":"transformWithStateInPySparkExec"},"stateStoreInfo":'
    b'[{"storeName":"default","numPartitions":2,"stateSchemaFilePaths":["file:%s/state/%d/_stateSchema/default/0_a"]}]}'
)


@pytest.mark.parametrize("query", [QUERY, replace(QUERY, state=(OTHER,), reads=("a", "b"), keeps=(OTHER.operator_id,))])
def test_the_state_of_a_function_has_the_paths_of_its_copy(tmp_path: Path, query: StreamQuery) -> None:
    is_moved = query is not QUERY
    before = replace(BOTH, reads=("a", "b")) if is_moved else QUERY
    number = 1 if is_moved else 0
    folder = opened(tmp_path, before).folder
    record = RECORD % (number, folder.encode(), number)
    for name, content in (
        ("offsets/0", b'v1\n{"batchWatermarkMs":0}\n{"logOffset":0}\n{"logOffset":0}'),
        ("commits/0", b"v1"),
        (f"state/{number}/_metadata/v2/0", record),
        (f"state/{number}/_metadata/v2/.0.crc", b"crc"),
        (f"state/{number}/_stateSchema/default/0_a", b"schema"),
        (f"state/{number}/0/SSTs/000008-a.sst", b"rows"),
        (f"state/{number}/0/1.zip", b"names of files"),
    ):
        STORE.put_if_absent(f"{folder}/{name}", content)
    saved = taken(tmp_path, f"{tmp_path}/saved")
    assert (Path(saved.place) / f"checkpoint/state/{number}/_metadata/v2/0").read_bytes() == record
    stream(tmp_path).reset(STORE)
    begin_with_savepoint(STORE, layout(tmp_path), query, start(saved, allows=True))
    own = opened(tmp_path, query, "e2").folder
    assert own != folder
    found = {name: content for name, content in files_below(own).items() if name.startswith("state/")}
    assert found == {
        "state/0/_metadata/v2/0": RECORD % (0, own.encode(), 0),
        "state/0/_stateSchema/default/0_a": b"schema",
        "state/0/0/SSTs/000008-a.sst": b"rows",
        "state/0/0/1.zip": b"names of files",
    }


@pytest.mark.parametrize(
    "record", [RECORD.replace(b"v2", b"v3"), RECORD.replace(b"_stateSchema", b"schemas"), b"v2\n{} %d %s %d"]
)
def test_another_form_of_a_functions_state_is_refused(tmp_path: Path, checkpoint: Checkpoint, record: bytes) -> None:
    found = record % (0, checkpoint.folder.encode(), 0)
    STORE.put_if_absent(f"{checkpoint.folder}/state/0/_metadata/v2/0", found)
    saved = taken(tmp_path)
    stream(tmp_path).reset(STORE)
    with pytest.raises(CheckpointError, match="has another form than that of Spark"):
        begin_with_savepoint(STORE, layout(tmp_path), QUERY, start(saved))


def cut(place: str) -> None:
    file = Path(f"{place}/checkpoint/state/0/0/1.delta")
    file.write_bytes(file.read_bytes()[:-1])


def flip(place: str) -> None:
    file = Path(f"{place}/checkpoint/offsets/0")
    file.write_bytes(b"v2")


TORN: dict[str, tuple[Callable[[str], object], str]] = {
    "a file is gone": (lambda place: Path(f"{place}/checkpoint/commits/0").unlink(), "commits/0 is not there"),
    "a file is shorter": (cut, "1.delta has other bytes .255 bytes"),
    "a file is another": (flip, "offsets/0 has other bytes"),
    "the last file is not there": (lambda place: Path(savepoint_in(place)).unlink(), "there is no savepoint in"),
}


@pytest.mark.usefixtures("checkpoint")
@pytest.mark.parametrize("how", TORN)
def test_a_copy_that_is_not_complete_is_noticed(tmp_path: Path, how: str) -> None:
    tear, words = TORN[how]
    saved = taken(tmp_path)
    stream(tmp_path).reset(STORE)
    tear(saved.place)
    with pytest.raises(CheckpointError, match=words):
        begin_with_savepoint(STORE, layout(tmp_path), QUERY, start(saved))
    assert not list(known_streams(STORE, layout(tmp_path).root))
    left = {folder.name for folder in Path(layout(tmp_path).folder).iterdir()}
    assert left <= {"sources", "savepoints"}, "nothing of the attempt"


@pytest.mark.usefixtures("checkpoint")
def test_a_document_that_is_cut_is_damaged(tmp_path: Path) -> None:
    saved = taken(tmp_path)
    stream(tmp_path).reset(STORE)
    Path(savepoint_in(saved.place)).write_text("{")
    with pytest.raises(DamagedDocumentError):
        begin_with_savepoint(STORE, layout(tmp_path), QUERY, start(saved))


@pytest.mark.usefixtures("checkpoint")
@pytest.mark.parametrize(
    ("query", "allows", "found"),
    [
        (replace(QUERY, state=(replace(STATE, fingerprint="g"),)), True, "'count' has changed, or something before it"),
        (replace(QUERY, state=(OTHER,)), True, "'count' is not in the pipeline any more"),
        (replace(QUERY, state=(STATE, OTHER)), True, "'sum' is new"),
        (replace(QUERY, state=()), False, "'count' is not in the pipeline any more"),
        (replace(QUERY, sources=SOURCES[:1]), True, "'b' is not read any more"),
        (replace(QUERY, sources=(*SOURCES, replace(SOURCES[0], uid="c"))), True, "'c' is new"),
    ],
)
def test_a_query_that_cannot_continue_a_savepoint(tmp_path: Path, query: StreamQuery, allows: bool, found: str) -> None:
    saved = taken(tmp_path)
    stream(tmp_path).reset(STORE)
    with pytest.raises(CheckpointError, match=found) as refused:
        begin_with_savepoint(STORE, layout(tmp_path), query, start(saved, allows=allows))
    assert saved.place in str(refused.value)
    assert not list(known_streams(STORE, layout(tmp_path).root))


OFFSETS = b'v1\n{"batchWatermarkMs":0}\n{"logOffset":4}\n{"logOffset":5}\n{"logOffset":4}'
METADATA = b'v1\n{"operatorInfo":{"operatorId":%d,"operatorName":"stateStoreSave"},"stateStoreInfo":[]}'
BOTH = replace(QUERY, state=(STATE, OTHER), reads=("a", "b", "a"), keeps=(STATE.operator_id, OTHER.operator_id))
LEFT = replace(QUERY, state=(OTHER,), reads=("b", "a"), keeps=(OTHER.operator_id,))


def with_two_states(tmp_path: Path, query: StreamQuery = BOTH) -> SavedStream:
    """Return a savepoint of a stream with two states, whose first source is read twice, behind batch 2."""
    folder = opened(tmp_path, query).folder
    for number in range(3):
        for name, content in (("offsets", OFFSETS), ("commits", b'v1\n{"nextBatchWatermarkMs":0}')):
            STORE.put_if_absent(f"{folder}/{name}/{number}", content)
            STORE.put_if_absent(f"{folder}/{name}/.{number}.crc", b"crc")
    for number, name in enumerate("ab"):
        STORE.put_if_absent(f"{folder}/sources/{number}/0", f"files of {name}".encode())
    for number, kept in enumerate(("count", "sum")):
        STORE.put_if_absent(f"{folder}/state/{number}/0/3.delta", kept.encode())
        STORE.put_if_absent(f"{folder}/state/{number}/_metadata/metadata", METADATA % number)
        STORE.put_if_absent(f"{folder}/state/{number}/_metadata/.metadata.crc", b"crc")
    saved = taken(tmp_path)
    stream(tmp_path).reset(STORE)
    return saved


def test_what_is_left_of_a_savepoint_has_its_new_places(tmp_path: Path) -> None:
    saved = with_two_states(tmp_path)
    with pytest.raises(CheckpointError, match="'count' is not in the pipeline any more"):
        begin_with_savepoint(STORE, layout(tmp_path), LEFT, start(saved))
    begin_with_savepoint(STORE, layout(tmp_path), LEFT, start(saved, allows=True))
    offsets = b'v1\n{"batchWatermarkMs":0}\n{"logOffset":5}\n{"logOffset":4}'
    commits = {f"commits/{number}": b'v1\n{"nextBatchWatermarkMs":0}' for number in range(3)}
    assert files_below(opened(tmp_path, LEFT, "e2").folder) == {
        **commits,
        **{f"commits/.{number}.crc": b"crc" for number in range(3)},
        "offsets/1": offsets,
        "offsets/2": offsets,
        "sources/0/0": b"files of b",
        "sources/1/0": b"files of a",
        "state/0/0/3.delta": b"sum",
        "state/0/_metadata/metadata": METADATA % 0,
    }


def test_without_its_state_a_stream_continues_with_the_offsets(tmp_path: Path) -> None:
    saved = with_two_states(tmp_path)
    without = replace(BOTH, state=(), updates=False, reads=("a", "b"), keeps=())
    begin_with_savepoint(STORE, layout(tmp_path), without, start(saved, allows=True))
    found = files_below(opened(tmp_path, without, "e2").folder)
    assert found["offsets/2"] == b'v1\n{"batchWatermarkMs":0}\n{"logOffset":4}\n{"logOffset":5}'
    assert not [name for name in found if name.startswith("state/")]
    with pytest.raises(CheckpointError, match="'count' and 'sum' is new"):
        opened(tmp_path, BOTH, "e3")


@pytest.mark.parametrize(
    ("file", "content"),
    [
        ("offsets/2", OFFSETS.replace(b"v1", b"v2")),
        ("offsets/2", b'v1\n{}\n{"logOffset":4}'),
        ("state/1/_metadata/metadata", b"v2\n{}"),
        ("commits/2", b'v1\n{"stateUniqueIds":{"0":[["x"]]}}'),
    ],
)
def test_another_form_of_sparks_files_is_refused_where_it_would_be_changed(
    tmp_path: Path, file: str, content: bytes
) -> None:
    folder = opened(tmp_path, BOTH).folder
    STORE.put_if_absent(f"{folder}/{file}", content)
    saved = with_two_states(tmp_path)
    with pytest.raises(CheckpointError, match="has another form than that of Spark"):
        begin_with_savepoint(STORE, layout(tmp_path), LEFT, start(saved, allows=True))
    begin_with_savepoint(STORE, layout(tmp_path), BOTH, start(saved))
    assert files_below(opened(tmp_path, BOTH, "e2").folder)[file] == content, "without a change it is copied"


def test_a_savepoint_without_an_order_is_continued_as_it_is(tmp_path: Path) -> None:
    saved = with_two_states(tmp_path, replace(BOTH, reads=None, keeps=None))
    with pytest.raises(CheckpointError, match="does not say in which order"):
        begin_with_savepoint(STORE, layout(tmp_path), LEFT, start(saved, allows=True))
    begin_with_savepoint(STORE, layout(tmp_path), BOTH, start(saved))
    assert opened(tmp_path, BOTH, "e2").stream_id


def test_of_two_drivers_that_begin_with_a_savepoint_one_is_first(
    tmp_path: Path, checkpoint: Checkpoint, monkeypatch: pytest.MonkeyPatch
) -> None:
    saved = taken(tmp_path)
    stream(tmp_path).reset(STORE)
    with pytest.raises(CheckpointTakenError):
        checkpoint.check()

    def late(*given: object) -> str:
        monkeypatch.setattr(savepoints, "begin_stream", begin_stream)
        begin_with_savepoint(STORE, layout(tmp_path), QUERY, start(saved))  # another driver
        return begin_stream(*given)  # type: ignore[arg-type]  # passed on

    monkeypatch.setattr(savepoints, "begin_stream", late)
    begin_with_savepoint(STORE, layout(tmp_path), QUERY, start(saved))
    assert has_begun(STORE, layout(tmp_path), QUERY, start(saved))
    known = {opened(tmp_path).stream_id, "sources", "savepoints"}
    assert {folder.name for folder in Path(layout(tmp_path).folder).iterdir()} == known, "one copy is left"


def test_what_is_published_is_in_the_savepoint(tmp_path: Path, checkpoint: Checkpoint) -> None:
    run, id = run_one(tmp_path), checkpoint.stream_id
    for batch in (f"{id}/0", f"{id}/3", "other/9", f"{id}/2"):
        decide(run, "/out", batch=batch)
    STORE.put_if_absent(run.intent("/out", 4), b"{")
    decide(run, "/other")
    assert taken(tmp_path).savepoint.published == (PublishedTarget(target="/out", batch=3),)


def test_targets_with_ledgers_elsewhere_are_known(tmp_path: Path, checkpoint: Checkpoint) -> None:
    decide(run_one(tmp_path), "/out", batch=f"{checkpoint.stream_id}/0")
    saved = taken(tmp_path, f"{tmp_path}/saved")
    moved = tmp_path / "moved"
    begin_with_savepoint(STORE, layout(moved), QUERY, start(saved))
    origin = savepoint_of(STORE, layout(moved), opened(moved).stream_id)
    assert origin is not None
    assert origin.elsewhere == ("/out",)
    again = taken(moved, f"{tmp_path}/again")
    assert again.savepoint.elsewhere == ("/out",)
