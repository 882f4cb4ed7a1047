"""Where a run is, by what HDFS's NameNode has done: the rule that `tests/hdfs/MiniHdfs.java` follows.

    rename <run>/manifests/<data set id>/<epoch>.json     a result is committed; before it, a hidden file is created
    rename <root>/.targets/<target>/<n>.intent.json       it is decided what will be published; before it, the same
    rename <output>/<target>[/<file>]                     rows are visible
    create …/part-…                                       Spark is writing a partition

Nothing counts before the document of the region's turn has been renamed.
"""

from __future__ import annotations

import re
import sys
from urllib.parse import urlsplit

from tests.faults.plan import Plan, Point

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
    match point:
        case Point.BEFORE_MANIFEST:
            return "create", rf"{manifest}\.\d+\.json{_HIDDEN}"
        case Point.AFTER_MANIFEST:
            return "rename", rf"{manifest}\d+\.json"
        case Point.BEFORE_INTENT:
            return "create", rf"{intent}\.\d+\.intent\.json{_HIDDEN}"
        case Point.AFTER_INTENT:
            return "rename", rf"{intent}\d+\.intent\.json"
        case Point.MID_PUBLISH:
            return "rename", rf"{output}(/[^./_][^/]*)+"
        case Point.WHILE_WRITING:
            return "create", rf"({run}/data|{output})/.*/part-[^/]+"
        case _:
            raise AssertionError(f"no event is at the point {point}")
