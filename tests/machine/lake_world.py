"""A table of Iceberg or Delta that runs and others write: calls to the table fail, and so does the store beside it."""

from __future__ import annotations

import itertools
import shutil
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from unittest.mock import patch

from py4j.protocol import Py4JError
from pyspark.sql import SparkSession

from graph_compiler.declaration.connectors import Delta, Iceberg
from graph_compiler.identifiers import OperatorId, quoted
from graph_compiler.spark_runtime.connectors.lake import delta, iceberg_sink
from graph_compiler.spark_runtime.connectors.lake.iceberg_source import connect
from graph_compiler.spark_runtime.spark_internals.file_listings import few_listing_tasks
from graph_compiler.spark_runtime.spark_internals.iceberg_tables import IcebergTable
from graph_compiler.staging.store.local_store import LocalStore
from tests.harness.stepping import SteppedStore
from tests.machine.alphabet import PLAIN_VALUES
from tests.machine.execution import Execution, Place, Request
from tests.machine.faults import Fate
from tests.machine.frames import frame
from tests.machine.model import Row, State, Written
from tests.machine.tables_world import merged_by_sql

CALLS: tuple[tuple[Any, str, str], ...] = (
    (iceberg_sink.IcebergSink, "_write", "write"),
    (IcebergTable, "make_branch", "commit"),
    (IcebergTable, "publish", "commit"),
    (IcebergTable, "remove_files", "commit"),
    (IcebergTable, "remove", "commit"),
    (IcebergTable, "add_tag", "commit"),
    (delta, "_write", "commit"),
)
"""What a driver asks of a table, and the name of the call in a fault."""
RUNS = frozenset({"run 1", "run 2", "run 3", "run 4", "run 9"})
_TABLES = itertools.count()


@dataclass
class LakeCalls:
    """Lets the calls of executions to their tables fail; `fates` are those in progress, the innermost last."""

    fates: list[Fate] = field(default_factory=list)

    @contextmanager
    def meeting(self, fate: Fate) -> Iterator[None]:
        """Apply a fate to every call within the block, until another execution has its turn."""
        with ExitStack() as stack:
            if not self.fates:
                for owner, name, call in CALLS:
                    stack.enter_context(patch.object(owner, name, self._failing(call, getattr(owner, name))))
            self.fates.append(fate)
            stack.callback(self.fates.pop)
            yield

    def _failing(self, call: str, function: Callable[..., Any]) -> Callable[..., Any]:
        def calls(*arguments: Any, **named: Any) -> Any:
            try:
                return self.fates[-1].call(call, function.__name__, lambda: function(*arguments, **named))
            except OSError as error:  # Java's errors come as py4j's
                raise Py4JError(str(error)) from error

        return calls


@dataclass
class LakeWorld:
    """A table in a catalog on this disk, or at a path."""

    spark: SparkSession
    format: str
    partitioned: bool
    store: str = "local"
    folder: Path = field(init=False)
    place: Place = field(init=False)
    numbers: itertools.count[int] = field(default_factory=itertools.count)
    calls: LakeCalls = field(default_factory=LakeCalls)
    moved: set[str] = field(default_factory=set)
    """Runs whose rows may be in files with those of others."""

    def __post_init__(self) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="machine-"))
        # Executors write the rows of Delta below the staging root, and the driver looks for them there.
        store = SteppedStore() if self.store == "in memory" and self.format == "iceberg" else LocalStore()
        self.place = Place(self.spark, self.folder / "staging", store)
        self.table = f"t{next(_TABLES)}"
        if isinstance(self.connector, Iceberg):
            connect(self.connector, self.spark)

    @property
    def connector(self) -> Iceberg | Delta:
        """Return the table as a pipeline declares it."""
        by = ("part",) if self.partitioned else ()
        if self.format == "delta":
            return Delta(str(self.folder / "table"), partitioned_by=by)
        catalog = {"type": "hadoop", "warehouse": f"{tempfile.gettempdir()}/machine-warehouse"}
        columns = "id BIGINT, part STRING, number BIGINT"
        return Iceberg(
            f"machine.db.{self.table}", catalog=catalog, create_if_missing=True, schema=columns, partitioned_by=by
        )

    @property
    def _name(self) -> str:
        if self.format == "delta":
            return f"delta.{quoted(str(self.folder / 'table'))}"
        return f"machine.db.{self.table}"

    @property
    def name(self) -> str:
        """Name the kind of world."""
        return f"{self.format}{', partitioned' if self.partitioned else ''}, store {self.store}"

    def end(self) -> None:
        """Remove everything."""
        if self.format == "iceberg":
            self.spark.sql(f"DROP TABLE IF EXISTS {self._name} PURGE")
        shutil.rmtree(self.folder, ignore_errors=True)

    def execution(self, request: Request, fate: Fate) -> Execution:
        """Return the next execution; its calls to the table may fail."""
        return Execution(
            self.place,
            request,
            execution_id=f"e{next(self.numbers)}",
            fate=fate,
            folders=(self.folder / "staging",),
            proxy=self.calls,
        )

    def request(self, written: Written, _: Mapping[str, Any]) -> Request:
        """Return what an execution writes."""
        if written.mode == "merge":  # which writes files again that have other rows, too
            self.moved |= RUNS
        return Request(
            run=written.run,
            connector=self.connector,
            mode=written.mode,
            rows=frame(self.spark, written.rows, "part"),
            keys=written.keys,
            plan=written.sink[0],
            operator=OperatorId(written.sink[1] * 32),
        )

    def oddities(self, written: Written, _: Mapping[str, Any]) -> list[str]:
        """Name values that are not plain; that files were moved is no reason for a second time."""
        odd = [f"value {row[1]}" for row in written.rows if row[1] not in PLAIN_VALUES]
        if written.run in self.moved and written.mode == "append":
            odd.append(f"moved, number {next(self.numbers)}")
        return odd

    def after(self, state: State, written: Written) -> list[State]:
        """Return what the table must contain then: a run counts once."""
        run, rows, state = written.run, written.rows, state.publish(written)
        if written.mode == "merge":
            return [merged_by_sql(state, written)]
        if written.mode == "append":
            # Equal rows that others have moved stay with them.
            return [state.others_than(run).with_rows(run, rows)]
        if written.mode == "overwrite-partitions":
            parts = {self.as_seen(row)[1] for row in rows}
            gone = [row for rows in state.rows.values() for row in rows if self.as_seen(row)[1] in parts]
            return [state.without(gone).with_rows(run, rows)]
        return [state.emptied().with_rows(run, rows)]

    def adds_nothing(self, state: State, written: Written) -> bool:
        """Whether an execution does not change the table: rows of a run are never equal here, unless there are none."""
        return written.mode == "append" and not written.rows and bool(state.published.get(written.run))

    def as_seen(self, row: Row) -> Row:
        """Return a row as it is read: Delta has one name for a folder of '' and of NULL."""
        id, part, number = row
        return (id, part or None, number) if self.format == "delta" and self.partitioned else row

    def seen(self) -> Counter[Row]:
        """Count the rows that a reader of the current version sees."""
        if not self._exists():
            return Counter()
        reader = self.spark.read.format("delta").load(str(self.folder / "table")) if self.format == "delta" else None
        rows = (reader or self.spark.table(self._name)).collect()
        return Counter((row["id"], row["part"], row["number"]) for row in rows)

    def seen_by_spark(self) -> Counter[Row]:
        """Count the rows by SQL."""
        rows = self.spark.sql(f"SELECT id, part, number FROM {self._name}").collect()
        return Counter((row[0], row[1], row[2]) for row in rows)

    def what_else_changed(self) -> str | None:
        """Return nothing: there is no other table."""
        return None

    def others_put(self, row: Row) -> None:
        """Let another writer insert a row, if there is a table."""
        frame(self.spark, [row], "part").createOrReplaceTempView("others")
        self.spark.sql(f"INSERT INTO {self._name} SELECT id, part, number FROM others")

    def exists(self) -> bool:
        """Whether others can write."""
        return self._exists()

    def compact(self) -> None:
        """Let the owner write all files again."""
        self.moved |= RUNS
        if self.format == "delta":
            self.spark.sql(f"OPTIMIZE {self._name}")
        else:
            options = "options => map('rewrite-all', 'true')"
            self.spark.sql(f"CALL machine.system.rewrite_data_files(table => 'db.{self.table}', {options})")

    def forget(self) -> None:
        """Let the owner forget all but the current version."""
        if self.format == "iceberg":
            table = IcebergTable.load(self.spark, self._name).java
            table.expireSnapshots().expireOlderThan(2**62).retainLast(1).commit()
        else:
            self.spark.conf.set("spark.databricks.delta.retentionDurationCheck.enabled", "false")
            with few_listing_tasks(self.spark):
                self.spark.sql(f"VACUUM {self._name} RETAIN 0 HOURS")

    def _exists(self) -> bool:
        if self.format == "delta":
            return (self.folder / "table" / "_delta_log").is_dir()
        return bool(self.spark.catalog.tableExists(self._name))
