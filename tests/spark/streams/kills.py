"""Kill and stop drivers of streams, really: `python -m tests.spark.streams.kills --cases 60 --seed 1`.

A command, not a test: a case takes half a minute. A driver of its own process dies, or sleeps, at a point of a batch.
More files arrive, the next driver follows, and a sleeper wakes up. In the end, all that was published has to be what a
batch job over all files would have published: rows once, totals exact.
"""

import argparse
import json
import os
import random
import shutil
import signal
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import duckdb

from tests.harness.driver_processes import Driver, wait_until_stopped
from tests.harness.kafka_broker import Broker, running_broker
from tests.harness.position_runs import write
from tests.harness.postgres import PASSWORD, Postgres, running_postgres
from tests.harness.savepoints import save_and_reset
from tests.spark.streams.one_stream import AT_ANY_TIME, LAKE_KINDS, POINTS

KINDS = ("windows", "totals", "postgres", *LAKE_KINDS)
MODULE = "tests.spark.streams.one_stream"
BEGIN = datetime(2024, 1, 1, tzinfo=UTC)
Rows = list[tuple[int, str, int, int]]
"""Id, word, minute, number."""
Published = Mapping[str, list[tuple[Any, ...]]]
"""What a target of a name has."""


@dataclass(frozen=True, kw_only=True)
class Case:
    """A driver that is killed or stopped at a point of its first or second batch."""

    number: int
    kind: str
    point: str
    when: str
    signal: str
    files: int
    is_moved: bool

    @property
    def id(self) -> str:
        moved = ", with moved states" if self.is_moved else ""
        return f"{self.kind} {self.signal} {self.when} {self.point}, {self.files} files{moved}"


def cases(seed: int, count: int, kinds: Sequence[str], *, are_moved: bool = False) -> Iterator[Case]:
    """Return cases: each kind and point in turn, the rest by chance."""
    chance = random.Random(seed)
    points = list(POINTS if are_moved else AT_ANY_TIME)
    for number in range(count):
        yield Case(
            number=number,
            kind=kinds[number % len(kinds)],
            point=points[(number // len(kinds) + number) % len(points)],
            when=chance.choice(("before", "during", "after")),
            signal=chance.choice(("SIGKILL", "SIGKILL", "SIGSTOP")),
            files=chance.randint(2 if are_moved else 1, 4),
            is_moved=are_moved,
        )


def rows_of(file: int, chance: random.Random) -> Rows:
    """Return the rows of a file: ten minutes, of which some are out of order by up to five."""
    return [
        (file * 100 + number, chance.choice("abc"), file * 10 + chance.randint(-4, 9), chance.randint(1, 9))
        for number in range(20)
    ]


def arrive(folder: Path, file: int, rows: Rows, broker: Broker | None) -> None:
    """Let a file arrive, or as many records of a topic."""
    written = (
        {"id": id, "word": word, "at": (BEGIN + timedelta(minutes=minute)).isoformat(), "n": n}
        for id, word, minute, n in rows
    )
    if broker is None:
        write(folder / "in" / f"{file:03}.json", *written)
    else:
        broker.send("rows", *written, partition=file % 2)


def carry_out(case: Case, folder: Path, server: Postgres | None, broker: Broker | None) -> list[str]:
    """Run a case; return what is wrong, nothing if all is right."""
    chance = random.Random(case.number)
    url = None if server is None else server.url
    world: dict[str, Any] = {"folder": str(folder), "kind": case.kind, "url": url}
    world["servers"] = None if broker is None else broker.servers
    all_rows: Rows = []
    for file in range(case.files):
        all_rows += (new := rows_of(file, chance))
        arrive(folder, file, new, broker)
        if case.is_moved and file == 0 and (wrong := _first(world)):
            return wrong
    victim = Driver.start(MODULE, world, **{"try": 5, "point": case.point, "when": case.when, "signal": case.signal})
    try:
        victim.hear()
        victim.tell("one")
        heard = victim.hear()
        if heard[0] == "fired" and case.signal == "SIGSTOP":
            wait_until_stopped(victim)
        elif heard[0] == "fired":
            victim.hear()
        elif heard != ("ended", []) or case.when != "during":
            return [f"the fault did not happen: {heard}"]
        all_rows += (new := rows_of(case.files, chance))
        arrive(folder, case.files, new, broker)
        wrong, published = _succeed(case, world, victim, all_rows, broker)
    finally:
        victim.end()
    if wrong and case.kind in LAKE_KINDS:
        return wrong
    if not published:
        published = {name: _published(name, folder, server) for name in ("copy", "totals")}
    return [*wrong, *_differences(case, published, all_rows)]


def _first(world: dict[str, Any]) -> list[str]:
    """Let a first driver publish, and the next ones begin with its savepoint and other partitions."""
    first = Driver.start(MODULE, world | {"partitions": 4}, **{"try": 0})
    try:
        first.hear()
        first.tell("first")
        what, failures = first.hear()
    finally:
        first.end()
    if what != "ended" or failures:
        return [f"the first driver is {what}: {failures}"]
    world |= {"saved": save_and_reset(f"{world['folder']}/staging"), "partitions": 3}
    return []


def _succeed(
    case: Case, world: Mapping[str, Any], victim: Driver, all_rows: Rows, broker: Broker | None
) -> tuple[list[str], Published]:
    """Let the next driver run; then the sleeper wakes up, and the stream runs once more.

    Return what is wrong, and what the tables of a lake have.
    """
    after = Driver.start(MODULE, world, **{"try": 10})
    try:
        after.hear()
        after.tell("two")
        what, failures = after.hear()
        if what != "ended" or failures:
            return [f"the next driver is {what}: {failures}"], {}
        if case.signal == "SIGSTOP":
            os.killpg(victim.process.pid, signal.SIGCONT)
            victim.hear()  # it ends its run, with or without an error
        last = case.files + 1
        all_rows += (closing := [(last * 100, "z", last * 10 + 600, 1)])
        arrive(Path(world["folder"]), last, closing, broker)
        after.tell("three")
        what, failures = after.hear()
        if what != "ended" or failures:
            return [f"the last run is {what}: {failures}"], {}
        if case.kind not in LAKE_KINDS:
            return [], {}
        after.tell("published")
        what, found = after.hear()
        if what != "published":
            said = Path(world["folder"], "drivers.log").read_text(errors="replace")[-2000:]
            return [f"the last driver is {what} when it is asked for what it has published: {said}"], {}
        return [], {name: sorted(map(tuple, rows)) for name, rows in found.items()}
    finally:
        after.end()


def _differences(case: Case, published: Published, rows: Rows) -> Iterator[str]:
    """Yield what was published, and a batch job would not have."""
    copied, totals = published["copy"], published["totals"]
    if copied != (wanted := sorted((id, word, n) for id, word, _, n in rows)):
        yield f"copied {len(copied)} rows of {len(wanted)}: {Counter(copied) - Counter(wanted)} too many"
    sums: Counter[tuple[Any, ...]] = Counter()
    for _, word, minute, n in rows:
        begin = int(BEGIN.timestamp()) // 60 + minute // 10 * 10
        sums[(word, begin) if case.kind == "windows" else (word,)] += n
    if case.kind == "windows":  # that of the closing row is open
        sums = Counter({key: total for key, total in sums.items() if key[0] != "z"})
    if totals != (wanted_totals := sorted((*key, total) for key, total in sums.items())):
        yield f"totals are {totals}, not {wanted_totals}"


def _published(name: str, folder: Path, server: Postgres | None) -> list[tuple[Any, ...]]:
    if server is None:
        return sorted(duckdb.execute(f"SELECT * FROM '{folder}/{name}/*.parquet'").fetchall())
    columns = "id, word, n" if name == "copy" else "word, total"
    ((found,),) = server.sql(f"SELECT json_agg(json_build_array({columns})) FROM {name}")
    return sorted(map(tuple, json.loads(found)))


def main() -> int:
    """Run the cases; return how many have problems."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cases", type=int, default=60)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--source", choices=("files", "kafka"), default="files")
    parser.add_argument("--kinds", default=",".join(kind for kind in KINDS if kind not in LAKE_KINDS))
    parser.add_argument("--moved", action="store_true", help="begin with a savepoint, and other partitions of states")
    parser.add_argument("--only", type=int, help="the case of this number only")
    arguments = parser.parse_args()
    problems = 0
    with ExitStack() as stack:
        server = stack.enter_context(running_postgres())
        broker = stack.enter_context(running_broker()) if arguments.source == "kafka" else None
        os.environ[PASSWORD.variable] = server.password
        kinds = arguments.kinds.split(",")
        for case in cases(arguments.seed, arguments.cases, kinds, are_moved=arguments.moved):
            if arguments.only not in (None, case.number):
                continue
            folder = Path(tempfile.mkdtemp(prefix="streams-"))
            server.sql("DROP SCHEMA public CASCADE; CREATE SCHEMA public")
            if broker is not None:
                broker.create("rows", 2)
            try:
                in_server = case.kind in ("postgres", "iceberg")
                wrong = carry_out(case, folder, server if in_server else None, broker)
            except TimeoutError as error:
                wrong = [str(error)]
            if wrong:
                shutil.copy(folder / "drivers.log", Path(tempfile.gettempdir(), f"streams-{case.number}.log"))
            shutil.rmtree(folder, ignore_errors=True)
            if broker is not None:
                broker.remove("rows")
            problems += bool(wrong)
            print(f"{case.number}: {case.id}: {'; '.join(wrong) or 'right'}", flush=True)
    return min(99, problems)


if __name__ == "__main__":
    sys.exit(main())
