"""A bucket's server knows a plan's point by the request, and what happens to further requests."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from graph_compiler.deployment.documents.run_identity import RunIdentity
from graph_compiler.deployment.documents.staging_layout import PositionLayout, StagingLayout
from graph_compiler.identifiers import IntermediateDataSetId, OperatorId, RegionId
from tests.faults.places.bucket_requests import further_rules, rule
from tests.faults.plan import IN_A_STORE, OF_A_POSITION, Fault, Firing, Plan, Point, driver_path, plan_path

pytestmark = pytest.mark.spark  # as the other tests of the harness

LAYOUT = StagingLayout(root="s3a://lake/faults/staging", identity=RunIdentity.own("p", "r:1"))
RESULT = IntermediateDataSetId("d-0")
OUT = "s3a://lake/faults/runs/r"
POSITION = PositionLayout(root=LAYOUT.root, owner="p", uid="new")
REQUESTS = {
    Point.WHILE_WRITING: ("POST", f"{OUT}/report/part-0.parquet?uploads"),
    Point.BEFORE_MANIFEST: ("PUT", LAYOUT.manifest(RESULT, 0)),
    Point.AFTER_MANIFEST: ("PUT", LAYOUT.manifest(RESULT, 0)),
    Point.BEFORE_INTENT: ("PUT", LAYOUT.intent(f"{OUT}/report", 1)),
    Point.AFTER_INTENT: ("PUT", LAYOUT.intent(f"{OUT}/report", 1)),
    Point.AFTER_ENTRY: ("PUT", POSITION.entry(2)),
    Point.AFTER_CLAIM: ("PUT", POSITION.end(2)),
    Point.BEFORE_POSITION: ("PUT", POSITION.sink_done(2, OperatorId("sink"))),
    Point.MID_PUBLISH: ("POST", f"{OUT}/report/part-0.parquet?uploadId=u"),
}


def plan(point: Point, fault: Fault = Fault.KILL_DRIVER) -> Plan:
    return Plan(fault=fault, point=point, region="report", input="s3a://lake/in", output=OUT)


@pytest.mark.parametrize("point", [*IN_A_STORE, *OF_A_POSITION])
def test_a_point_is_a_request_that_none_of_the_others_is(point: Point) -> None:
    found = rule(plan(point), LAYOUT.run, "/plans", "r")

    def matches(other: Point) -> bool:
        method, uri = REQUESTS[other]
        path = uri.removeprefix("s3a:/")
        return bool(re.fullmatch(found["method"], method) and re.search(found["path"], path))

    assert {other for other in REQUESTS if matches(other)} == {
        other for other in REQUESTS if REQUESTS[other] == REQUESTS[point]
    }
    turn = (LAYOUT.execution(RegionId("report"), "e1") + "/driver.json").removeprefix("s3a:/")
    assert re.search(found["after"], turn)


@pytest.mark.parametrize(
    ("fault", "point", "answer"),
    [
        (Fault.KILL_JVM, Point.BEFORE_MANIFEST, "dropped"),
        (Fault.KILL_JVM, Point.AFTER_MANIFEST, "lost"),
        (Fault.HANG_AND_WAKE, Point.MID_PUBLISH, "lost"),
        (Fault.DELAYED, Point.BEFORE_MANIFEST, "late"),
        (Fault.REPEATED, Point.AFTER_INTENT, "twice"),
    ],
)
def test_a_request_is_carried_out_if_its_point_is_behind_it(fault: Fault, point: Point, answer: str) -> None:
    assert rule(plan(point, fault), LAYOUT.run, "/plans", "r")["fault"] == answer


def test_an_outage_ends_with_its_driver_and_a_storm_by_itself() -> None:
    assert [each["lives_with"] for each in further_rules(Fault.AWAY, 7)] == [7]
    assert [each["seconds"] for each in further_rules(Fault.STORM, 7)] == [15]
    assert further_rules(Fault.KILL_DRIVER, 7) == []


def test_the_program_that_is_called_kills_the_driver_once(tmp_path: Path) -> None:
    with subprocess.Popen(["sleep", "60"]) as driver:
        firing = Firing(driver=driver.pid, jvm=0, runner=0, supervisor=0, names={})
        driver_path(tmp_path, "r").write_text(firing.to_json())
        plan_path(tmp_path, "r").write_text(plan(Point.AFTER_INTENT).to_json())
        call = [sys.executable, "-m", "tests.faults.places.at_the_store", str(tmp_path), "r"]
        done = subprocess.run(call, capture_output=True, text=True, check=True, env=os.environ)
        assert done.stdout == "[]\n"
        assert driver.wait(10) == -9
    again = subprocess.run(call, capture_output=True, text=True, check=False)
    assert "FileExistsError" in again.stderr
