"""Kill and stop drivers that write tables, really: `python -m tests.lake.kills --cases 40 --seed 1`.

A command, not a test: a case takes 20 s. A driver of its own process dies, or sleeps, at a point of its publication.
Then others may change the table, the next attempt and another run follow, and a sleeper wakes up. Each run's rows
must be there once, and a reader in a loop must see whole versions only.
"""

import argparse
import os
import random
import shutil
import signal
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from tests.harness.driver_processes import Driver, wait_until_stopped
from tests.harness.hdfs_server import USER, HdfsServer, hdfs_server
from tests.harness.object_stores import KEY, SECRET, ObjectServer, object_server
from tests.harness.postgres import PASSWORD, Postgres, running_postgres
from tests.harness.rest_catalog import running_rest_catalog
from tests.lake.one_try import BUCKET, COLUMNS, S3_KEY, S3_SECRET, in_bucket

Row = tuple[int, str, int]
OLD: tuple[Row, ...] = ((1, "mon", 10), (2, "tue", 20))
MINE: tuple[Row, ...] = ((2, "mon", 21), (3, "mon", 30))
EARLIER: tuple[Row, ...] = ((2, "mon", 19),)
"""What the run has appended before, in a case of `append-again`."""
NEXT: tuple[Row, ...] = ((4, "wed", 40),)
THEIRS: Row = (9, "thu", 90)
MODES = ("append", "append-again", "overwrite", "overwrite-partitions", "merge", "insert-only", "error-if-exists")
KINDS = {"iceberg": 1, "iceberg-rest": 4, "iceberg-s3": 4, "delta": 1, "delta-hdfs": 4}
"""A format and where its tables are; a case in so many is run with it. PostgreSQL has the catalog, but for REST."""
MEANWHILE = ("", "", "foreign", "compact", "expire")
MODULE = "tests.lake.one_try"


@dataclass(frozen=True, kw_only=True)
class Case:
    """A driver that is killed or stopped at a point, while its mode publishes; what happens before its successor."""

    number: int
    mode: str
    point: str
    when: str
    signal: str
    meanwhile: str
    is_retried: bool

    @property
    def id(self) -> str:
        next_ = "retried" if self.is_retried else "not retried"
        return f"{self.mode} {self.signal} {self.when} {self.point}, {self.meanwhile or 'nothing'}, {next_}"

    @property
    def may_be_visible(self) -> bool:
        """Whether the first driver may have published before it died."""
        return self.point == "finish" or (self.point == "_commit" and self.when != "before")

    @property
    def is_decided(self) -> bool | None:
        """Whether the first driver had decided; None if that is not certain."""
        decided = {"prepare": False, "_commit": True, "finish": True}
        if self.when == "during" and self.point.startswith("decide"):
            return None
        return decided.get(self.point, self.when == "after")

    def allowed(self) -> list[list[Row]]:
        """Return the tables that may be there in the end."""
        start: Sequence[Row] = () if self.mode == "error-if-exists" else OLD
        start = (*start, *EARLIER) if self.mode == "append-again" else start
        theirs = [THEIRS] if self.meanwhile == "foreign" else []
        mine_first = _after(self.mode, MINE, start) + theirs + list(NEXT)
        mine_later = _after(self.mode, MINE, [*start, *theirs]) + list(NEXT)
        without = [*start, *theirs, *NEXT]
        found = []
        if self.may_be_visible:
            found.append(mine_first)
        if self.is_retried or self.is_decided is not False:
            found.append(mine_later)
        if not self.is_retried and (self.is_decided is None or not self.is_decided or self._may_be_given_up()):
            found.append(without)
        return [sorted(rows, key=repr) for rows in found]

    def _may_be_given_up(self) -> bool:
        """Whether what was decided is a conflict for the next run, since others have changed the table."""
        return bool(self.meanwhile) and (self.when == "during" or not self.may_be_visible)


def _after(mode: str, rows: Sequence[Row], held: Sequence[Row]) -> list[Row]:
    match mode:
        case "append-again":
            return [*(row for row in held if row not in EARLIER), *rows]
        case "overwrite":
            return list(rows)
        case "overwrite-partitions":
            days = {row[1] for row in rows}
            return [*(row for row in held if row[1] not in days), *rows]
        case "merge":
            keys = {row[0] for row in rows}
            return [*(row for row in held if row[0] not in keys), *rows]
        case "insert-only":
            keys = {row[0] for row in held}
            return [*held, *(row for row in rows if row[0] not in keys)]
    return [*held, *rows]


def cases(seed: int, count: int) -> Iterator[Case]:
    """Return cases: each mode and point in turn, the rest by chance."""
    chance = random.Random(seed)
    points = ["prepare", "decide", "_commit", "_commit", "finish"]
    for number in range(count):
        mode = MODES[number % len(MODES)]
        point = points[(number // len(MODES) + number) % len(points)]
        when = chance.choice(("before", "during", "after"))
        meanwhile = chance.choice(MEANWHILE)
        case = Case(
            number=number,
            mode=mode,
            point=point,
            when=when,
            signal=chance.choice(("SIGKILL", "SIGKILL", "SIGSTOP")),
            meanwhile=meanwhile,
            is_retried=chance.random() < 0.7,
        )
        if meanwhile == "foreign" and mode == "error-if-exists":
            case = _undisturbed(case)
        if meanwhile == "compact" and mode == "append-again":  # then they are refused: docs/lake.md
            case = _undisturbed(case)
        if meanwhile == "expire" and case.may_be_visible:  # a person has to decide then: docs/lake.md
            case = _undisturbed(case)
        yield case


def _undisturbed(case: Case) -> Case:
    """Return a case in which nothing happens meanwhile."""
    return replace(case, meanwhile="")


def carry_out(case: Case, world: Mapping[str, Any]) -> list[str]:
    """Run a case; return what is wrong, nothing if all is right."""
    is_again = case.mode == "append-again"
    first = {"pipeline": "mine", "mode": "append" if is_again else case.mode, "rows": MINE}
    held = "" if case.mode == "error-if-exists" else f"INSERT INTO sold VALUES {', '.join(map(repr, OLD))}"
    using = "delta" if world["format"] == "delta" else "iceberg"
    create = f"CREATE TABLE sold ({COLUMNS}) USING {using} PARTITIONED BY (day)"
    space = [] if world["format"] == "delta" else ["CREATE NAMESPACE IF NOT EXISTS lake.db"]
    point = "decide_behind_others" if case.point == "decide" and _is_behind(case, world) else case.point
    victim = Driver.start(
        MODULE,
        world,
        before=[*space, create, *([held] if held else [])],
        runs=[*([{**first, "rows": EARLIER, "try": 0}] if is_again else []), {**first, "try": 1, "is_ended": True}],
        point=point,
        when=case.when,
        signal=case.signal,
    )
    try:
        heard = victim.hear()
        if heard[0] == "ended" and case.when == "during":
            return []  # it was faster than its death
        if heard[0] != "fired":
            return [f"the fault did not happen: {heard}"]
        if case.signal == "SIGKILL":
            victim.hear()
        else:
            wait_until_stopped(victim)
        return _succeed(case, world, first, victim)
    finally:
        victim.end()


def _succeed(case: Case, world: Mapping[str, Any], first: Mapping[str, Any], victim: Driver) -> list[str]:
    meanwhile = f"INSERT INTO sold VALUES {THEIRS!r}" if case.meanwhile == "foreign" else case.meanwhile
    follow = {"pipeline": "next", "mode": "append", "rows": NEXT}
    runs = [{**first, "try": 2}] if case.is_retried else []
    after = Driver.start(MODULE, world, before=[meanwhile] if meanwhile else [], runs=[*runs, {**follow, "try": 0}])
    try:
        what, ended = after.hear()
        if what != "ended":
            return [f"the next driver is {what}"]
        if case.signal == "SIGSTOP":
            os.killpg(victim.process.pid, signal.SIGCONT)
            victim.hear()  # it ends, with or without an error
        after.tell()
        what, found = after.hear()
    finally:
        after.end()
    if what != "rows":
        return [f"the next driver is {what}"]
    wrong = [f"a run failed: {message.splitlines()[0]}" for messages in ended for message in messages]
    rows = [tuple(row) for row in found["rows"]]
    allowed = case.allowed()
    if rows not in [list(each) for each in allowed]:
        wrong.append(f"{rows} is not one of {allowed}")
    wrong += _halves(case, found["seen"])
    return wrong


def _halves(case: Case, seen: Sequence[Sequence[Sequence[Any]]]) -> Iterator[str]:
    """Yield tables that a reader has seen, and in which some rows of a run were there and others not."""
    for rows in seen:
        there = {tuple(row) for row in rows}
        mine = [row for row in MINE if row in there]
        whole = [MINE[1:], MINE[:0]] if case.mode == "insert-only" else [MINE, MINE[:0]]
        both = bool(mine) and bool(there.intersection(EARLIER))
        if tuple(mine) not in [tuple(each) for each in whole] or both or len(there) < len(rows):
            yield f"a reader has seen {rows}"


def _is_behind(case: Case, world: Mapping[str, Any]) -> bool:
    """Whether a publication of this mode may be decided behind others."""
    of_delta = {"append", "append-again", "merge", "insert-only"}
    behind = {"append", "overwrite-partitions"} if world["format"] != "delta" else of_delta
    return case.mode in behind


@dataclass
class Servers:
    """The servers of all cases, each started when the first case needs it."""

    stack: ExitStack
    folder: Path
    _started: dict[str, Any] = field(default_factory=dict)

    def _once(self, name: str, start: Callable[[], AbstractContextManager[Any]]) -> Any:
        if name not in self._started:
            self._started[name] = self.stack.enter_context(start())
        return self._started[name]

    def postgres(self) -> Postgres:
        """Return a catalog's server without tables."""
        server: Postgres = self._once("postgres", running_postgres)
        os.environ[PASSWORD.variable] = server.password
        server.sql("DROP SCHEMA public CASCADE; CREATE SCHEMA public")
        return server

    def hdfs(self) -> HdfsServer:
        """Return the file system, whose user drivers are from now on."""
        os.environ["HADOOP_USER_NAME"] = USER
        server: HdfsServer = self._once("hdfs", lambda: hdfs_server(self.folder))
        return server

    def bucket(self) -> ObjectServer:
        """Return the store, whose keys drivers have in their environment from now on."""
        os.environ |= {S3_KEY.variable: KEY, S3_SECRET.variable: SECRET}
        is_new = "bucket" not in self._started
        server: ObjectServer = self._once("bucket", lambda: object_server(self.folder))
        if is_new:
            server.make_bucket(BUCKET)
        return server


@contextmanager
def world_of(kind: str, servers: Servers) -> Iterator[dict[str, Any]]:
    """Make the folder and the catalog of a case; `place` is where a Delta table and the staging root are."""
    folder = place = tempfile.mkdtemp(prefix="kills-")
    catalog: dict[str, str] = {}
    stack = ExitStack()
    match kind:
        case "iceberg-rest":
            url = stack.enter_context(running_rest_catalog(Path(folder, "warehouse")))
            catalog = {"type": "rest", "uri": url}
        case "iceberg" | "iceberg-s3":
            server = servers.postgres()
            catalog = {"type": "jdbc", "uri": server.url, "jdbc.user": server.user, "jdbc.schema-version": "V1"}
            catalog |= (
                in_bucket(servers.bucket().endpoint, folder)
                if kind == "iceberg-s3"
                else {"warehouse": f"{folder}/data"}
            )
        case "delta-hdfs":
            place = f"{servers.hdfs().place()}{folder}"
    try:
        with stack:
            yield {"format": kind.partition("-")[0], "folder": folder, "place": place, "catalog": catalog}
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def main() -> int:
    """Run the cases; return how many have problems."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--cases", type=int, default=40, help="of each (40); a quarter with REST, S3 and HDFS if all are run"
    )
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--format", choices=KINDS, help="one of them only")
    parser.add_argument("--only", type=int, help="the case of this number only")
    arguments = parser.parse_args()
    problems = 0
    with ExitStack() as stack:
        servers = Servers(stack, Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="kills-servers-"))))
        for kind in (arguments.format,) if arguments.format else KINDS:
            for case in cases(arguments.seed, arguments.cases // (1 if arguments.format else KINDS[kind])):
                if arguments.only is not None and case.number != arguments.only:
                    continue
                with world_of(kind, servers) as world:
                    try:
                        wrong = carry_out(case, world)
                    except TimeoutError as error:
                        wrong = [str(error)]
                    if wrong:
                        log = Path(world["folder"], "drivers.log").read_text()
                        Path(tempfile.gettempdir(), f"kills-{kind}-{case.number}.log").write_text(log)
                problems += bool(wrong)
                print(f"{kind} {case.number}: {case.id}: {'; '.join(wrong) or 'right'}", flush=True)
    return min(99, problems)


if __name__ == "__main__":
    sys.exit(main())
