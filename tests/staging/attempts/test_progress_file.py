"""The document that an execution's progress is kept in."""

import os
import threading
import time
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest

from graph_compiler.deployment.documents.progress import VERSION, CurrentStep, ExecutionProgress
from graph_compiler.deployment.documents.report import Phase
from graph_compiler.staging.attempts import progress_file
from graph_compiler.staging.attempts.attempt_documents import AttemptDocuments
from graph_compiler.staging.attempts.progress_file import writing_progress
from graph_compiler.staging.store.in_memory_store import InMemoryStore
from graph_compiler.staging.store.local_store import LocalStore
from tests.harness import waiting

wait_until = partial(waiting.wait_until, seconds=10)


def at(operator: str) -> ExecutionProgress:
    return ExecutionProgress(
        version=VERSION,
        application_id="local-1",
        ui_url="http://driver:4040",
        current=CurrentStep(operator=operator, phase=Phase.STAGE, since=1.0),
        vertices=(),
        actions=(),
    )


def test_the_document_has_the_latest_progress(tmp_path: Path) -> None:
    path = tmp_path / "progress.json"
    with writing_progress(AttemptDocuments(LocalStore(), str(tmp_path)), every=0.01) as put:
        for operator in ("flown", "lateness", "flown"):
            put(at(operator))
            wait_until(
                lambda operator=operator: (  # type: ignore[misc]  # its type is that of the loop
                    path.exists() and ExecutionProgress.from_json(path.read_text()) == at(operator)
                )
            )
    assert [one.name for one in tmp_path.iterdir()] == ["progress.json"]
    assert path.stat().st_mode & 0o777 == 0o600


def test_frequent_updates_are_written_once_and_none_are_lost(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path, replaced = tmp_path / "progress.json", list[str]()
    replace = os.replace

    def counted(source: str, target: Path) -> None:
        replaced.append(str(target))
        replace(source, target)

    monkeypatch.setattr(os, "replace", counted)
    with writing_progress(AttemptDocuments(LocalStore(), str(tmp_path)), every=0.05) as put:
        time.sleep(0.2)
        assert replaced == []
        begun = time.monotonic()
        for number in range(1000):
            put(at(f"operator {number}"))
        wait_until(lambda: path.exists() and ExecutionProgress.from_json(path.read_text()) == at("operator 999"))
        looks = (time.monotonic() - begun) / 0.05  # on a busy machine the thread looks more than once
    assert 1 <= len(replaced) <= looks + 1


def test_an_unwritable_folder_is_logged_once_and_is_not_a_failure(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file").touch()
    with writing_progress(AttemptDocuments(LocalStore(), f"{tmp_path}/file"), every=0.01) as put:
        put(at("flown"))
        wait_until(lambda: not any(thread.name == "progress" for thread in threading.enumerate()))
        put(at("lateness"))
    assert capsys.readouterr().err.count("graph_compiler: progress is no longer reported: ") == 1


def test_a_failed_rename_leaves_no_file(tmp_path: Path) -> None:
    path = tmp_path / "progress.json"
    path.mkdir()
    with writing_progress(AttemptDocuments(LocalStore(), str(tmp_path)), every=0.01) as put:
        put(at("flown"))
        time.sleep(0.2)
    assert [one.name for one in tmp_path.iterdir()] == ["progress.json"]


def test_slow_writes_are_made_rarely(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    begun = list[float]()

    def slow(_source: str, _target: Path) -> None:
        begun.append(time.monotonic())
        time.sleep(0.02)

    monkeypatch.setattr(os, "replace", slow)
    with writing_progress(AttemptDocuments(LocalStore(), str(tmp_path)), every=0.01) as put:
        put(at("flown"))
        wait_until(lambda: len(begun) == 1)
        put(at("lateness"))
        wait_until(lambda: len(begun) == 2)
    assert begun[1] - begun[0] >= 0.4


def test_a_hanging_write_does_not_block(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    hangs = list[float]()

    def hang(_source: str, _target: Path) -> None:
        hangs.append(time.monotonic())
        time.sleep(3)

    monkeypatch.setattr(os, "replace", hang)
    with writing_progress(AttemptDocuments(LocalStore(), str(tmp_path)), every=0.01) as put:
        put(at("flown"))
        wait_until(lambda: bool(hangs))
        put(at("lateness"))
    assert time.monotonic() - hangs[0] < 2


def test_it_is_rarer_in_an_object_store(monkeypatch: pytest.MonkeyPatch) -> None:
    store = InMemoryStore()
    store.promises = replace(store.promises, atomic_move=False)
    monkeypatch.setattr(progress_file, "EVERY", 0.01)
    with writing_progress(AttemptDocuments(store, "e1")) as put:
        put(at("flown"))
        time.sleep(0.2)
    assert store.content == {}
    store.promises = replace(store.promises, atomic_move=True)
    with writing_progress(AttemptDocuments(store, "e1")) as put:
        put(at("flown"))
        wait_until(lambda: "e1/progress.json" in store.content)
