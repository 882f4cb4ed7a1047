"""`streams`: the checkpoints below a staging root, and a reset, which says what is read again."""

import getpass
import json
import os
import re
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from graph_compiler.cli.app import app
from graph_compiler.cli.running import in_process_run
from graph_compiler.cli.running.stream_lines import StreamLines
from graph_compiler.deployment.documents.descriptor import TaskDeploymentDescriptor
from graph_compiler.deployment.documents.heartbeat import VERSION as HEARTBEAT
from graph_compiler.deployment.documents.heartbeat import StreamEnd, StreamHeartbeat
from graph_compiler.deployment.documents.run_identity import RunIdentity
from graph_compiler.deployment.documents.staging_layout import StagingLayout
from graph_compiler.deployment.documents.stream import (
    PublishedBatch,
    SavepointRestoreSettings,
    StreamProgress,
    StreamQuery,
    UnboundedSource,
)
from graph_compiler.staging.store.local_store import LocalStore
from graph_compiler.staging.streams.checkpoint import Checkpoint, CheckpointTakenError
from graph_compiler.staging.streams.heartbeats import StreamTurn
from tests.cli.conftest import forget_pipelines
from tests.harness.staging_trees import decide

QUERY = StreamQuery(sources=(UnboundedSource(node_id=1, uid="lines", name="lines"),), state=(), updates=False)


@pytest.fixture
def checkpoint(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Checkpoint:
    """Return that of a stream with two batches."""
    monkeypatch.chdir(tmp_path)
    root = str(tmp_path / "staging")
    monkeypatch.setenv("AIRFLOW_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("AIRFLOW__GRAPH_COMPILER__STAGING_ROOT", root)
    opened = Checkpoint.open(LocalStore(), root, RunIdentity.own("words", "monday"), "e1", QUERY)
    for number in range(2):
        LocalStore().put_if_absent(f"{opened.folder}/commits/{number}", b"v1")
    return opened


def streams(*words: str, answer: str = "y\n") -> Result:
    return CliRunner().invoke(app, ["streams", *words], input=answer)


def test_streams_are_listed(checkpoint: Checkpoint) -> None:
    done = streams("list")
    assert done.exit_code == 0, done.output
    assert "words lines\n        2 batches, last run monday\n1 stream in" in done.stdout
    (row,) = json.loads(streams("list", "--json").stdout)
    assert row == {
        "pipeline": "words",
        "sources": ["lines"],
        "stream": checkpoint.stream_id,
        "batches": 2,
        "last_run": "monday",
        "heartbeat": None,
        "savepoints": [],
    }
    assert json.loads(streams("list", "other", "--json").stdout) == []


def test_a_reset_asks_and_then_the_next_run_begins_another_stream(checkpoint: Checkpoint) -> None:
    refused = streams("reset", "words", "lines", answer="n\n")
    assert refused.exit_code == 1
    assert "the next run reads again what lines had in 2 batches" in refused.stdout
    checkpoint.check()
    done = streams("reset", "words", "lines")
    assert done.exit_code == 0, done.output
    assert "the stream of lines is reset" in done.stdout
    assert not Path(checkpoint.folder).exists()
    with pytest.raises(CheckpointTakenError):
        checkpoint.check()
    root = checkpoint.layout.root
    again = Checkpoint.open(LocalStore(), root, RunIdentity.own("words", "tuesday"), "e2", QUERY)
    assert again.stream_id != checkpoint.stream_id


def test_a_reset_is_refused_before_it_asks_while_a_batch_is_decided_only(checkpoint: Checkpoint) -> None:
    run = StagingLayout(root=checkpoint.layout.root, identity=RunIdentity.own("words", "monday"))
    decide(run, "/out", batch=f"{checkpoint.stream_id}/2@d")
    refused = streams("reset", "words", "lines")
    assert refused.exit_code == 2
    assert "batch 2 is decided for /out, and not carried out" in refused.stderr
    assert "reads again" not in refused.output
    checkpoint.check()


def test_a_savepoint_is_a_copy_of_a_checkpoint(checkpoint: Checkpoint, tmp_path: Path) -> None:
    for number in range(2):
        LocalStore().put_if_absent(f"{checkpoint.folder}/offsets/{number}", b"v1")
    done = streams("savepoint", "words", "lines", "--to", "saved", "--json")
    assert done.exit_code == 0, done.output
    saved = json.loads(done.stdout)
    assert (saved["path"], saved["batch"], saved["sources"]) == (str(tmp_path / "saved"), 1, ["lines"])
    assert (tmp_path / "saved" / "checkpoint" / "commits" / "1").read_bytes() == b"v1"
    assert "behind batch" not in streams("list").stdout, "only those below the staging root are known"
    done = streams("savepoint", "words", "lines")
    assert "behind batch 1 of lines, 4 files, 8 bytes" in done.stdout
    assert f"words {done.stdout}" in streams("list").stdout
    (row,) = json.loads(streams("list", "--json").stdout)
    assert [each["batch"] for each in row["savepoints"]] == [1]
    again = streams("savepoint", "words", "lines", "--to", "saved")
    assert again.exit_code == 2
    assert "is not empty" in again.stderr


def test_a_savepoint_of_a_batch_in_progress_is_refused(checkpoint: Checkpoint) -> None:
    LocalStore().put_if_absent(f"{checkpoint.folder}/offsets/2", b"v1")
    done = streams("savepoint", "words", "lines")
    assert done.exit_code == 2
    assert "batch 2 is begun, and not committed" in done.stderr
    assert "hint: run 'words' once more, and then take the savepoint" in done.stderr


PIPELINE = """from graph_compiler import Parquet, StreamExecutionEnvironment, Text
env = StreamExecutionEnvironment("words", config={"execution.runtime-mode": "AUTOMATIC"})
lines = env.from_source(Text("/in/lines"), "lines", unbounded=True).uid("lines")
lines.sink_to(Parquet("/out/lines"), mode="append")
"""
SECOND = """others = env.from_source(Text("/in/others"), "others", unbounded=True).uid("others")
others.sink_to(Parquet("/out/others"), mode="append").name("others")
"""


class StartedError(Exception):
    """A run would start now."""


def test_a_run_asks_for_the_savepoint_that_its_stream_begins_with(
    checkpoint: Checkpoint, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(2):
        LocalStore().put_if_absent(f"{checkpoint.folder}/offsets/{number}", b"v1")
    (project / "pipelines" / "words.py").write_text(PIPELINE)
    streams("savepoint", "words", "lines", "--to", "saved")
    asked: list[SavepointRestoreSettings | None] = []

    def starts(task: TaskDeploymentDescriptor, *_: object) -> None:
        asked.append(task.region.savepoint)
        raise StartedError

    monkeypatch.setattr(in_process_run, "put_artifacts", lambda _, task: starts(task))
    run = ["run", "words", "--in-process", "--from-savepoint", "saved"]
    assert isinstance(CliRunner().invoke(app, run).exception, StartedError)
    assert isinstance(CliRunner().invoke(app, [*run, "--allow-non-restored-state"]).exception, StartedError)
    saved = SavepointRestoreSettings(path=str(Path("saved").absolute()))
    assert asked == [saved, replace(saved, allow_non_restored_state=True)]
    (project / "pipelines" / "words.py").write_text(PIPELINE + SECOND)
    forget_pipelines()
    assert "pipeline 'words' has 2 streams" in CliRunner().invoke(app, run).stderr


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ("--allow-non-restored-state", "--allow-non-restored-state needs --from-savepoint PATH"),
        ("--from-savepoint x --until kept", "--until writes no sink, and --from-savepoint begins a stream"),
        ("--from-savepoint ftp://x/y", "'ftp://x/y'"),
    ],
)
def test_options_that_do_not_go_together(arguments: str, words: str) -> None:
    done = CliRunner().invoke(app, ["run", "words", *arguments.split()], env={"COLUMNS": "200", "TERM": "dumb"})
    assert done.exit_code == 2
    assert words in done.stderr


def test_an_unknown_stream_is_refused_with_those_that_exist(checkpoint: Checkpoint) -> None:
    done = streams("reset", "words", "other", "--yes")
    assert done.exit_code == 2
    assert "found: words lines" in done.stderr
    checkpoint.check()


def begun(checkpoint: Checkpoint, **more: Any) -> StreamTurn:
    """Let the driver of the checkpoint give a sign of life."""
    turn = StreamTurn(
        store=LocalStore(), layout=checkpoint.layout, stream_id=checkpoint.stream_id, number=checkpoint.turn
    )
    now = time.time()
    alive = StreamHeartbeat(
        version=HEARTBEAT,
        execution_id="e1",
        run_id="monday",
        began=now - 60,
        written=now,
        interval_seconds=10.0,
        batch=None,
        batch_began=None,
        batches=(PublishedBatch(number=1, rows=3, seconds=0.5),),
        published=now - 3,
    )
    turn.put(replace(alive, **more))
    return turn


def test_a_list_says_what_a_driver_does(checkpoint: Checkpoint) -> None:
    def listed() -> str:
        return re.sub(r"\d+ s\b", "N s", streams("list").stdout)

    begun(checkpoint)
    assert "running for N s, batch 1 N s ago" in listed()
    begun(checkpoint, batch=2, batch_began=time.time() - 300)
    assert "running for N s, in batch 2 for 5 min, batch 1 N s ago" in listed()
    begun(checkpoint, batch=2, written=time.time() - 125)
    assert "no sign of life for 2 min, in batch 2" in listed()
    begun(checkpoint, end=StreamEnd.REQUESTED, written=time.time() - 30)
    assert "ended N s ago: it was asked to stop" in listed()
    (row,) = json.loads(streams("list", "--json").stdout)
    assert row["heartbeat"]["end"] == "REQUESTED"


def test_a_driver_is_asked_to_stop(checkpoint: Checkpoint) -> None:
    refused = streams("stop", "words", "lines")
    assert refused.exit_code != 0
    assert "no driver of the stream of 'lines' of 'words' is running" in refused.output
    turn = begun(checkpoint)
    done = streams("stop", "words", "lines")
    assert done.exit_code == 0, done.output
    assert "run monday is asked to end behind the batch in progress" in done.stdout
    assert turn.stop_request() is not None
    assert json.loads(streams("stop", "words", "lines", "--json").stdout)["run_id"] == "monday"
    begun(checkpoint, end=StreamEnd.REQUESTED)
    assert streams("stop", "words", "lines").exit_code != 0


def test_a_user_without_a_name_may_stop_a_driver(checkpoint: Checkpoint, monkeypatch: pytest.MonkeyPatch) -> None:
    """A container may run as a user that its /etc/passwd does not have."""

    def nobody() -> str:
        raise KeyError("getpwuid(): uid not found: 50000")

    monkeypatch.setattr(getpass, "getuser", nobody)
    turn = begun(checkpoint)
    assert streams("stop", "words", "lines").exit_code == 0
    request = turn.stop_request()
    assert request is not None
    assert request.by == f"user {os.getuid()}"


def test_each_batch_is_one_line_and_ctrl_c_asks(checkpoint: Checkpoint) -> None:
    lines = StreamLines(LocalStore(), checkpoint.layout, QUERY, time.time() - 100)
    assert (list(lines.new()), lines.request_stop()) == ([], False)
    progress = StreamProgress(state_rows=None, state_bytes=None, watermark="2024-01-01T00:00:00Z", behind=2, waited=65)
    batches = [PublishedBatch(number=number, rows=3, seconds=0.5) for number in range(3)]
    turn = begun(checkpoint, batches=tuple(batches[:2]))
    assert list(lines.new()) == ["batch 0: 3 rows in 0.5 s"], "the last one waits for what Spark reports"
    begun(checkpoint, batches=(*batches[:2], replace(batches[2], progress=progress)))
    where = "watermark 2024-01-01T00:00:00Z, 2 records behind, oldest file waited 65 s"
    assert list(lines.new()) == ["batch 1: 3 rows in 0.5 s", f"batch 2: 3 rows in 0.5 s, {where}"]
    assert list(lines.new()) == []
    assert lines.request_stop()
    assert turn.stop_request() is not None
    begun(checkpoint, began=time.time() - 200)
    assert not lines.request_stop(), "an earlier driver is not this command's"
