"""The document that an execution's progress is kept in."""

import os
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from graph_compiler.deployment.documents.progress import VERSION, CurrentStep, ExecutionProgress
from graph_compiler.deployment.documents.report import Phase
from graph_compiler.staging.executions.progress_file import told_in
from graph_compiler.staging.store.local_store import LocalStore


def at(operator: str) -> ExecutionProgress:
    return ExecutionProgress(
        version=VERSION,
        application_id="local-1",
        ui_url="http://driver:4040",
        current=CurrentStep(operator=operator, phase=Phase.STAGE, since=1.0),
        vertices=(),
        actions=(),
    )


def wait_until(condition: Callable[[], bool]) -> None:
    until = time.monotonic() + 10
    while not condition():
        assert time.monotonic() < until, "waited for ten seconds"
        time.sleep(0.01)


def test_what_was_told_last_is_in_the_document(tmp_path: Path) -> None:
    path = tmp_path / "progress.json"
    with told_in(LocalStore(), str(path), every=0.01) as tell:
        for operator in ("flown", "lateness", "flown"):
            tell(at(operator))
            wait_until(
                lambda operator=operator: (  # type: ignore[misc]  # its type is that of the loop
                    path.exists() and ExecutionProgress.from_json(path.read_text()) == at(operator)
                )
            )
    assert [one.name for one in tmp_path.iterdir()] == ["progress.json"]
    assert path.stat().st_mode & 0o777 == 0o600


def test_much_that_is_told_at_once_is_written_once_and_nothing_is_not_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, replaced = tmp_path / "progress.json", list[str]()
    replace = os.replace

    def counted(source: str, target: Path) -> None:
        replaced.append(str(target))
        replace(source, target)

    monkeypatch.setattr(os, "replace", counted)
    with told_in(LocalStore(), str(path), every=0.05) as tell:
        time.sleep(0.2)
        assert replaced == []
        for number in range(1000):
            tell(at(f"operator {number}"))
        wait_until(path.exists)
        time.sleep(0.2)
    assert len(replaced) <= 2  # where the thread came in between
    assert ExecutionProgress.from_json(path.read_text()) == at("operator 999")


def test_a_folder_that_cannot_be_written_to_is_said_once_and_fails_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file").touch()
    with told_in(LocalStore(), str(tmp_path / "file" / "progress.json"), every=0.01) as tell:
        for operator in ("flown", "lateness"):
            tell(at(operator))
            time.sleep(0.2)
    assert capsys.readouterr().err.count("graph_compiler: progress is no longer reported: ") == 1


def test_a_document_that_cannot_take_its_name_leaves_nothing(tmp_path: Path) -> None:
    path = tmp_path / "progress.json"
    path.mkdir()
    with told_in(LocalStore(), str(path), every=0.01) as tell:
        tell(at("flown"))
        time.sleep(0.2)
    assert [one.name for one in tmp_path.iterdir()] == ["progress.json"]


def test_what_takes_long_to_write_is_written_rarely(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun = list[float]()

    def slow(_source: str, _target: Path) -> None:
        begun.append(time.monotonic())
        time.sleep(0.02)

    monkeypatch.setattr(os, "replace", slow)
    with told_in(LocalStore(), str(tmp_path / "progress.json"), every=0.01) as tell:
        tell(at("flown"))
        wait_until(lambda: len(begun) == 1)
        tell(at("lateness"))
        wait_until(lambda: len(begun) == 2)
    assert begun[1] - begun[0] >= 0.4


def test_what_hangs_in_a_write_is_not_waited_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hangs = list[float]()

    def hang(_source: str, _target: Path) -> None:
        hangs.append(time.monotonic())
        time.sleep(3)

    monkeypatch.setattr(os, "replace", hang)
    with told_in(LocalStore(), str(tmp_path / "progress.json"), every=0.01) as tell:
        tell(at("flown"))
        wait_until(lambda: bool(hangs))
        tell(at("lateness"))
    assert time.monotonic() - hangs[0] < 2
