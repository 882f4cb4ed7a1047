"""A decision for a table that others have ended, and where the rows of an earlier one are; no table is there."""

from collections.abc import Callable
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest

from graph_compiler.declaration.connectors import Delta, Iceberg, SinkMode
from graph_compiler.declaration.operators import Sink
from graph_compiler.deployment.documents.run_identity import RunIdentity
from graph_compiler.deployment.documents.staging_layout import StagingLayout
from graph_compiler.errors import PublicationConflictError
from graph_compiler.identifiers import OperatorId
from graph_compiler.spark_runtime.connectors.lake import delta, iceberg_sink
from graph_compiler.spark_runtime.connectors.lake.delta import CommitPublication, DeltaSink
from graph_compiler.spark_runtime.connectors.lake.formats import AppendedRows
from graph_compiler.spark_runtime.connectors.lake.iceberg_sink import IcebergSink, SnapshotPublication
from graph_compiler.staging.publications.ledger import Ledger
from graph_compiler.staging.publications.publications import Publication
from graph_compiler.staging.store.in_memory_store import InMemoryStore
from tests.harness.sinks import SINK

pytestmark = pytest.mark.spark
OTHER = OperatorId("cd" * 16)
NO_SPARK: Any = None


@pytest.fixture
def store() -> InMemoryStore:
    return InMemoryStore()


def ledger_of(run: str, store: InMemoryStore) -> Ledger:
    return Ledger(store=store, layout=StagingLayout(root="/s", identity=RunIdentity.own("p", run)), plan_id=run)


def common(ledger: Ledger, target: str) -> dict[str, Any]:
    identity, plan_id = ledger.layout.identity, ledger.plan_id
    own = {"number": 0, "identity": identity, "plan_id": plan_id, "operator_id": SINK, "execution_id": "e1"}
    return {**own, "target": target, "rows": 100, "bytes": 1}


def iceberg(ledger: Ledger, refuses: Callable[..., None], patched: pytest.MonkeyPatch) -> IcebergSink:
    """Return a sink that replaces a table, which refuses each commit."""
    patched.setattr(iceberg_sink, "_commit", refuses)
    patched.setattr(iceberg_sink, "_forget", lambda *_: None)
    connector = Iceberg("lake.db.sold")
    rows = SnapshotPublication(
        **common(ledger, "iceberg:u"), table="u", branch="b", snapshot=5, picks=False, replaces_all=True
    )
    sink = Sink(connector, mode=SinkMode.OVERWRITE)
    return IcebergSink(
        connector=connector, sink=sink, spark=NO_SPARK, ledger=ledger, publication=rows, prepared="", seen=None
    )


def of_delta(ledger: Ledger, refuses: Callable[..., None], patched: pytest.MonkeyPatch) -> DeltaSink:
    """Return the same with Delta Lake."""
    patched.setattr(delta, "_commit", refuses)
    patched.setattr(delta, "DeltaTable", SimpleNamespace(load=lambda *_: SimpleNamespace()))
    connector = Delta("/sold")
    rows = CommitPublication(
        **common(ledger, "delta:/sold"),
        table="u",
        commit="c",
        mode=SinkMode.OVERWRITE,
        keys=(),
        partitioned_by=(),
        evolves=False,
        prepared="/s/prepared",
        seen=3,
    )
    sink = Sink(connector, mode=SinkMode.OVERWRITE)
    return DeltaSink(connector=connector, sink=sink, spark=NO_SPARK, ledger=ledger, publication=rows)


@pytest.mark.parametrize(("sink_of", "module"), [(iceberg, iceberg_sink), (of_delta, delta)], ids=["iceberg", "delta"])
def test_what_others_give_up_before_its_execution_carries_it_out_is_not_published(
    sink_of: Callable[..., Any], module: Any, store: InMemoryStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its execution sleeps behind its decision, while the next run settles that."""

    def refuses(*_: object) -> None:
        raise PublicationConflictError("the table has changed")

    sink, others = sink_of(ledger_of("r1", store), refuses, monkeypatch), ledger_of("r2", store)

    def give_up(earlier: Publication) -> None:
        module._finish(earlier, connector=sink.connector, spark=NO_SPARK, ledger=others)

    def sleep() -> None:
        others.settle(sink.publication.target, OTHER, give_up)

    woken = replace(sink, ledger=replace(sink.ledger, check_turn=sleep))
    with pytest.raises(PublicationConflictError, match="another execution has given up what execution e1 decided"):
        woken._publish(sink.publication)


@pytest.mark.parametrize(
    ("has_all_files", "has_marks", "changes", "where"),
    [
        (True, False, {"adds", "changes"}, AppendedRows.THERE),
        (True, True, {"adds", "changes"}, AppendedRows.UNKNOWN),
        (True, True, {"removes"}, AppendedRows.THERE),
        (False, False, {"moves"}, AppendedRows.MOVED),
        (False, False, {"removes"}, AppendedRows.REMOVED),
        (False, False, {"moves", "removes"}, AppendedRows.UNKNOWN),
    ],
)
def test_rows_that_may_be_in_files_of_others_are_not_replaced(
    has_all_files: bool, has_marks: bool, changes: set[str], where: AppendedRows
) -> None:
    assert AppendedRows.found(has_all_files=has_all_files, has_marks=has_marks, changes=changes) is where
