"""A short search by each machine, the same each time; and the machine finds planted faults.

The long one: `make test-machine ARGS="--minutes 60 --seed 1"`.
"""

import subprocess
import sys
from collections.abc import Iterator
from types import ModuleType
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession

from graph_compiler.spark_runtime.operators import function_operators, row_operators
from graph_compiler.spark_runtime.publishing import local_target, publication
from graph_compiler.spark_runtime.publishing.written_files import FileFormat, WrittenFile, write_files
from graph_compiler.spark_runtime.region import region_evaluation
from graph_compiler.staging.store.local_store import LocalStore
from tests.machine.looking import Look, sessions
from tests.machine.of_rows.rows_machine import RowsMachine

pytestmark = [pytest.mark.spark, pytest.mark.ci]

_ENOUGH = 80
"""Worlds; the first that shows the fault ends the look. What Hypothesis draws depends on which modules are loaded."""


@pytest.fixture(scope="module")
def quiet(spark: SparkSession) -> Iterator[SparkSession]:
    spark.sparkContext.setLogLevel("OFF")
    yield spark
    spark.sparkContext.setLogLevel("WARN")


@pytest.mark.parametrize(
    ("machine", "seed", "examples"),
    [
        ("files", 1, 4),
        ("tables", 1, 2),
        ("staging", 1, 3),
        ("bucket", 1, 20),
        ("results", 1, 15),
        ("hdfs", 1, 20),
        ("hdfs-results", 1, 15),
        ("stream", 1, 15),
        ("rows", 1, 4),
    ],
)
def test_no_row_is_lost_or_doubled_and_every_failure_is_reported(
    machine: str, seed: int, examples: int, quiet: SparkSession
) -> None:
    with sessions([machine], quiet):
        look = Look(machine, seed, examples)
        words = look.find()
    assert words is None, f"{look.line}\n{words}"
    assert look.steps >= examples


def test_machines_with_and_without_spark_look_in_one_process(quiet: SparkSession) -> None:
    """As `make test-machine` does: what stores in memory replace is the product's again behind them."""
    with sessions(["results", "staging"], quiet):
        for machine in ("results", "staging"):
            assert Look(machine, 1, 1).find() is None


def never(*_: object) -> bool:
    """Let Spark move conditions."""
    return False


@pytest.mark.parametrize("below", ["aggregate", "window", "join"])
@pytest.mark.parametrize(
    ("way", "module", "name"),
    [
        ("filter", row_operators, "must_decide_once"),
        ("function", function_operators, "must_decide_once"),
        ("by hand", region_evaluation, "compares_equal_keys"),
    ],
)
def test_a_condition_that_is_moved_below_equal_keys_is_found(  # a table
    way: str, module: ModuleType, name: str, below: str, quiet: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, name, never)
    with sessions(["rows"], quiet):
        state = RowsMachine()
        state.begin(
            source="values",
            key="double",
            rows=[(0, 1), (1, 1), (3, 2), (2, 0)],
            first=0,
            below=[(below, 0)],
            way=way,
            n=0 if way == "by hand" else 5,
            is_sunk=False,
            other=None,
            changes=None,
        )
        with pytest.raises(AssertionError, match=f"{below} of 0"):
            state.teardown()


TOLD_TO_END = """
import os, signal, sys
from contextlib import nullcontext
from hypothesis.stateful import RuleBasedStateMachine, rule
from tests.machine import __main__ as program, looking

is_wrapped = sys.argv.pop() == "taken for a failure"

class Told(RuleBasedStateMachine):
    @rule()
    def step(self):
        try:
            os.kill(os.getpid(), signal.SIGTERM)
        except BaseException as error:
            if is_wrapped:
                raise ValueError from error
            raise

looking.MACHINES["files"] = Told
program.sessions = lambda _: nullcontext()
sys.argv += ["--minutes", "1", "--machine", "files"]
sys.exit(program.main())
"""


@pytest.mark.parametrize("how", ["goes through", "taken for a failure"])
def test_sigterm_ends_the_machine_and_is_not_a_finding(how: str) -> None:
    done = subprocess.run([sys.executable, "-c", TOLD_TO_END, how], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (143, "")
    assert "FOUND" not in done.stdout


def dropping(rows: DataFrame, folder: str, format: FileFormat) -> tuple[tuple[WrittenFile, ...], int]:
    """Write one row less, and count it."""
    kept = rows.where("id <> 0")
    return write_files(kept, folder, format)[0], rows.count()


def doubling(*_: Any) -> frozenset[str]:
    """Remove nothing of what a run has published before."""
    return frozenset()


@pytest.mark.parametrize(
    ("module", "name", "mutant"), [(local_target, "write_files", dropping), (publication, "_files_to_remove", doubling)]
)
def test_a_sink_that_loses_or_doubles_a_row_is_found(
    module: ModuleType, name: str, mutant: Any, quiet: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, name, mutant)
    with sessions(["files"], quiet):
        look = Look("files", seed=1, examples=_ENOUGH, shrink=False)
        words = look.find()
    assert words is not None, look.line


@pytest.mark.long  # it may need hundreds of steps
def test_a_store_that_lets_two_executions_decide_is_found(quiet: SparkSession, monkeypatch: pytest.MonkeyPatch) -> None:
    real = LocalStore.put_if_absent
    monkeypatch.setattr(LocalStore, "put_if_absent", lambda *call: real(*call) or True)
    with sessions(["staging"], quiet):
        look = Look("staging", seed=1, examples=_ENOUGH, shrink=False)
        words = look.find()
    assert words is not None, look.line
    assert "two winners" in words
