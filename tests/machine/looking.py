"""One search: a machine, a seed, a number of worlds; and what all searches need."""

from __future__ import annotations

import os
import time
import unittest
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, nullcontext, suppress
from dataclasses import dataclass, field
from unittest.mock import patch

import hypothesis
import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis.stateful import RuleBasedStateMachine, run_state_machine_as_test
from pyspark.sql import SparkSession

from graph_compiler.spark_runtime.connectors.lake.delta import SETTINGS
from graph_compiler.spark_runtime.rehearsal.local_session import local_session
from graph_compiler.staging.store import conditional_put, stores
from tests.harness.postgres import JAR, Postgres, running_postgres
from tests.machine.files_machine import FilesMachine
from tests.machine.in_stores import result_world, rows
from tests.machine.in_stores.result_machine import HdfsResultsMachine, ResultsMachine
from tests.machine.in_stores.stream_driver import short_logs
from tests.machine.in_stores.stream_machine import StreamMachine
from tests.machine.in_stores.target_machine import BucketMachine, HdfsMachine
from tests.machine.lake_machine import LakeMachine
from tests.machine.of_rows import sources
from tests.machine.of_rows.hosts_machine import HostsMachine
from tests.machine.of_rows.rows_machine import RowsMachine
from tests.machine.proxy import Proxy
from tests.machine.staging_machine import StagingMachine
from tests.machine.tables_machine import TablesMachine
from tests.machine.tables_world import PASSWORD
from tests.machine.tally import TALLY

MACHINES: dict[str, type[RuleBasedStateMachine]] = {
    "files": FilesMachine,
    "tables": TablesMachine,
    "lake": LakeMachine,
    "staging": StagingMachine,
    "bucket": BucketMachine,
    "results": ResultsMachine,
    "hdfs": HdfsMachine,
    "hdfs-results": HdfsResultsMachine,
    "stream": StreamMachine,
    "rows": RowsMachine,
    "hosts": HostsMachine,
}
_OF_TABLES = {**SETTINGS, "spark.databricks.delta.snapshotPartitions": "1"}
_NEED_SPARK = (FilesMachine, TablesMachine, LakeMachine, StagingMachine, RowsMachine)
_IN_STORES = ("bucket", "results", "hdfs", "hdfs-results", "stream")
_STEPS = 12


@dataclass
class Look:
    """A machine's worlds of one seed."""

    machine: str
    seed: int
    examples: int
    shrink: bool = True
    steps: int = 0
    seconds: float = 0.0
    found: BaseException | None = field(default=None)

    def find(self) -> str | None:
        """Search; return how to reproduce what was found, None if nothing was."""
        before, started = TALLY.steps, time.monotonic()
        machine = MACHINES[self.machine]
        phases = [Phase.generate, Phase.shrink] if self.shrink else [Phase.generate]
        look = settings(
            max_examples=self.examples,
            stateful_step_count=getattr(machine, "steps", _STEPS),
            database=None,
            deadline=None,
            print_blob=False,
            suppress_health_check=list(HealthCheck),
            phases=phases,
        )
        # Machines with Spark run in this process, too, and need the product as it is.
        place = stores_in_memory() if self.machine in _IN_STORES else nullcontext()
        try:
            with place:
                hypothesis.seed(self.seed)(run_state_machine_as_test)(machine, settings=look)
        except unittest.SkipTest:
            pass
        except Exception as found:
            self.found = found
        self.steps, self.seconds = TALLY.steps - before, time.monotonic() - started
        return None if self.found is None else self._words(self.found)

    @property
    def line(self) -> str:
        """Return in one line what was done."""
        outcome = "clean" if self.found is None else "FOUND"
        return f"{self.machine:12} seed {self.seed}: {self.steps} steps, {self.seconds:.0f} s, {outcome}"

    def _words(self, found: BaseException) -> str:
        words = [*getattr(found, "__notes__", ()), f"{type(found).__name__}: {found}"]
        several = found.exceptions if isinstance(found, BaseExceptionGroup) else ()
        return "\n".join([*words, *map(self._words, several)])


@contextmanager
def sessions(machines: Sequence[str], spark: SparkSession | None = None) -> Iterator[None]:
    """Start what machines need: Spark, and a database behind a proxy."""
    with ExitStack() as stack:
        if any(name not in _IN_STORES for name in machines):
            session = spark or stack.enter_context(_quiet(_OF_TABLES if "lake" in machines else {}))
            for machine in _NEED_SPARK:
                machine.session = staticmethod(lambda: session)
        if "tables" in machines:
            server = stack.enter_context(running_postgres())
            stack.callback(_begin_tables(session, server).close)
        if "rows" in machines:
            with suppress(pytest.skip.Exception):  # without a database, files are read
                _begin_rows(session, stack.enter_context(running_postgres()))
                stack.callback(setattr, RowsMachine, "database", None)
        yield


@contextmanager
def _quiet(settings: Mapping[str, str]) -> Iterator[SparkSession]:
    """Start a Spark that does not log failures, since most are intended."""
    with local_session(settings) as spark:
        spark.sparkContext.setLogLevel("OFF")
        yield spark


@contextmanager
def stores_in_memory() -> Iterator[None]:
    """Let the product reach stores in memory, and not wait before it sends a request again."""
    with (
        rows.without_spark(),
        result_world.without_spark(),
        short_logs(),
        patch.object(conditional_put, "_PAUSE", 0.0),
        patch.object(stores, "_OPENING", {}),
    ):
        yield


def _begin_rows(spark: SparkSession, server: Postgres) -> None:
    os.environ[sources.PASSWORD.variable] = server.password
    spark.sql(f"ADD JAR {JAR}")
    RowsMachine.database = server


def _begin_tables(spark: SparkSession, server: Postgres) -> Proxy:
    os.environ[PASSWORD.variable] = server.password
    spark.sql(f"ADD JAR {JAR}")
    proxy = Proxy(server.port)
    TablesMachine.database = staticmethod(lambda: (server, proxy))
    return proxy
