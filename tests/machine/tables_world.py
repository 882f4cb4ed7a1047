"""A table that runs and others write: the world of the machine for databases, on PostgreSQL behind a proxy."""

from __future__ import annotations

import itertools
import shutil
import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

from graph_compiler.declaration.connectors import Jdbc, Secret
from graph_compiler.identifiers import OperatorId
from graph_compiler.staging.store.local_store import LocalStore
from tests.harness.postgres import DRIVER, Postgres
from tests.harness.stepping import SteppedStore
from tests.machine.alphabet import PLAIN_VALUES
from tests.machine.execution import Execution, Place, Request
from tests.machine.faults import Fate
from tests.machine.frames import frame, schema
from tests.machine.model import Row, State, Written
from tests.machine.proxy import Proxy

PASSWORD = Secret("machine", "password")
_PATIENCE = "-c lock_timeout=150"


@dataclass
class TablesWorld:
    """A schema of its own in a server that others share."""

    spark: SparkSession
    server: Postgres
    proxy: Proxy
    table: str = "orders"
    column: str = "day"
    store: str = "local"
    folder: Path = field(init=False)
    place: Place = field(init=False)
    numbers: itertools.count[int] = field(default_factory=itertools.count)

    def __post_init__(self) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="machine-"))
        store = LocalStore() if self.store == "local" else SteppedStore()
        self.place = Place(self.spark, self.folder / "staging", store)
        self.server.sql(
            "DROP SCHEMA public CASCADE; CREATE SCHEMA public;"
            "CREATE TABLE neighbor (id INT); INSERT INTO neighbor VALUES (1)"
        )

    @property
    def name(self) -> str:
        """Name the store."""
        return f"table, store {self.store}"

    def end(self) -> None:
        """Remove everything."""
        shutil.rmtree(self.folder, ignore_errors=True)

    def execution(self, request: Request, fate: Fate) -> Execution:
        """Return the next execution; its queries to the server may fail."""
        return Execution(
            self.place,
            request,
            execution_id=f"e{next(self.numbers)}",
            fate=fate,
            folders=(self.folder,),
            proxy=self.proxy,
        )

    def request(self, written: Written, settings: Mapping[str, Any]) -> Request:
        """Return what an execution writes."""
        connector = Jdbc(
            f"jdbc:postgresql://127.0.0.1:{self.proxy.port}/{self.server.database}",
            table=settings.get("alias", self.table),
            user=self.server.user,
            password=PASSWORD,
            driver=DRIVER,
            options={"options": _PATIENCE, "socketTimeout": 5},
        )
        return Request(
            run=written.run,
            connector=connector,
            mode=written.mode,
            rows=frame(self.spark, written.rows, self.column),
            keys=tuple(self.column if key == "part" else key for key in written.keys),
            plan=written.sink[0],
            operator=OperatorId(written.sink[1] * 32),
        )

    def oddities(self, written: Written, settings: Mapping[str, Any]) -> list[str]:
        """Name names and values that are not plain."""
        odd = [f"value {row[1]}" for row in written.rows if row[1] not in PLAIN_VALUES]
        if settings.get("alias", "orders") != "orders":
            odd.append(f"table {settings['alias']}")
        if self.column != "day":
            odd.append(f"column {self.column}")
        return odd

    def after(self, state: State, written: Written) -> list[State]:
        """Return what the table must contain then: rows do not show who wrote them, so a second append adds nothing."""
        has_published = bool(state.published.get(written.run))
        state = state.publish(written)
        if written.mode == "merge":
            return [merged_by_sql(state, written)]
        if written.mode == "append":
            return [state if has_published else state.with_rows(written.run, written.rows)]
        return [state.emptied().with_rows(written.run, written.rows)]

    def adds_nothing(self, state: State, written: Written) -> bool:
        """Whether an execution does not change the table: a run appends once."""
        return written.mode == "append" and bool(state.published.get(written.run))

    def as_seen(self, row: Row) -> Row:
        """Return a row as it is read from a table."""
        return row

    def seen(self) -> Counter[Row]:
        """Count the rows in the table with psql."""
        if not self.exists():
            return Counter()
        column = '"' + self.column.replace('"', '""') + '"'
        encoded = f"coalesce(encode(convert_to({column}, 'UTF8'), 'hex'), 'null')"
        rows = self.server.sql(f"SELECT id, {encoded}, number FROM {self.table}")
        return Counter(
            (int(id), None if part == "null" else bytes.fromhex(part).decode(), int(number))
            for id, part, number in rows
        )

    def seen_by_spark(self) -> Counter[Row]:
        """Count the rows in the table with Spark, past the proxy."""
        properties = {"user": self.server.user, "password": self.server.password, "driver": DRIVER}
        rows = self.spark.read.jdbc(self.server.url, self.table, properties=properties).collect()
        return Counter((row["id"], row[self.column], row["number"]) for row in rows)

    def exists(self) -> bool:
        """Whether the table is there."""
        ((found,),) = self.server.sql(f"SELECT to_regclass('{self.table}') IS NOT NULL")
        return found == "t"

    def what_else_changed(self) -> str | None:
        """Whether the table beside it is as it was."""
        rows = self.server.sql("SELECT id FROM neighbor")
        return None if rows == [("1",)] else "another table has changed"

    def left_beside(self) -> list[str]:
        """List tables that are not needed any more."""
        rows = self.server.sql("SELECT tablename FROM pg_tables WHERE schemaname = 'public'")
        return [name for (name,) in rows if name.startswith("graph_compiler_")]

    def others_put(self, row: Row) -> None:
        """Let another writer insert a row, into a new table if there is none."""
        if not self.exists():
            kinds = ", ".join(
                f'"{one.name}" {"TEXT" if one.name == self.column else "BIGINT"}' for one in schema(self.column)
            )
            self.server.sql(f"CREATE TABLE {self.table} ({kinds})")
        id, part, number = row
        value = "NULL" if part is None else "convert_from(decode('%s', 'hex'), 'UTF8')"
        hexed = "" if part is None else part.encode().hex()
        value = value % hexed if part is not None else value
        self.server.sql(f'INSERT INTO {self.table} (id, "{self.column}", number) VALUES ({id}, {value}, {number})')

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Let another client lock the table, as a long transaction does."""
        if not self.exists():
            yield
            return
        other = self.server.session(f"BEGIN; LOCK TABLE {self.table};")
        try:
            yield
        finally:
            with suppress(OSError):
                other.communicate(b"ROLLBACK;\n", timeout=10)


def merged_by_sql(state: State, written: Written) -> State:
    """Return the state after SQL's MERGE: every row with a key becomes the new one, however many there are."""
    new = {written.key(row): row for row in written.rows}
    held = {written.key(row) for rows in state.rows.values() for row in rows}
    rows = {owner: tuple(new.get(written.key(row), row) for row in rows) for owner, rows in state.rows.items()}
    added = [row for key, row in new.items() if key not in held]
    return replace(state, rows=rows).with_rows(f"merged by {written.run}", added)
