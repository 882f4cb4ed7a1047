"""What Spark's log of a stream says: the files of each batch, and whether all that is there was read."""

import json
import os
import shutil
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from urllib.parse import quote

import pytest

from graph_compiler.deployment.documents.run_identity import RunIdentity
from graph_compiler.deployment.documents.staging_layout import StreamLayout
from graph_compiler.deployment.documents.stream import (
    END_OF_TIME_MS,
    VERSION,
    KeptState,
    QueryRecord,
    SavepointRestoreSettings,
    StreamQuery,
    UnboundedSource,
)
from graph_compiler.deployment.documents.wire import to_json
from graph_compiler.identifiers import OperatorId
from graph_compiler.staging.store.local_store import LocalStore
from graph_compiler.staging.streams.batch_log import (
    ReadSoFar,
    StatePlace,
    all_files,
    begin_flush,
    check_not_ended,
    files_of,
    is_folder_read,
    nothing_arrived,
    offsets_of,
    state_place,
    time_of,
    watermark_of,
)
from graph_compiler.staging.streams.checkpoint import Checkpoint, CheckpointError, known_streams
from graph_compiler.staging.streams.savepoints import begin_with_savepoint, take_savepoint

STORE, RUN = LocalStore(), RunIdentity.own("shop", "one")
QUERY = StreamQuery(sources=(UnboundedSource(node_id=1, uid="a", name="a"),), state=(), updates=False, reads=("a",))


def put(
    folder: Path, number: int, files: dict[Path, int], *, compact: dict[Path, tuple[int, int]] | None = None
) -> None:
    """Write a list of a source as Spark does: the files of a number; with `compact`, also all before."""
    entries = {path: (at, number) for path, at in files.items()} | (compact or {})
    lines = (
        json.dumps({"path": f"file://{quote(str(path))}", "timestamp": at, "batchId": batch})
        for path, (at, batch) in entries.items()
    )
    folder.mkdir(parents=True, exist_ok=True)
    name = f"{number}.compact" if compact is not None else str(number)
    (folder / name).write_text("\n".join(["v1", *lines]))


@pytest.fixture
def checkpoint(tmp_path: Path) -> Path:
    """Return that of a stream with three batches, of which all are committed, and a file each."""
    opened = Path(Checkpoint.open(STORE, str(tmp_path / "staging"), RUN, "e1", QUERY).folder)
    (tmp_path / "in").mkdir()
    files = [tmp_path / "in" / f"{number} é%.json" for number in range(3)]
    for number, file in enumerate(files):
        file.write_text("{}")
        put(opened / "sources/0", number, {file: file.stat().st_mtime_ns // 1_000_000})
        for kind, text in {"offsets": f'v1\n{{}}\n{{"logOffset":{number}}}', "commits": "v1"}.items():
            (opened / kind).mkdir(exist_ok=True)
            (opened / kind / str(number)).write_text(text)
    return opened


def layout(tmp_path: Path) -> StreamLayout:
    return StreamLayout(root=str(tmp_path / "staging"), owner=RUN.owner)


def arrived(tmp_path: Path, query: StreamQuery = QUERY, folder: str | None = None) -> bool:
    is_read = partial(is_folder_read, folder or str(tmp_path / "in"))
    return not nothing_arrived(STORE, layout(tmp_path), query, {"a": is_read})


def test_files_of_batches_are_those_of_the_log(checkpoint: Path, tmp_path: Path) -> None:
    assert offsets_of(STORE, str(checkpoint), 2) == ['{"logOffset":2}']
    assert offsets_of(STORE, str(checkpoint), -1) == []
    (checkpoint / "offsets/3").write_text("v1\n{}\n-")
    assert offsets_of(STORE, str(checkpoint), 3) == [None]
    ((path, _),) = files_of(STORE, f"{checkpoint}/sources/0", [1])
    assert path == f"file://{tmp_path}/in/1 é%.json"
    assert len(list(files_of(STORE, f"{checkpoint}/sources/0", [0, 1, 7]))) == 2


def test_the_watermark_of_a_batch_is_that_of_the_log(tmp_path: Path) -> None:
    (tmp_path / "offsets").mkdir()
    (tmp_path / "offsets/7").write_text('v1\n{"batchWatermarkMs":1700,"batchTimestampMs":1,"conf":{}}\n-')
    assert watermark_of(STORE, str(tmp_path), 7) == 1700
    assert watermark_of(STORE, str(tmp_path), -1) == 0
    with pytest.raises(CheckpointError, match="has no watermark of batch 6"):
        watermark_of(STORE, str(tmp_path), 6)
    several = '{"spark.sql.streaming.statefulOperator.allowMultiple":"false"}'
    (tmp_path / "offsets/8").write_text(f'v1\n{{"batchWatermarkMs":1,"conf":{several}}}\n-')
    with pytest.raises(CheckpointError, match="allowMultiple=false, and another watermark finds its late rows"):
        watermark_of(STORE, str(tmp_path), 8)


def test_a_compacted_log_has_all_before(tmp_path: Path) -> None:
    folder = tmp_path / "sources"
    for number in range(3):
        put(folder, number, {Path(f"/in/{number}"): number})
    put(folder, 3, {Path("/in/3"): 3}, compact={Path(f"/in/{number}"): (number, number) for number in range(3)})
    put(folder, 4, {Path("/in/4"): 4})
    assert sorted(all_files(STORE, str(folder))) == [(f"file:///in/{number}", number) for number in range(5)]
    assert list(files_of(STORE, str(folder), [3])) == [("file:///in/3", 3)]


def test_the_partitions_of_a_state_are_those_of_its_last_batch(checkpoint: Path) -> None:
    assert state_place(STORE, f"{checkpoint}/nowhere") == StatePlace()
    assert state_place(STORE, str(checkpoint)) == StatePlace(), "an odd form"
    (checkpoint / "offsets/2").write_text('v1\n{"conf":{"spark.sql.shuffle.partitions":"7"}}\n-')
    assert state_place(STORE, str(checkpoint)) == StatePlace(partitions=7)


@pytest.mark.usefixtures("checkpoint")
def test_nothing_has_arrived_if_all_files_were_read_as_they_are(tmp_path: Path) -> None:
    assert not arrived(tmp_path)
    (tmp_path / "in" / "_temporary").mkdir()
    (tmp_path / "in" / "_temporary" / "x.json").write_text("{}")
    (tmp_path / "in" / ".hidden").write_text("{}")
    (tmp_path / "in" / "0 é%.json").unlink()
    assert not arrived(tmp_path), "Spark reads no hidden files, and those that are gone were read"


def test_files_that_are_listed_and_in_no_batch_have_arrived(checkpoint: Path, tmp_path: Path) -> None:
    """The driver was killed before it began their batch."""
    file = tmp_path / "in" / "late.json"
    file.write_text("{}")
    put(checkpoint / "sources/0", 3, {file: file.stat().st_mtime_ns // 1_000_000})
    assert arrived(tmp_path)


@pytest.mark.parametrize("what", ["begins the next batch", "removes the checkpoint"])
def test_what_another_process_does_meanwhile_is_for_spark(checkpoint: Path, tmp_path: Path, what: str) -> None:
    file = tmp_path / "in" / "late.json"
    file.write_text("{}")

    class Meanwhile(LocalStore):
        def keys(self, folder: str) -> list[str]:
            found = super().keys(folder)
            if what == "begins the next batch" and folder.endswith("/commits"):
                put(checkpoint / "sources/0", 3, {file: file.stat().st_mtime_ns // 1_000_000})
                (checkpoint / "offsets/3").write_text('v1\n{}\n{"logOffset":3}')
            if what == "removes the checkpoint" and folder.endswith("/offsets"):
                shutil.rmtree(checkpoint)
            return found

    is_read = partial(is_folder_read, str(tmp_path / "in"))
    assert not nothing_arrived(Meanwhile(), layout(tmp_path), QUERY, {"a": is_read})


@pytest.mark.parametrize("kind", ["cannot be listed", "link to a folder", "link to nothing"])
def test_what_cannot_be_looked_at_is_for_spark(
    checkpoint: Path, tmp_path: Path, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert checkpoint.exists()
    below, scandir = tmp_path / "in" / "day=1", os.scandir
    if kind == "cannot be listed":
        below.mkdir()

        def denied(path: str) -> object:
            if str(path) == str(below):
                raise PermissionError(13, "denied", path)
            return scandir(path)

        monkeypatch.setattr(os, "scandir", denied)
    elif kind == "link to a folder":
        (tmp_path / "elsewhere").mkdir()
        below.symlink_to(tmp_path / "elsewhere")
    else:
        (tmp_path / "in" / "x.json").symlink_to(tmp_path / "nothing")
    assert arrived(tmp_path)


def arrive_below(folder: Path) -> None:
    (folder / "in" / "day=1").mkdir()
    (folder / "in" / "day=1" / "new.json").write_text("{}")


OTHER = StreamQuery(sources=(UnboundedSource(node_id=1, uid="b", name="b"),), state=(), updates=False)
CHANGES: dict[str, Callable[[Path, Path], object]] = {
    "a new file": lambda folder, _: (folder / "in" / "new.json").write_text("{}"),
    "a new file below": lambda folder, _: arrive_below(folder),
    "a rewritten file": lambda folder, _: os.utime(folder / "in" / "1 é%.json", (1, 1)),
    "a batch that is not committed": lambda _, checkpoint: (checkpoint / "commits/2").unlink(),
}


@pytest.mark.parametrize("change", CHANGES)
def test_what_is_new_is_for_spark(tmp_path: Path, checkpoint: Path, change: str) -> None:
    CHANGES[change](tmp_path, checkpoint)
    assert arrived(tmp_path)


@pytest.mark.usefixtures("checkpoint")
@pytest.mark.parametrize("query", [OTHER, replace(QUERY, updates=True)])
def test_another_query_is_for_spark(tmp_path: Path, query: StreamQuery) -> None:
    assert arrived(tmp_path, query)


@pytest.mark.usefixtures("checkpoint")
def test_a_savepoint_that_the_stream_has_not_begun_with_is_for_spark(tmp_path: Path) -> None:
    root, places = str(tmp_path / "staging"), {"a": partial(is_folder_read, str(tmp_path / "in"))}
    start = SavepointRestoreSettings(path=str(tmp_path / "saved"))
    assert nothing_arrived(STORE, layout(tmp_path), QUERY, places)
    assert not nothing_arrived(STORE, layout(tmp_path), QUERY, places, start)
    (stream,) = known_streams(STORE, root)
    take_savepoint(STORE, stream, None, start.path, 0.0)
    stream.reset(STORE)
    begin_with_savepoint(STORE, stream.layout, QUERY, start)
    assert nothing_arrived(STORE, layout(tmp_path), QUERY, places, start)
    assert not nothing_arrived(STORE, layout(tmp_path), QUERY, places, SavepointRestoreSettings(path="/other"))


@pytest.mark.usefixtures("checkpoint")
@pytest.mark.parametrize("folder", ["{}/i*", "{}/nowhere", "s3a://shop/in"])
def test_folders_that_are_not_here_are_for_spark(tmp_path: Path, folder: str) -> None:
    assert arrived(tmp_path, folder=folder.format(tmp_path))


def reading(checkpoint: Path, *uids: str) -> StreamQuery:
    """Let the query of the stream read sources in this order."""
    query = replace(QUERY, reads=uids)
    record = QueryRecord(version=VERSION, number=0, query=query)
    (checkpoint.parent / "queries/0.json").write_text(to_json(record))
    return query


def test_offsets_of_topics_are_those_of_the_read_that_has_less(checkpoint: Path, tmp_path: Path) -> None:
    query = reading(checkpoint, "b", "a", "a")
    lines = ["v1", "{}", '{"logOffset":2}', '{"a":{"0":7,"1":3}}', '{"a":{"0":5,"1":4},"b":{"0":0}}', "-"]
    (checkpoint / "offsets/2").write_text("\n".join(lines))
    known: list[ReadSoFar] = []

    def asks(found: ReadSoFar) -> bool:
        known.append(found)
        return True

    assert nothing_arrived(STORE, layout(tmp_path), query, {"a": asks, "b": lambda _: True})
    assert known[0].offsets == {"a": {0: 5, 1: 3}, "b": {0: 0}}


def test_what_one_source_has_read_is_not_read_by_another(checkpoint: Path, tmp_path: Path) -> None:
    """Both read one folder: a file may arrive between their listings, and each may have a limit of its own."""
    query = reading(checkpoint, "a", "b")
    is_read = partial(is_folder_read, str(tmp_path / "in"))
    folder = checkpoint / "sources/1"
    for number in range(3):
        (checkpoint / f"offsets/{number}").write_text(f'v1\n{{}}\n{{"logOffset":{number}}}\n{{"logOffset":{number}}}')
        assert not nothing_arrived(STORE, layout(tmp_path), query, {"a": is_read, "b": is_read})
        file = tmp_path / "in" / f"{number} é%.json"
        put(folder, number, {file: file.stat().st_mtime_ns // 1_000_000})
    assert nothing_arrived(STORE, layout(tmp_path), query, {"a": is_read, "b": is_read})


def test_a_folder_here_is_not_one_that_spark_reads_elsewhere(checkpoint: Path, tmp_path: Path) -> None:
    """A path without a scheme is that of `fs.defaultFS`; here, it may be an empty folder."""
    (tmp_path / "mounted").mkdir()
    folder = str(tmp_path / "mounted")
    for number in range(3):
        entry = {"path": f"hdfs://nn:8020{folder}/{number}.json", "timestamp": 1, "batchId": number}
        (checkpoint / "sources/0" / str(number)).write_text(f"v1\n{json.dumps(entry)}")
    assert arrived(tmp_path, folder=folder)


ENDED = replace(QUERY, state=(KeptState(operator_id=OperatorId("a" * 32), name="totals", fingerprint="f"),))
NOW = datetime(2024, 1, 1, tzinfo=UTC)


def begun(folder: Path, number: int, **notes: object) -> None:
    known = {"batchWatermarkMs": 50, "batchTimestampMs": 60, "conf": {"a": "b"}, **notes}
    (folder / "offsets" / str(number)).write_text(f'v1\n{json.dumps(known)}\n{{"logOffset":2}}\n-')


def test_a_flush_is_a_batch_without_rows_and_with_the_watermark(checkpoint: Path) -> None:
    begun(checkpoint, 2)
    assert begin_flush(STORE, str(checkpoint), 50, NOW) is None
    assert begin_flush(STORE, str(checkpoint), 51, NOW) == 3
    now = int(NOW.timestamp() * 1000)
    version, notes, *sources = (checkpoint / "offsets/3").read_text().splitlines()
    assert version == "v1"
    assert json.loads(notes) == {"batchWatermarkMs": 51, "batchTimestampMs": now, "conf": {"a": "b"}}
    assert sources == ['{"logOffset":2}', "-"]
    assert begin_flush(STORE, str(checkpoint), 52, NOW) is None, "batch 3 is not committed"


def test_the_time_of_a_flush_is_behind_that_of_the_batch_before(checkpoint: Path) -> None:
    later = int(NOW.timestamp() * 1000) + 5
    begun(checkpoint, 2, batchTimestampMs=later)
    assert begin_flush(STORE, str(checkpoint), 51, NOW) == 3
    assert time_of(STORE, str(checkpoint), 3) == NOW + timedelta(milliseconds=6)


def test_a_flush_without_a_batch_before_does_nothing(tmp_path: Path) -> None:
    assert begin_flush(STORE, str(tmp_path), 51, NOW) is None


def test_what_waits_for_the_watermark_is_for_spark(checkpoint: Path, tmp_path: Path) -> None:
    begun(checkpoint, 2)
    places = {"a": partial(is_folder_read, str(tmp_path / "in"))}
    assert nothing_arrived(STORE, layout(tmp_path), QUERY, places, until=50)
    assert not nothing_arrived(STORE, layout(tmp_path), QUERY, places, until=51)


def test_only_a_batch_with_something_new_is_refused_after_the_end(checkpoint: Path, tmp_path: Path) -> None:
    opened = Checkpoint.open(STORE, str(tmp_path / "staging"), RUN, "e2", QUERY)
    for watermark in (50, END_OF_TIME_MS):
        begun(checkpoint, 2, batchWatermarkMs=watermark)
        begun(checkpoint, 3, batchWatermarkMs=watermark)
        check_not_ended(opened, ENDED, 3)
    (checkpoint / "offsets/3").write_text('v1\n{}\n{"logOffset":3}\n-')
    check_not_ended(opened, QUERY, 3)
    with pytest.raises(CheckpointError, match="has ended the stream of 'a'"):
        check_not_ended(opened, ENDED, 3)
