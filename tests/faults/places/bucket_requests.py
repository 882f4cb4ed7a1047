"""Where a run is, by what a bucket is asked: rules for its server (`tests/harness/s3_server.py`).

    PUT  <run>/manifests/<data set id>/<epoch>.json     a result is committed
    PUT  <root>/.targets/<target>/<n>.intent.json       it is decided what will be published
    POST <output>/<target>/…?uploadId=                  a file appears
    PUT  <root>/.positions/<pipeline>/<uid>/…           it is decided what is new of a source, and whose it is
    PUT, POST <run>/data/…, POST <output>/…?uploads     Spark is writing a partition

Nothing counts before the document of the region's turn has been put.
"""

from __future__ import annotations

import re
import sys
from typing import Any

from tests.faults.plan import Fault, Plan, Point

_BEFORE = (Point.WHILE_WRITING, Point.BEFORE_MANIFEST, Point.BEFORE_INTENT, Point.BEFORE_POSITION)
"""The request is not carried out, if the fault leaves that open."""
_ANSWERS = {
    Fault.LOST_ANSWER: "lost",
    Fault.REPEATED: "twice",
    Fault.DELAYED: "late",
    Fault.STORM: "busy",
    Fault.CUT: "cut",
    Fault.EXPIRED: "expired",
    Fault.REFUSED: "denied",
    Fault.DENIED: "denied",
    Fault.AWAY: "dropped",
}
_POSITION = r"/\.positions/[^/]+/[^/]+"
_EVERYTHING = 10**9
_LONGEST = 40
"""Seconds; an execution that goes on all the same is answered again then."""
_STORM = 15
"""Seconds."""


def rule(plan: Plan, run: str, plans: str, run_id: str) -> dict[str, Any]:
    """Return what the server does at a plan's point, and whom it calls; `run` and `plan.output` are URIs."""
    method, path = _request(plan.point, _path(run), _path(plan.output))
    fault = _ANSWERS.get(plan.fault, "dropped" if plan.point in _BEFORE else "lost")
    called = [sys.executable, "-m", "tests.faults.places.at_the_store", plans, run_id]
    turn = rf"{re.escape(_path(run))}/tasks/{re.escape(plan.region)}/[^/]+/driver\.json$"
    return {"method": method, "path": path, "fault": fault, "after": turn, "command": called}


def further_rules(fault: Fault, driver: int) -> list[dict[str, Any]]:
    """Return what happens to all requests from now on, until the driver has ended or the storm is over."""
    if fault is Fault.STORM:
        return [{"fault": "busy", "times": _EVERYTHING, "seconds": _STORM}]
    if fault not in (Fault.EXPIRED, Fault.REFUSED, Fault.AWAY):
        return []
    until = {"times": _EVERYTHING, "seconds": _LONGEST, "lives_with": driver}
    method = "PUT|POST|DELETE" if fault is Fault.REFUSED else ".*"
    return [{"fault": _ANSWERS[fault], "method": method, **until}]


def _request(point: Point, run: str, output: str) -> tuple[str, str]:
    run, output = re.escape(run), re.escape(output)
    manifest = ("PUT", rf"{run}/manifests/[^/]+/\d+\.json$")
    intent = ("PUT", r"/\.targets/[^/]+/\d+\.intent\.json$")
    return {
        Point.BEFORE_MANIFEST: manifest,
        Point.AFTER_MANIFEST: manifest,
        Point.BEFORE_INTENT: intent,
        Point.AFTER_INTENT: intent,
        Point.AFTER_ENTRY: ("PUT", rf"{_POSITION}/\d+\.json$"),
        Point.AFTER_CLAIM: ("PUT", rf"{_POSITION}/\d+\.end\.json$"),
        Point.BEFORE_POSITION: ("PUT", rf"{_POSITION}/sinks/[^/]+\.done\.json$"),
        Point.MID_PUBLISH: ("POST", rf"{output}/[^?]+\?.*uploadId="),
        Point.WHILE_WRITING: ("PUT|POST", rf"{run}/data/|{output}/[^?]+\?uploads"),
    }[point]


def _path(uri: str) -> str:
    return uri.removeprefix("s3a:/")
