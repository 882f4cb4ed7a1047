"""Tables of a REST catalog: Iceberg's own test server."""

from typing import Any

import pytest
from py4j.protocol import Py4JError

from graph_compiler.errors import PublicationConflictError
from graph_compiler.spark_runtime.connectors import read_source
from graph_compiler.spark_runtime.connectors.lake import iceberg_sink
from graph_compiler.spark_runtime.spark_internals.iceberg_tables import IcebergTable
from tests.harness.sinks import Sinks
from tests.lake.conftest import Lake, sold
from tests.lake.dying import die, dying

pytestmark = pytest.mark.lake
COLUMNS = "id INT, day STRING, amount INT"
OLD, MINE, THEIRS = (1, "mon", 10), (2, "tue", 20), (9, "thu", 90)
MODES = ("append", "overwrite", "overwrite-partitions", "merge")


def how(mode: str) -> dict[str, Any]:
    return {"mode": mode, **({"keys": ("id",)} if mode == "merge" else {})}


@pytest.fixture
def filled(lake_in_rest: Lake) -> Lake:
    lake_in_rest.create(COLUMNS, partitioned_by="day")
    lake_in_rest.spark.sql(f"INSERT INTO {lake_in_rest.name}.db.sold VALUES {OLD!r}")
    return lake_in_rest


def test_each_mode_publishes_once_whatever_happens(filled: Lake, sinks: Sinks, monkeypatch: pytest.MonkeyPatch) -> None:
    """One server for all of it: it takes seconds to start."""
    for number, mode in enumerate(MODES):
        filled.spark.sql(f"INSERT OVERWRITE {filled.name}.db.sold SELECT * FROM VALUES {OLD!r}")
        filled.spark.sql(f"DELETE FROM {filled.name}.db.sold WHERE id <> 1")
        after = [MINE] if mode == "overwrite" else [OLD, MINE]
        prepared = sinks.prepare(filled.table(), filled.spark.sql(sold(MINE)), run=f"a{number}", **how(mode))
        assert filled.rows() == [OLD]
        prepared.publish()
        assert filled.rows() == after
        die(monkeypatch, iceberg_sink, "_commit", after=bool(number % 2))
        with dying():
            sinks.write(filled.table(), sold((3, "wed", 30)), run=f"b{number}", **how(mode))
        sinks.write(filled.table(), sold((3, "wed", 30)), run=f"b{number}", **how(mode))
        after = [(3, "wed", 30)] if mode == "overwrite" else [*after, (3, "wed", 30)]
        assert filled.rows() == after
        assert filled.refs() == []
    assert [tuple(row) for row in read_source(filled.table(), filled.spark).collect()] != []


def test_a_lost_answer_is_looked_up_and_a_changed_table_is_a_conflict(
    filled: Lake, sinks: Sinks, monkeypatch: pytest.MonkeyPatch
) -> None:
    publish = IcebergTable.publish

    def lost_answer(*arguments: Any, **named: Any) -> None:
        publish(*arguments, **named)
        raise Py4JError("the answer is lost")

    with monkeypatch.context() as patched:
        patched.setattr(IcebergTable, "publish", lost_answer)
        sinks.write(filled.table(), sold(MINE), mode="append")
    assert filled.rows() == [OLD, MINE]
    prepared = sinks.prepare(filled.table(), filled.spark.sql(sold(MINE)), mode="overwrite", run="r2")
    filled.spark.sql(f"INSERT INTO {filled.name}.db.sold VALUES {THEIRS!r}")
    with pytest.raises(PublicationConflictError, match="it has changed"):
        prepared.publish()
    assert filled.rows() == [OLD, MINE, THEIRS]
