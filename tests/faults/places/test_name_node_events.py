"""HDFS's NameNode knows a plan's point by what it has created or renamed."""

import re
from urllib.parse import urlsplit

import pytest

from graph_compiler.deployment.documents.run_identity import RunIdentity
from graph_compiler.deployment.documents.staging_layout import PositionLayout, StagingLayout
from graph_compiler.identifiers import IntermediateDataSetId, OperatorId, RegionId
from tests.faults.places.name_node_events import rule
from tests.faults.plan import IN_A_STORE, OF_A_POSITION, Fault, Plan, Point

pytestmark = pytest.mark.spark  # as the other tests of the harness

PLACE = "hdfs://127.0.0.1:9000/faults"
LAYOUT = StagingLayout(root=f"{PLACE}/staging", identity=RunIdentity.own("p", "r:1"))
OUT = f"{PLACE}/runs/r"
HIDDEN = "0123456789abcdef0123456789abcdef"


def hidden(key: str) -> str:
    folder, _, name = key.rpartition("/")
    return f"{folder}/.{name}.{HIDDEN}"


MANIFEST = LAYOUT.manifest(IntermediateDataSetId("d-0"), 0)
INTENT = LAYOUT.intent(f"{OUT}/report", 1)
POSITION = PositionLayout(root=LAYOUT.root, owner="p", uid="new")
EVENTS = {
    Point.WHILE_WRITING: ("create", f"{OUT}/.report.graph_compiler/e1/written/_temporary/part-0"),
    Point.BEFORE_MANIFEST: ("create", hidden(MANIFEST)),
    Point.AFTER_MANIFEST: ("rename", MANIFEST),
    Point.BEFORE_INTENT: ("create", hidden(INTENT)),
    Point.AFTER_INTENT: ("rename", INTENT),
    Point.AFTER_ENTRY: ("rename", POSITION.entry(2)),
    Point.AFTER_CLAIM: ("rename", POSITION.end(2)),
    Point.BEFORE_POSITION: ("create", hidden(POSITION.sink_done(2, OperatorId("sink")))),
    Point.MID_PUBLISH: ("rename", f"{OUT}/report/part-0.parquet"),
}
NO_POINT = (
    ("rename", f"{OUT}/.report.graph_compiler/e1/ready/part-0.parquet"),
    ("rename", f"{OUT}/report/_SUCCESS"),
    ("create", f"{OUT}/report/note.txt"),
)


@pytest.mark.parametrize("point", [*IN_A_STORE, *OF_A_POSITION])
def test_a_point_is_an_event_that_none_of_the_others_is(point: Point) -> None:
    plan = Plan(fault=Fault.KILL_JVM, point=point, region="report", input=OUT, output=OUT)
    turn, operation, name, *called = rule(plan, LAYOUT.run, "/plans", "r")

    def matches(event: tuple[str, str]) -> bool:
        return event[0] == operation and bool(re.fullmatch(name, urlsplit(event[1]).path))

    assert {other for other, event in EVENTS.items() if matches(event)} == {point}
    assert not any(map(matches, NO_POINT))
    assert re.fullmatch(turn, urlsplit(LAYOUT.execution(RegionId("report"), "e1") + "/driver.json").path)
    assert called[-2:] == ["/plans", "r"]
