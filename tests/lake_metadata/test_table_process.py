"""The process that asks tables: it ends, whatever a library does, and shows no secret."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Mapping
from io import BytesIO
from pathlib import Path
from threading import Event
from types import SimpleNamespace

import pytest

from graph_compiler import Delta, Iceberg
from graph_compiler.declaration.connectors import Connector
from graph_compiler.deployment.documents.wire import to_json
from graph_compiler.lake_metadata import table_process
from graph_compiler.lake_metadata.table_process import INSTALLED_BY, TablesWanted, answer_of, ask_tables
from graph_compiler.lake_metadata.table_state import NoTable, NotAskedError, NotLookedAt, TableAnswer, TableWanted

ROOT = Path(__file__).parents[2]
SECRET = "p@ss/w rd"
TABLE = TableWanted(connector=Iceberg("lake.db.sold"), properties=(("jdbc.password", SECRET),))
FAKE = """
import sys, time, types
from graph_compiler.lake_metadata import table_process
from graph_compiler.lake_metadata.table_state import NoTable

def state_of(connector, properties):
    if connector.place == "/slow":
        time.sleep(600)
    if connector.place == "/dies":
        import os; os.kill(os.getpid(), 9)
    return NoTable()

table_process.PATIENCE = 1
table_process._half = lambda connector: types.SimpleNamespace(state_of=state_of)
table_process.main()
"""


def environment(*folders: Path) -> Mapping[str, str]:
    return {**os.environ, "PYTHONPATH": os.pathsep.join(map(str, (*folders, ROOT / "plugins", ROOT)))}


def test_answers_that_are_there_are_given_before_one_that_never_comes() -> None:
    tables = (TableWanted(connector=Delta("/slow")), TableWanted(connector=Delta("/there")))
    done = subprocess.run(
        [sys.executable, "-c", FAKE],
        input=to_json(TablesWanted(tables=tables)),
        env=environment(),
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    answers = {each["number"]: each["answer"] for each in map(json.loads, done.stdout.splitlines())}
    assert answers == {0: {"type": "NotLookedAt", "why": "it did not answer within 1 s"}, 1: {"type": "NoTable"}}


def test_each_table_has_one_answer_and_those_of_a_silent_catalog_are_not_waited_for(
    monkeypatch: pytest.MonkeyPatch, capsysbinary: pytest.CaptureFixture[bytes]
) -> None:
    """In this process: what ends it, and what ends one in which a library hangs, is left out."""
    silent = Event()

    def half(connector: Connector) -> object:
        if isinstance(connector, Iceberg):
            raise ModuleNotFoundError("no", name="pyiceberg")

        def state_of(connector: Connector, properties: Mapping[str, str]) -> TableAnswer:  # noqa: ARG001
            if "slow" in str(connector.place):
                silent.wait(60)
            return NoTable()

        return SimpleNamespace(state_of=state_of)

    ended, alarms = list[int](), list[int]()
    places = ("/slow/a", "/there/b", "/slow/c")
    tables = (*(TableWanted(connector=Delta(place)) for place in places), TABLE)
    question = to_json(TablesWanted(tables=tables)).encode()
    monkeypatch.setattr(table_process, "_half", half)
    monkeypatch.setattr(table_process, "PATIENCE", 1)
    monkeypatch.setattr(os, "_exit", ended.append)
    monkeypatch.setattr(signal, "alarm", alarms.append)
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=BytesIO(question)))
    table_process.main()
    silent.set()
    found = [json.loads(line) for line in capsysbinary.readouterr().out.splitlines()]
    late = {"type": "NotLookedAt", "why": "it did not answer within 1 s"}
    assert sorted(each["number"] for each in found) == [0, 1, 2, 3]
    assert {each["number"]: each["answer"] for each in found} == {
        0: late,
        1: {"type": "NoTable"},
        2: late,
        3: {"type": "NotLookedAt", "why": f"there is no pyiceberg here: {INSTALLED_BY[Iceberg]}"},
    }
    assert (ended, set(alarms[1:])) == ([0], {2})


@pytest.mark.parametrize(
    ("dies", "why"),
    [("os.kill(os.getpid(), signal.SIGALRM)", "it did not answer within 10 s"), ("os._exit(3)", "ended with 3")],
)
def test_a_process_that_dies_leaves_the_answers_that_it_has_written(dies: str, why: str, tmp_path: Path) -> None:
    """The last line may be incomplete."""
    lines = '{"type": "NumberedAnswer", "number": 1, "answer": {"type": "NoTable"}}\\n{"type": "Numb'
    code = f"import os, signal, sys\nsys.stdout.write('{lines}')\nsys.stdout.flush()\n{dies}\n"
    (tmp_path / "deltalake.py").write_text(code)
    answers = ask_tables(
        [TableWanted(connector=Delta("/a")), TableWanted(connector=Delta("/b"))], [], environment(tmp_path)
    )
    assert isinstance(answers[0], NotLookedAt)
    assert answers[0].why.endswith(why)
    assert answers[1] == NoTable()


def test_a_package_that_is_missing_is_a_reason_with_its_cure(tmp_path: Path) -> None:
    for package in ("deltalake", "pyiceberg"):
        (tmp_path / f"{package}.py").write_text(f"raise ModuleNotFoundError('gone', name='{package}')\n")
    tables = [TableWanted(connector=Delta("/a")), TABLE, TableWanted(connector=Delta("/b"))]
    delta = NotLookedAt(f"there is no deltalake here: {INSTALLED_BY[Delta]}")
    iceberg = NotLookedAt(f"there is no pyiceberg here: {INSTALLED_BY[Iceberg]}")
    assert ask_tables(tables, [SECRET], environment(tmp_path)) == [delta, iceberg, delta]
    assert ask_tables([], [], {}) == []


def test_the_cures_are_the_extras_of_the_package() -> None:
    extras = (ROOT / "pyproject.toml").read_text()
    for cure in INSTALLED_BY.values():
        assert cure.replace("pip install ", "").replace("'", '"') in extras


def fails_with(error: Exception) -> Callable[[Connector], object]:
    def state_of(connector: Connector, properties: Mapping[str, str]) -> TableAnswer:
        assert (connector, properties) == (TABLE.connector, dict(TABLE.properties))
        raise error

    return lambda _: SimpleNamespace(state_of=state_of)


@pytest.mark.parametrize(
    ("error", "why"),
    [
        (OSError(f"no route to etl:{SECRET}@db\nmore"), "OSError: no route to etl:***@db"),
        (ValueError("\n\n  bad   url p%40ss%2Fw%20rd"), "ValueError: bad url ***"),
        (KeyError(f"x{SECRET}"), "KeyError: 'x***'"),
        (RuntimeError("x" * 290 + SECRET), f"RuntimeError: {'x' * 286}…"),
        (NotAskedError(f"its uri {SECRET} is odd"), "its uri *** is odd"),
        (ModuleNotFoundError("no", name="psycopg2"), f"there is no psycopg2 here: {INSTALLED_BY[Iceberg]}"),
    ],
)
def test_what_a_library_says_is_one_line_without_secrets(
    error: Exception, why: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(table_process, "_half", fails_with(error))
    assert answer_of(TABLE, [SECRET]) == NotLookedAt(why)


def test_a_question_is_not_shown_with_its_secrets() -> None:
    assert SECRET not in repr(TABLE) + repr(TablesWanted(tables=(TABLE,), secrets=(SECRET,)))
