"""Arm a Spark driver, before its first line runs."""

from __future__ import annotations

import json
import os
import sys
from functools import partial
from pathlib import Path

from graph_compiler.deployment.documents.staging_layout import DRIVER
from tests.faults.actions import act, processes
from tests.faults.plan import FOLDER, Plan, Point, firing_path, plan_path
from tests.faults.points import FilePoints, watch_partitions


def arm(descriptor: Path) -> None:
    """Arm the fault that is planned for the run and region of a descriptor, if it has not happened yet."""
    document = json.loads(descriptor.read_text())
    run_id = document["identity"]["run_id"]
    folder = Path(os.environ[FOLDER])
    planned = plan_path(folder, run_id)
    if not planned.exists() or firing_path(folder, run_id).exists():
        return
    plan = Plan.from_json(planned.read_text())
    if plan.region != document["region"]["region_id"]:
        return
    run = descriptor.parents[3]
    fire = partial(_fire, plan, run, firing_path(folder, run_id))
    turn = descriptor.with_name(DRIVER)  # written when it is the region's turn
    match plan.point:
        case Point.BEFORE_WORK:
            fire()
        case Point.SPARK_UP:
            _when_spark_is_up(fire)
        case Point.WHILE_WRITING:
            watch_partitions((run / "data", Path(plan.output)), fire, since=turn)
        case _:
            sys.addaudithook(FilePoints(plan.point, run, Path(plan.output), fire, since=turn))


def _fire(plan: Plan, run: Path, fired: Path) -> None:
    """Act once in a run, whatever other process reaches the point."""
    firing = processes()
    try:
        with fired.open("x") as file:
            file.write(firing.to_json())
    except FileExistsError:
        return
    print(f"fault harness: {plan.fault}, {plan.point}", file=sys.stderr, flush=True)
    act(plan, run, firing)


def _when_spark_is_up(fire: partial[None]) -> None:
    from pyspark.sql import SparkSession

    builder = SparkSession.Builder
    start = builder.getOrCreate

    def start_and_fire(self: SparkSession.Builder) -> SparkSession:
        session = start(self)
        builder.getOrCreate = start  # type: ignore[method-assign]
        fire()
        return session

    builder.getOrCreate = start_and_fire  # type: ignore[method-assign]
