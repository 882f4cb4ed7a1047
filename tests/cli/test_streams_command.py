"""`streams`: the checkpoints below a staging root, and a reset, which says what is read again."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from graph_compiler.cli.app import app
from graph_compiler.deployment.documents.run_identity import RunIdentity
from graph_compiler.deployment.documents.stream import StreamQuery, UnboundedSource
from graph_compiler.staging.store.local_store import LocalStore
from graph_compiler.staging.streams.checkpoint import Checkpoint, CheckpointTakenError

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


def test_an_unknown_stream_is_refused_with_those_that_exist(checkpoint: Checkpoint) -> None:
    done = streams("reset", "words", "other", "--yes")
    assert done.exit_code == 2
    assert "found: words lines" in done.stderr
    checkpoint.check()
