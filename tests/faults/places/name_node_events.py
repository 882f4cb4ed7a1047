"""Where a run is, by what HDFS's NameNode has done: the rule that `tests/hdfs/MiniHdfs.java` follows.

    rename <run>/manifests/<data set id>/<epoch>.json     a result is committed; before it, a hidden file is created
    rename <root>/.targets/<target>/<n>.intent.json       it is decided what will be published; before it, the same
    rename <output>/<target>[/<file>]                     rows are visible
    rename <root>/.positions/<pipeline>/<uid>/<n>.json    it is decided what is new of a source, and whose it is
    create …/part-…                                       Spark is writing a partition

Nothing counts before the document of the region's turn has been renamed.
"""

from __future__ import annotations

import re
import sys
from urllib.parse import urlsplit

from tests.faults.plan import Plan, Point

_POSITION = r".*/\.positions/[^/]+/[^/]+/"
_HIDDEN = r"\.[0-9a-f]+$"


def rule(plan: Plan, run: str, plans: str, run_id: str) -> tuple[str, ...]:
    """Return the lines of a rule: what it waits for, operation, name, and the words of the program that is called."""
    run, output = (re.escape(urlsplit(uri).path) for uri in (run, plan.output))
    operation, name = _event(plan.point, run, output)
    turn = rf"{run}/tasks/{re.escape(plan.region)}/[^/]+/driver\.json"
    called = (sys.executable, "-m", "tests.faults.places.at_the_store", plans, run_id)
    return (turn, operation, name, *called)


def _event(point: Point, run: str, output: str) -> tuple[str, str]:
    manifest, intent = rf"{run}/manifests/[^/]+/", r".*/\.targets/[^/]+/"
    return {
        Point.BEFORE_MANIFEST: ("create", rf"{manifest}\.\d+\.json{_HIDDEN}"),
        Point.AFTER_MANIFEST: ("rename", rf"{manifest}\d+\.json"),
        Point.BEFORE_INTENT: ("create", rf"{intent}\.\d+\.intent\.json{_HIDDEN}"),
        Point.AFTER_INTENT: ("rename", rf"{intent}\d+\.intent\.json"),
        Point.AFTER_ENTRY: ("rename", rf"{_POSITION}\d+\.json"),
        Point.AFTER_CLAIM: ("rename", rf"{_POSITION}\d+\.end\.json"),
        Point.BEFORE_POSITION: ("create", rf"{_POSITION}sinks/\.[^/]+\.done\.json{_HIDDEN}"),
        Point.MID_PUBLISH: ("rename", rf"{output}(/[^./_][^/]*)+"),
        Point.WHILE_WRITING: ("create", rf"({run}/data|{output})/.*/part-[^/]+"),
    }[point]
