"""Ask tables in a process of its own, which ends soon whatever a catalog does.

python -m graph_compiler.lake_metadata.table_process < TablesWanted   →   a line for each table, once it answers

Tables of one catalog are asked one after the other, those of different catalogs at the same time. If no answer comes
for some seconds, those that are left did not answer. Secrets come with the question, so they are in no argument and in
no variable, and they are removed from what libraries say. pyiceberg and deltalake are optional, and only imported here.
"""

from __future__ import annotations

import importlib
import json
import os
import signal
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from queue import Empty, Queue
from threading import Thread
from typing import Any

from graph_compiler.declaration.connectors.connector import Connector
from graph_compiler.declaration.connectors.delta import Delta
from graph_compiler.declaration.connectors.iceberg import Iceberg
from graph_compiler.declaration.connectors.secret import without_values
from graph_compiler.deployment.documents.wire import from_json, to_json, to_wire
from graph_compiler.errors import DescriptorError
from graph_compiler.lake_metadata.table_state import NotAskedError, NotLookedAt, TableAnswer, TableWanted

PATIENCE = 10
"""Seconds without an answer, after which no more is waited for."""
_SECONDS_TO_START = 60
_MOST_WORDS = 300
"""Maximum characters of what a library says."""
_HALVES = {Iceberg: "iceberg_metadata", Delta: "delta_metadata"}
"""The module that asks the tables of each connector: it imports a package that is optional."""
INSTALLED_BY: Mapping[type[Connector], str] = {
    Iceberg: "pip install 'pyiceberg[pyarrow,sql-postgres]>=0.12'",
    Delta: "pip install 'deltalake>=1.6'",
}
"""The cure for a missing package, as in the package's extras."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TablesWanted:
    """Tables, and the values of secrets, which no answer contains."""

    tables: tuple[TableWanted, ...]
    secrets: tuple[str, ...] = ()

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.tables!r})"


@dataclass(frozen=True, slots=True, kw_only=True)
class NumberedAnswer:
    """The answer for a table, by its place in the question."""

    number: int
    answer: TableAnswer


def ask_tables(
    wanted: Sequence[TableWanted], secrets: Iterable[str], environment: Mapping[str, str]
) -> list[TableAnswer]:
    """Return the answer for each table: another process asks them."""
    if not wanted:
        return []
    question = to_json(TablesWanted(tables=tuple(wanted), secrets=tuple(sorted(secrets))))
    done = subprocess.run(
        [sys.executable, "-m", __name__],
        input=question,
        env=dict(environment),
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,  # pyiceberg logs there
        text=True,
        check=False,
    )
    found = {each.number: each.answer for each in _complete(done.stdout)}
    ended = NotLookedAt(
        _no_answer() if done.returncode == -signal.SIGALRM else f"the process that asks it ended with {done.returncode}"
    )
    return [found.get(number, ended) for number in range(len(wanted))]


def _complete(output: str) -> Iterator[NumberedAnswer]:
    """Yield the answers of a process; the last line is not complete if it was ended."""
    for line in output.splitlines():
        try:
            yield from_json(NumberedAnswer, line)
        except (ValueError, DescriptorError):
            return


def _no_answer() -> str:
    return f"it did not answer within {PATIENCE} s"


def main() -> None:
    """Answer one question."""
    signal.alarm(_SECONDS_TO_START)  # also ends a process in which a library holds Python's lock
    wanted = from_json(TablesWanted, sys.stdin.buffer.read())
    left = dict(enumerate(wanted.tables))
    answers: Queue[NumberedAnswer] = Queue()
    for number, why in _without_package(left):
        answers.put(NumberedAnswer(number=number, answer=NotLookedAt(why)))
    for group in _groups(left):
        Thread(target=_ask, args=(group, wanted.secrets, answers), daemon=True).start()
    while left:
        signal.alarm(PATIENCE + 1)
        try:
            answer = answers.get(timeout=PATIENCE)
        except Empty:
            answer = NumberedAnswer(number=min(left), answer=NotLookedAt(_no_answer()))
            answers = Queue()  # nothing more is waited for
            for number in sorted(left)[1:]:
                answers.put(NumberedAnswer(number=number, answer=NotLookedAt(_no_answer())))
        if left.pop(answer.number, None) is not None:
            sys.stdout.write(json.dumps(to_wire(answer)) + "\n")
            sys.stdout.flush()
    os._exit(0)  # threads that still wait for a catalog are left


def _without_package(tables: Mapping[int, TableWanted]) -> Iterator[tuple[int, str]]:
    """Import what the formats need; yield the tables for which something is missing, and the cure."""
    for number, table in tables.items():
        try:
            _half(table.connector)
        except ImportError as error:
            yield number, _missing(error, table.connector)


def _half(connector: Connector) -> Any:
    """Return the module that asks the tables of a connector; raises ImportError."""
    return importlib.import_module(f"{__package__}.{_HALVES[type(connector)]}")


def _missing(error: ImportError, connector: Connector) -> str:
    return f"there is no {error.name or error} here: {INSTALLED_BY[type(connector)]}"


def _groups(tables: Mapping[int, TableWanted]) -> Iterable[Sequence[tuple[int, TableWanted]]]:
    """Return the tables of each catalog, and of each part of a path below which tables of Delta are."""
    groups: dict[object, list[tuple[int, TableWanted]]] = defaultdict(list)
    for number, table in tables.items():
        connector = table.connector
        key = connector.catalog_name if isinstance(connector, Iceberg) else str(connector.place).split("/")[:2]
        groups[type(connector), str(key), table.properties].append((number, table))
    return groups.values()


def _ask(tables: Sequence[tuple[int, TableWanted]], secrets: Sequence[str], answers: Queue[NumberedAnswer]) -> None:
    for number, table in tables:
        answers.put(NumberedAnswer(number=number, answer=answer_of(table, secrets)))


def answer_of(table: TableWanted, secrets: Sequence[str]) -> TableAnswer:
    """Ask one table; what a library says becomes the reason why it was not looked at, without secrets."""
    try:
        found: TableAnswer = _half(table.connector).state_of(table.connector, dict(table.properties))
        return found
    except NotAskedError as error:
        return NotLookedAt(without_values(str(error), secrets))
    except ImportError as error:  # of a package that a catalog, or the place of its files, needs
        return NotLookedAt(_missing(error, table.connector))
    except Exception as error:  # libraries raise whatever their own libraries raise
        kind, said = type(error).__name__, str(error).strip()
        return NotLookedAt(_one_line(said if said.startswith(kind) else f"{kind}: {said}", secrets))


def _one_line(said: str, secrets: Sequence[str]) -> str:
    """Return the first line of what a library says, without secrets: they are removed before it is shortened."""
    lines = (" ".join(line.split()) for line in without_values(said, secrets).splitlines())
    line = next(filter(None, lines), "")
    return line if len(line) <= _MOST_WORDS else f"{line[:_MOST_WORDS]}…"


if __name__ == "__main__":
    main()
