"""A short search by the state machine of tables, the same each time; and it finds planted faults.

The long one: `make test-lake-machine ARGS="--minutes 60 --seed 1"`.
"""

from typing import Any

import pytest
from pyspark.sql import SparkSession

from graph_compiler.spark_runtime.connectors.lake import delta
from graph_compiler.spark_runtime.connectors.lake.iceberg_sink import AppendedSnapshot
from graph_compiler.spark_runtime.spark_internals.delta_tables import DeltaTable
from graph_compiler.spark_runtime.spark_internals.iceberg_tables import IcebergTable
from tests.machine.lake_machine import LakeMachine
from tests.machine.looking import Look, sessions

pytestmark = pytest.mark.lake
_ENOUGH = 60
"""Worlds; the first that shows the fault ends the look."""


def test_no_row_of_a_table_is_lost_or_doubled(spark: SparkSession) -> None:
    with sessions(["lake"], spark):
        look = Look("lake", seed=1, examples=3)
        words = look.find()
    assert words is None, f"{look.line}\n{words}"
    assert look.steps >= 3


def nothing(*_: Any, **__: Any) -> None:
    """Find nothing."""


PLANTED = {
    "a run appends to Iceberg again": (AppendedSnapshot, "of", nothing, "iceberg"),
    "a commit of Delta is not looked up": (DeltaTable, "has_committed", lambda *_: False, "delta"),
    "rows of Delta are replaced without a look": (DeltaTable, "changes_since", lambda *_: frozenset(), "delta"),
    "a branch that is gone was published": (IcebergTable, "published_as", lambda _, snapshot: snapshot, "iceberg"),
    "Delta's replacement only appends": (delta, "_replace", lambda to, _, *more: delta._save(to, *more), "delta"),
}


@pytest.mark.long
@pytest.mark.parametrize("fault", PLANTED)
def test_a_planted_fault_is_found(fault: str, spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> None:
    owner, name, instead, format = PLANTED[fault]
    monkeypatch.setattr(owner, name, instead)
    monkeypatch.setattr(LakeMachine, "formats", (format,))
    with sessions(["lake"], spark):
        look = Look("lake", seed=1, examples=_ENOUGH, shrink=False)
        words = look.find()
    assert words is not None, look.line
